"""``retry`` and ``timeout``: how attempts are repeated and bounded."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ..draft import Draft
from ..draft_task import DraftTask
from ..policies import MAX_ATTEMPTS
from ..problems import Problem, listed, move, nearest, quoted, remove, replace
from ..times import format_duration, parse_duration, parse_instant, suggest_duration
from ..types import type_name

_KEYS = ("max_attempts", "initial", "multiplier", "max", "until")
_WORDS = {
    "attempts": "max_attempts", "max_retries": "max_attempts", "retries": "max_attempts",
    "count": "max_attempts", "times": "max_attempts", "limit": "max_attempts",
    "delay": "initial", "backoff": "initial", "interval": "initial", "initial_delay": "initial",
    "initial_interval": "initial", "first_retry_interval": "initial", "wait": "initial",
    "factor": "multiplier", "backoff_coefficient": "multiplier", "backoff_multiplier": "multiplier",
    "backoff_rate": "multiplier", "max_delay": "max", "max_interval": "max", "maximum": "max",
    "condition": "until", "success": "until",
}  # fmt: skip
_SHAPE = '{"max_attempts": 3, "initial": "PT1S", "multiplier": 2, "max": "PT1M"}'


def retries(draft: Draft) -> Iterator[Problem]:
    """Each ``retry`` is an object with known keys and sound values."""
    for task in draft.tasks:
        given = task.raw.get("retry")
        if given is None or task.kind not in {"tool", "sub_agent"}:
            continue
        if not isinstance(given, dict):
            yield _not_an_object(task, given)
            continue
        yield from _keys(task, given)
        yield from _attempts(task, given)
        yield from _multiplier(task, given)
        for name in ("initial", "max"):
            if given.get(name) is not None:
                yield from _duration(task, task.path("retry", name), given[name])
        yield from _once(draft, task)


def _not_an_object(task: DraftTask, given: Any) -> Problem:
    path = task.path("retry")
    right = retry_meant(given)
    fix = replace(path, right) if right is not None else None
    message = (
        f"retry of task {task.label!r} is an object, not {type_name(given)}: how often stands in"
        " its field max_attempts"
    )
    return Problem("wrong_type", path, message, task.id, fix=fix, expected=_SHAPE)


def retry_meant(given: Any) -> dict[str, Any] | None:
    """Return the object that a number of attempts, or ``true``, means."""
    if given is True:
        return {"max_attempts": 3}
    return {"max_attempts": given} if _is_whole(given) and 1 <= given <= MAX_ATTEMPTS else None


def _keys(task: DraftTask, given: dict[str, Any]) -> Iterator[Problem]:
    taken: set[str] = set()
    for key in given:
        if key in _KEYS:
            continue
        path = task.path("retry", key)
        target = _WORDS.get(key.lower()) or nearest(key, _KEYS)
        free = target is not None and target not in given and target not in taken
        fix = move(path, task.path("retry", target)) if free and target else None
        taken |= {target} if free and target else set()
        message = f"retry has no field {quoted(key)}"
        expected = f"the fields are {listed(_KEYS)}"
        yield Problem("unknown_field", path, message, task.id, fix=fix, expected=expected)


def _attempts(task: DraftTask, given: dict[str, Any]) -> Iterator[Problem]:
    value = given.get("max_attempts")
    if value is None or (_is_whole(value) and 1 <= value <= MAX_ATTEMPTS):
        return
    path = task.path("retry", "max_attempts")
    right = None
    if isinstance(value, str) and value.isdecimal() and value.isascii() and len(value) < 3:
        right = int(value)
    elif _is_whole(value) and value > MAX_ATTEMPTS:
        right = MAX_ATTEMPTS
    fits = right is not None and 1 <= right <= MAX_ATTEMPTS
    message = f"max_attempts is a whole number from 1 to {MAX_ATTEMPTS}, not {quoted(value)}"
    fix = replace(path, right) if fits else None
    expected = f"1 to {MAX_ATTEMPTS}, the first attempt included"
    yield Problem("wrong_value", path, message, task.id, fix=fix, expected=expected)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _multiplier(task: DraftTask, given: dict[str, Any]) -> Iterator[Problem]:
    value = given.get("multiplier")
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if value is None or (is_number and math.isfinite(value) and 1 <= value <= 100):
        return
    path = task.path("retry", "multiplier")
    message = f"multiplier is a number from 1 to 100, not {quoted(value)}"
    yield Problem("wrong_value", path, message, task.id, expected="a number such as 2")


def _duration(task: DraftTask, path: str, value: Any) -> Iterator[Problem]:
    if isinstance(value, str) and parse_duration(value) is not None:
        return
    right = suggest_duration(value)
    message = f"{quoted(value)} is not an ISO 8601 duration greater than zero"
    fix = replace(path, right) if right is not None else None
    yield Problem("invalid_duration", path, message, task.id, fix=fix, expected="PT1S, PT5M, PT2H")


def _once(draft: Draft, task: DraftTask) -> Iterator[Problem]:
    tool = task.raw.get("tool")
    grant = draft.grants.tools.get(tool) if isinstance(tool, str) else None
    if grant is not None and grant.policy.side_effects == "once":
        path = task.path("retry")
        message = f"tool {tool!r} acts only once and is never tried again"
        yield Problem("retry_not_possible", path, message, task.id, fix=remove(path))


def timeouts(draft: Draft) -> Iterator[Problem]:
    """Each ``timeout`` is a duration; on a wait it belongs to an event, as ``on_timeout`` does."""
    for task in draft.tasks:
        if task.kind == "wait" and task.raw.get("on_timeout") is not None:
            yield from _useless(task, "on_timeout")
        value = task.raw.get("timeout")
        if value is None or task.kind is None:
            continue
        path = task.path("timeout")
        if task.kind == "wait" and task.raw.get("event") is None:
            yield from _useless(task, "timeout")
            continue
        yield from _duration(task, path, value)
        length = parse_duration(value) if isinstance(value, str) else None
        limits = draft.grants.limits
        longest = limits.max_wait if task.kind in {"wait", "approval"} else limits.max_timeout
        if length is not None and longest is not None and length > longest:
            message = f"the timeout {quoted(value)} is longer than {format_duration(longest)}"
            expected = f"at most {format_duration(longest)}"
            yield Problem("timeout_too_long", path, message, task.id, expected=expected)


def _useless(task: DraftTask, name: str) -> Iterator[Problem]:
    """Refuse what only an event has, on a wait that is surely for a time."""
    until = task.raw.get("until")
    is_time = isinstance(until, str) and (parse_instant(until) is not None or "${" in until)
    if task.raw.get("event") is None and (is_time or task.raw.get("duration") is not None):
        path = task.path(name)
        message = f"only a wait for an event has {name!r}"
        yield Problem("unknown_field", path, message, task.id, fix=remove(path))
