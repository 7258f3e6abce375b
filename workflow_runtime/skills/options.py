"""What a tool may say of its attempts, read strictly: what is wrong fails at import."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any, Literal, TypedDict, cast

from ..errors import ConfigurationError
from ..plan.policies import MAX_ATTEMPTS, RetryPolicy, SideEffects
from ..plan.times import format_duration, parse_duration, suggest_duration
from ..plan.types import JsonSchema
from .spelling import nearest

_LONGEST = timedelta(days=30)
_MAX_MULTIPLIER = 100
_SIDE_EFFECTS = ("none", "idempotent", "once")
_RETRY = ("max_attempts", "initial", "multiplier", "max")


class RetryOptions(TypedDict, total=False):
    """``retry=``: how often, and after which pauses; durations in ISO 8601."""

    max_attempts: int
    initial: str
    multiplier: float
    max: str


class ToolOptions(TypedDict, total=False):
    """The options of both decorators; None leaves one to the other decorator."""

    name: str | None
    description: str | None
    retry: RetryOptions | RetryPolicy | None
    timeout: str | float | None
    approval: Literal["always"] | None
    side_effects: SideEffects | None
    concurrency: int | None
    arguments: JsonSchema | None
    output: JsonSchema | None


def retry_of(where: str, given: object) -> RetryPolicy:
    """Read ``retry=``; raises ConfigurationError."""
    if isinstance(given, RetryPolicy):
        given = given.to_json()
    if not isinstance(given, Mapping):
        raise ConfigurationError(
            f"{where} must be a mapping such as {{'max_attempts': 3}}, not {given!r:.60}"
        )
    for key in given:
        if key == "until":
            raise ConfigurationError(f"{where}: 'until' belongs into a plan's task, not to a tool")
        if key not in _RETRY:
            near = nearest(str(key), _RETRY)
            hint = f"did you mean {near!r}?" if near else f"known are {', '.join(_RETRY)}"
            raise ConfigurationError(f"{where} has no key {key!r:.60}; {hint}")
    read: dict[str, Any] = {}
    for key, reader in _READERS.items():
        if key in given:
            read[key] = reader(f"{where}, {key!r}", given[key])
    policy = replace(RetryPolicy(), **read)
    if policy.initial > policy.max:
        most = format_duration(policy.max)
        raise ConfigurationError(f"{where}: 'initial' is longer than 'max', which is {most}")
    return policy


def _attempts(where: str, given: object) -> int:
    if not isinstance(given, int) or isinstance(given, bool) or not 1 <= given <= MAX_ATTEMPTS:
        raise ConfigurationError(f"{where} must be 1 to {MAX_ATTEMPTS}, not {given!r:.60}")
    return given


def _multiplier(where: str, given: object) -> float:
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    if is_number and 1 <= cast("float", given) <= _MAX_MULTIPLIER:
        return float(cast("float", given))
    raise ConfigurationError(f"{where} must be 1 to {_MAX_MULTIPLIER}, not {given!r:.60}")


def _pause(where: str, given: object) -> timedelta:
    found = parse_duration(given) if isinstance(given, str) else None
    if found is None or found > _LONGEST:
        raise _no_duration(where, given, "")
    return found


_READERS: Mapping[str, Callable[[str, object], Any]] = {
    "max_attempts": _attempts,
    "initial": _pause,
    "multiplier": _multiplier,
    "max": _pause,
}


def timeout_of(where: str, given: object) -> timedelta:
    """Read ``timeout=``, an ISO 8601 duration or seconds; raises ConfigurationError."""
    found = parse_duration(given) if isinstance(given, str) else None
    if isinstance(given, int | float) and not isinstance(given, bool):
        fits = math.isfinite(given) and 0 < given <= _LONGEST.total_seconds()
        found = timedelta(seconds=given) if fits else None
    if not found or found > _LONGEST:
        raise _no_duration(where, given, ", or a number of seconds")
    return found


def _no_duration(where: str, given: object, others: str) -> ConfigurationError:
    meant = suggest_duration(given)
    hint = f"; did you mean {meant!r}?" if meant is not None else ""
    longest = format_duration(_LONGEST)
    return ConfigurationError(
        f"{where} must be an ISO 8601 duration such as 'PT30S', at most {longest!r}{others},"
        f" not {given!r:.60}{hint}"
    )


def approval_of(where: str, given: object) -> Literal[True]:
    """Read ``approval=``; raises ConfigurationError."""
    if given != "always":
        raise ConfigurationError(
            f"{where} must be 'always', not {given!r:.60}; leave it out where nobody is to be asked"
        )
    return True


def concurrency_of(where: str, given: object) -> int:
    """Read ``concurrency=``; raises ConfigurationError."""
    if not isinstance(given, int) or isinstance(given, bool) or given < 1:
        raise ConfigurationError(f"{where} must be a whole number from 1, not {given!r:.60}")
    return given


def side_effects_of(where: str, given: object) -> SideEffects:
    """Read ``side_effects=``; raises ConfigurationError."""
    if given == "none" or given == "idempotent" or given == "once":  # noqa: PLR1714 - told apart by mypy
        return given
    raise ConfigurationError(f"{where} must be one of {', '.join(_SIDE_EFFECTS)}")
