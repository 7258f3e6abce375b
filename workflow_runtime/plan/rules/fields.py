"""The fields of each task: known ones, needed ones, their JSON types and allowed values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..draft import Draft
from ..draft_task import OWN_FIELDS, DraftTask, fields_of, meant_kind
from ..problems import Operation, Problem, add, listed, move, nearest, quoted, remove, replace
from ..times import suggest_duration
from ..types import type_name
from . import words
from .policies import retry_meant

_NEEDS = {
    "tool": ("tool",),
    "sub_agent": ("agent", "task"),
    "wait": (),
    "approval": ("message",),
}
_NEEDED = {
    "tool": "tool: the name of a tool",
    "agent": "agent: the name of a sub-agent",
    "task": "task: what the sub-agent has to do",
    "message": "message: what the person is asked",
}
_TYPES = (
    ("tool", str),
    ("agent", str),
    ("task", str),
    ("message", str),
    ("event", str),
    ("args", dict),
)


def task_fields(draft: Draft) -> Iterator[Problem]:
    """Each task has only fields that its type knows, and those it needs."""
    for task in draft.tasks:
        if task.kind is None:
            continue
        known = fields_of(task.kind) | OWN_FIELDS[meant_kind(task)]
        taken: set[str] = set()
        for key in task.raw:
            if key not in known:
                yield _unknown_field(task, key, known, taken)
        yield from _needed(task, taken)


def _unknown_field(task: DraftTask, key: str, known: frozenset[str], taken: set[str]) -> Problem:
    path, label = task.path(key), task.label
    kind = task.kind or "tool"
    if key in {"execution", "continue_on_error"}:
        return _preview_words(task, key)
    others = [k for k, own in OWN_FIELDS.items() if key in own]
    word = key.lower()
    target = words.SYNONYMS_OF[kind].get(word) or words.SYNONYMS.get(word) or nearest(key, known)
    fix = None
    if target in known and target not in task.raw and target not in taken:
        fix = _renamed(task, key, target)
        taken.add(target)
    elif word in words.NOTES:
        fix = remove(path)
    hint = f"; it belongs to type {others[0]!r}" if others else ""
    hint = f"; {kind} tasks call it {target!r}" if fix and target in known else hint
    message = f"unknown field {key!r} in task {label!r}{hint}"
    expected = f"a {kind} task has {listed(known)}"
    return Problem("unknown_field", path, message, task.id, fix=fix, expected=expected)


def _renamed(task: DraftTask, key: str, target: str) -> Any:
    source, value = task.path(key), task.raw[key]
    if target == "duration":
        right = suggest_duration(value)
        if right is not None and right != value:
            added = {"op": "add", "path": task.path(target), "value": right}
            return (*remove(source), added)
    return move(source, task.path(target))


def _preview_words(task: DraftTask, key: str) -> Problem:
    """Rewrite what the preview runtime called ``execution`` and ``continue_on_error``."""
    path, given = task.path(key), task.raw[key]
    inner = given if isinstance(given, dict) else {"continue_on_error": given}
    known = fields_of(task.kind or "tool")
    fix: tuple[Operation, ...] = ()
    for name in ("retry", "timeout"):
        value = inner.get(name)
        if value is None or name not in known or name in task.raw:
            continue
        right = suggest_duration(value) if name == "timeout" else retry_meant(value)
        is_right = right is None or right == value
        where = task.path(name)
        fix += move(f"{path}/{name}", where) if is_right else add(where, right)
    if inner.get("continue_on_error") is True and "on_error" not in task.raw:
        fix += add(task.path("on_error"), "continue")
    message = (
        f"unknown field {key!r} in task {task.label!r}: retry and timeout stand in the task itself,"
        ' and continue_on_error is written on_error: "continue"'
    )
    return Problem("unknown_field", path, message, task.id, fix=fix + remove(path))


def _needed(task: DraftTask, taken: set[str]) -> Iterator[Problem]:
    for name in _NEEDS[meant_kind(task)]:
        if task.raw.get(name) is None and name not in taken:
            message = f"task {task.label!r} needs {name!r}"
            path = task.path() if name not in task.raw else task.path(name)
            yield Problem("missing_field", path, message, task.id, expected=_NEEDED[name])


def field_types(draft: Draft) -> Iterator[Problem]:
    """Each field of a task has the right JSON type."""
    for task in draft.tasks:
        for name, kind in _TYPES:
            value = task.raw.get(name)
            if value is None or isinstance(value, kind) or task.kind is None:
                continue
            wanted = "an object" if kind is dict else "text"
            message = f"{name} of task {task.label!r} must be {wanted}, and is {type_name(value)}"
            if name in OWN_FIELDS[task.kind]:
                yield Problem("wrong_type", task.path(name), message, task.id, expected=wanted)
        yield from _fail_or_continue(task, "on_error")
        if task.kind == "wait":
            yield from _fail_or_continue(task, "on_timeout")
        yield from _concurrency(task)


def _fail_or_continue(task: DraftTask, name: str) -> Iterator[Problem]:
    value = task.raw.get(name)
    if value in (None, "fail", "continue"):
        return
    right = None
    if isinstance(value, str):
        right = words.ON_ERROR.get(value.lower()) or nearest(value, ("fail", "continue"))
    path = task.path(name)
    message = f"{name} is 'fail' or 'continue', not {quoted(value)}"
    fix = replace(path, right) if right else None
    expected = "'fail' or 'continue'"
    yield Problem("wrong_value", path, message, task.id, fix=fix, expected=expected)


def _concurrency(task: DraftTask) -> Iterator[Problem]:
    value = task.raw.get("concurrency")
    if value is None or task.kind not in {"tool", "sub_agent"}:
        return
    path = task.path("concurrency")
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if is_whole and value >= 1:
        return
    right = int(value) if isinstance(value, str) and value.isdecimal() and len(value) < 6 else 0
    message = f"concurrency is a whole number from 1, not {quoted(value)}"
    fix = replace(path, right) if right >= 1 else None
    expected = "a whole number such as 3"
    yield Problem("wrong_value", path, message, task.id, fix=fix, expected=expected)
