"""Waits: one of ``duration`` and ``until``, well written, not past, not too long."""

from __future__ import annotations

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

TOLERANCE = timedelta(seconds=60)
_DURATIONS = "PT30S, PT5M, PT2H, P1D, P1W"
_INSTANT = "an RFC 3339 instant such as 2026-01-31T09:00:00Z"


def waits(draft: Draft) -> Iterator[Problem]:
    """Each wait has exactly one of ``duration`` and ``until``, and both are sound."""
    for task in draft.tasks:
        if task.kind != "wait":
            continue
        duration, until = task.raw.get("duration"), task.raw.get("until")
        if duration is None and until is None:
            yield from _empty(task)
        elif duration is not None and until is not None:
            message = "a wait has one of duration and until, not both"
            yield Problem("invalid_wait", task.path(), message, task.id, expected="one of them")
        if duration is not None:
            yield from _duration(draft, task, duration)
        if until is not None:
            yield from _until(draft, task, until)


def _empty(task: DraftTask) -> Iterator[Problem]:
    if task.raw.keys() - fields_of("wait"):
        return  # a field under another name, which is said already
    message = f"wait {task.label!r} needs a duration or an until"
    expected = 'duration: "PT30S", or until: an instant'
    yield Problem("invalid_wait", task.path(), message, task.id, expected=expected)


def _duration(draft: Draft, task: DraftTask, value: Any) -> Iterator[Problem]:
    path = task.path("duration")
    if isinstance(value, str) and "${" in value:
        message = "duration takes no references; args, task, until, for_each and output do"
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
    guess = f"{value.strip()}Z".replace(" ", "T", 1)
    fix = replace(path, guess) if parse_instant(guess) else None
    return Problem("invalid_instant", path, message, task.id, fix, _INSTANT)
