"""Waits: one of ``duration``, ``until`` and ``event``, well written, not past, not too long."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from ..draft import Draft
from ..draft_task import DraftTask, fields_of
from ..problems import Problem, add, move, quoted, remove, replace
from ..schemas import types_of, written
from ..templates import Constant, Template, Whole
from ..times import (
    format_duration,
    format_instant,
    parse_duration,
    parse_instant,
    suggest_duration,
)
from .references import REFERENCES_STAND_IN

TOLERANCE = timedelta(seconds=60)
_MAX_EVENT = 100
_EVENT = re.compile(r"event[\s:]+(\S.*)", re.IGNORECASE | re.DOTALL)
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.:-]*", re.ASCII)
_DURATIONS = "PT30S, PT5M, PT2H, P1D, P1W"
_INSTANT = "an RFC 3339 instant such as 2026-01-31T09:00:00Z"


def waits(draft: Draft) -> Iterator[Problem]:
    """Each wait has exactly one of ``duration``, ``until`` and ``event``, and it is sound."""
    for task in draft.tasks:
        if task.kind != "wait":
            continue
        duration, until, event = (task.raw.get(name) for name in ("duration", "until", "event"))
        given = [value for value in (duration, until, event) if value is not None]
        if not given:
            yield from _empty(task)
        elif len(given) > 1:
            message = "a wait has one of duration, until and event, not several"
            yield Problem("invalid_wait", task.path(), message, task.id, expected="one of them")
        if event is not None:
            yield from _event(task, event)
        if duration is not None:
            yield from _duration(draft, task, duration)
        if until is not None:
            yield from _until(draft, task, until)


def _empty(task: DraftTask) -> Iterator[Problem]:
    if task.raw.keys() - fields_of("wait"):
        return  # a field under another name, which is said already
    message = f"wait {task.label!r} needs a duration, an until or an event"
    expected = 'duration: "PT30S", until: an instant, or event: a name'
    yield Problem("invalid_wait", task.path(), message, task.id, expected=expected)


def _event(task: DraftTask, value: Any) -> Iterator[Problem]:
    if not isinstance(value, str):
        return  # said by the rule on types
    if "${" in value:
        message = "the name of an event is fixed, and takes no references"
        path = task.path("event")
        yield Problem("template_not_allowed", path, message, task.id, expected="a fixed name")
    elif not 1 <= len(value) <= _MAX_EVENT:
        message = f"the name of an event has 1 to {_MAX_EVENT} characters"
        yield Problem("wrong_value", task.path("event"), message, task.id, expected="a name")


def _duration(draft: Draft, task: DraftTask, value: Any) -> Iterator[Problem]:
    path = task.path("duration")
    if isinstance(value, str) and "${" in value:
        message = f"duration takes no references; those stand in {REFERENCES_STAND_IN}"
        yield Problem("template_not_allowed", path, message, task.id, expected=_DURATIONS)
        return
    length = parse_duration(value) if isinstance(value, str) else None
    if length is not None:
        yield from _too_long(draft, task, path, length)
        return
    if isinstance(value, str) and parse_instant(value) and "until" not in task.raw:
        message = "that is an instant, which belongs into 'until'"
        moved = move(path, task.path("until"))
        yield Problem("invalid_duration", path, message, task.id, fix=moved)
        return
    right = suggest_duration(value)
    message = f"{quoted(value)} is not an ISO 8601 duration greater than zero"
    fix = replace(path, right) if right is not None else None
    yield Problem("invalid_duration", path, message, task.id, fix, _DURATIONS)


def _too_long(draft: Draft, task: DraftTask, path: str, length: timedelta) -> Iterator[Problem]:
    longest = draft.grants.limits.max_wait
    if length > longest:
        limit = format_duration(longest)
        message = f"a wait may last {limit} (max_wait), not {format_duration(length)}"
        expected = f"at most {limit}"
        yield Problem("wait_too_long", path, message, task.id, expected=expected)


def _until(draft: Draft, task: DraftTask, value: Any) -> Iterator[Problem]:
    path = task.path("until")
    if not isinstance(value, str):
        message = f"until is text, not {quoted(value)}"
        yield Problem("invalid_instant", path, message, task.id, expected=_INSTANT)
        return
    template, problems = draft.reader.text(value)
    if problems or not isinstance(template, Constant):
        yield from _not_text(draft, task, path, template)
        return  # known only when it runs
    value = template.value
    instant = parse_instant(value)
    now = format_instant(draft.now.replace(microsecond=0))
    if instant is None:
        yield _unreadable(task, path, value, now)
    elif draft.now - instant > TOLERANCE:
        message = f"{value} is in the past; it is now {now}"
        expected = f"an instant after {now}"
        yield Problem("instant_in_the_past", path, message, task.id, expected=expected)
    else:
        yield from _too_long(draft, task, path, instant - draft.now)


def _not_text(draft: Draft, task: DraftTask, path: str, template: Template) -> Iterator[Problem]:
    if not isinstance(template, Whole):
        return
    types = types_of(draft.views.of(template.expression, task))
    if types and not types & {"string", "null"}:
        message = f"until wants text, and this gives {written(types)}"
        yield Problem("mismatched_reference", path, message, task.id, expected=_INSTANT)


def _unreadable(task: DraftTask, path: str, value: str, now: str) -> Problem:
    message = f"{quoted(value)} is not RFC 3339 with an offset (it is now {now})"
    if suggest_duration(value) is not None and "duration" not in task.raw:
        right = suggest_duration(value)
        moved = (*remove(path), *add(task.path("duration"), right))
        message = f"{message}; a length is a duration"
        return Problem("invalid_instant", path, message, task.id, moved)
    event = _event_meant(task, value)
    if event is not None:
        moved = (*remove(path), *add(task.path("event"), event))
        message = f"{message}; an event is named in 'event'"
        return Problem("invalid_instant", path, message, task.id, moved)
    guess = f"{value.strip()}Z".replace(" ", "T", 1)
    fix = replace(path, guess) if parse_instant(guess) else None
    return Problem("invalid_instant", path, message, task.id, fix, _INSTANT)


def _event_meant(task: DraftTask, value: str) -> str | None:
    """Return the name of the event that was put into ``until``, where it must be one."""
    if "event" in task.raw:
        return None
    found = _EVENT.fullmatch(value.strip())
    name = found[1].strip() if found else value.strip()
    is_sure = found is not None or "timeout" in task.raw or "on_timeout" in task.raw
    fits = len(name) <= _MAX_EVENT and _NAME.fullmatch(name)
    return name if is_sure and fits else None
