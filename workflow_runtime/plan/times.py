"""
Durations and instants as text.

Durations are ISO 8601 (``PnW`` or ``PnDTnHnMnS``, decimals on the last part, ASCII digits, greater
than zero, no years or months since their length varies). Instants are RFC 3339 with an offset.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

_DURATION = re.compile(
    r"P(?:(?P<weeks>\d+(?:[.,]\d+)?)W"
    r"|(?:(?P<days>\d+(?:[.,]\d+)?)D)?"
    r"(?:T(?:(?P<hours>\d+(?:[.,]\d+)?)H)?(?:(?P<minutes>\d+(?:[.,]\d+)?)M)?"
    r"(?:(?P<seconds>\d+(?:[.,]\d+)?)S)?)?)",
    re.ASCII,
)
_UNITS = ("weeks", "days", "hours", "minutes", "seconds")
_INSTANT = re.compile(
    r"(\d{4}-\d{2}-\d{2})[Tt ](\d{2}:\d{2}:\d{2})(\.\d+)?([Zz]|[+-]\d{2}:\d{2})", re.ASCII
)
_LOOSE = re.compile(
    r"\s*(\d{1,9}(?:\.\d{1,6})?)\s*(s|sec|secs|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|weeks?)?\s*",
    re.ASCII | re.IGNORECASE,
)
_LETTERS = {"s": ("T", "S"), "m": ("T", "M"), "h": ("T", "H"), "d": ("", "D"), "w": ("", "W")}
MAX_DURATION_TEXT = 64


def parse_duration(text: str) -> timedelta | None:
    """Return the duration, or None when *text* is not one or is not greater than zero."""
    if len(text) > MAX_DURATION_TEXT:
        return None
    found = _DURATION.fullmatch(text)
    if found is None or text.endswith(("P", "T")):
        return None
    parts = [(unit, found[unit]) for unit in _UNITS if found[unit]]
    if any("." in part or "," in part for _, part in parts[:-1]):
        return None
    try:
        total = timedelta(**{unit: float(part.replace(",", ".")) for unit, part in parts})
    except OverflowError:
        return None
    return total if total > timedelta(0) else None


def format_duration(value: timedelta) -> str:
    """Write a duration the way :func:`parse_duration` reads it, in its shortest usual form."""
    days, rest = divmod(value, timedelta(days=1))
    hours, rest = divmod(rest, timedelta(hours=1))
    minutes, rest = divmod(rest, timedelta(minutes=1))
    seconds = f"{rest.total_seconds():.6f}".rstrip("0").rstrip(".")
    clock = f"{hours}H" * bool(hours) + f"{minutes}M" * bool(minutes)
    clock += f"{seconds}S" if seconds != "0" or not (days or clock) else ""
    return "P" + f"{days}D" * bool(days) + (f"T{clock}" if clock else "")


def suggest_duration(value: object) -> str | None:
    """Return the ISO 8601 duration that *value* (``"30s"``, ``30``, ``"5 minutes"``) means, if any.

    A bare number is seconds.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    text = value if isinstance(value, str) else repr(value)
    upper = text.strip().upper()
    if parse_duration(upper) is not None:
        return upper
    found = _LOOSE.fullmatch(text) if len(text) <= MAX_DURATION_TEXT else None
    if found is None:
        return None
    time, letter = _LETTERS[(found[2] or "s")[0].lower()]
    number = found[1].lstrip("0") or "0"
    guess = f"P{time}{'0' + number if number.startswith('.') else number}{letter}"
    return guess if parse_duration(guess) is not None else None


def parse_instant(text: str) -> datetime | None:
    """Return the instant in UTC, or None when *text* is not RFC 3339 with an offset."""
    found = _INSTANT.fullmatch(text) if len(text) <= MAX_DURATION_TEXT else None
    if found is None:
        return None
    day, clock, fraction, offset = found.groups()
    offset = "+00:00" if offset in "Zz" else offset
    try:
        return datetime.fromisoformat(f"{day}T{clock}{(fraction or '')[:7]}{offset}").astimezone(
            UTC
        )
    except (ValueError, OverflowError):
        return None


def format_instant(value: datetime) -> str:
    """Write an instant in UTC with ``Z``, with microseconds only where there are any."""
    return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
