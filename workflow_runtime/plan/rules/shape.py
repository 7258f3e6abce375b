"""The plan's own fields, and the type of each task."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..draft import PLAN_FIELDS, Draft
from ..draft_task import OWN_FIELDS, DraftTask, meant_kind
from ..problems import Operation, Problem, listed, move, nearest, pointer, quoted, remove, replace
from ..types import type_name
from . import words

MAX_NAME = 120


def plan_fields(draft: Draft) -> Iterator[Problem]:
    """The plan's own fields are known and have the right types."""
    raw = draft.raw
    for key in [key for key in raw if key not in PLAN_FIELDS]:
        target = words.PLAN_SYNONYMS.get(key.lower()) or nearest(key, PLAN_FIELDS)
        fix = move(pointer(key), pointer(target)) if target and target not in raw else None
        if target == "tasks" and not isinstance(raw[key], list):
            fix = None
        message = f"a plan has no field {quoted(key)}"
        expected = f"the fields are {listed(PLAN_FIELDS)}"
        yield Problem("unknown_field", pointer(key), message, fix=fix, expected=expected)
    yield from _text_fields(raw)
    tasks = raw.get("tasks")
    if not isinstance(tasks, list):
        what = "missing" if tasks is None else f"{type_name(tasks)}"
        code = "missing_field" if "tasks" not in raw else "wrong_type"
        message = f"tasks must be an array of tasks, and is {what}"
        expected = '[{"id": "a", "tool": "…"}]'
        yield Problem(code, pointer("tasks"), message, fix=_as_array(tasks), expected=expected)
        return
    if not tasks:
        message = "a plan needs at least one task"
        yield Problem("missing_field", pointer("tasks"), message, expected="one task or more")
    for index, task in enumerate(tasks):
        if not isinstance(task, dict):
            message = f"a task is an object, not {type_name(task)}"
            path = pointer("tasks", index)
            yield Problem("wrong_type", path, message, expected='{"id": "a", "tool": "…"}')


def _as_array(tasks: Any) -> tuple[Operation, ...] | None:
    """Read an object of tasks by their ids, or a single task."""
    if not isinstance(tasks, dict) or not tasks:
        return None
    if all(isinstance(task, dict) for task in tasks.values()):
        return replace("/tasks", [{"id": name} | task for name, task in tasks.items()])
    return replace("/tasks", [tasks]) if {"tool", "agent"} & tasks.keys() else None


def _text_fields(raw: dict[str, Any]) -> Iterator[Problem]:
    name, context = raw.get("name"), raw.get("context")
    if name is not None and not isinstance(name, str):
        message = f"name is text, not {type_name(name)}"
        yield Problem("wrong_type", pointer("name"), message, fix=remove(pointer("name")))
    elif name is not None and len(name) > MAX_NAME:
        message = f"name may have {MAX_NAME} characters, not {len(name)}"
        yield Problem("wrong_value", "/name", message, fix=replace("/name", name[:MAX_NAME]))
    if context is not None and not isinstance(context, str):
        message = f"context is text, not {type_name(context)}; data goes into 'input'"
        fix = move("/context", "/input") if "input" not in raw else None
        yield Problem("wrong_type", "/context", message, fix=fix, expected="text")


def task_types(draft: Draft) -> Iterator[Problem]:
    """Each task has a type, given or told by its fields."""
    for task in draft.tasks:
        given = task.raw.get("type")
        if task.kind is not None:
            yield from _mixed_types(task)
        elif given is None:
            present = {k: sorted(own & task.raw.keys()) for k, own in OWN_FIELDS.items()}
            found = "; ".join(f"{kind}: {', '.join(f)}" for kind, f in present.items() if f)
            message = f"the fields belong to several types ({found}); a task has one"
            yield Problem(
                "wrong_value", task.path(), message, task.id, expected="one type's fields"
            )
        else:
            yield _wrong_type(task, given)


def _wrong_type(task: DraftTask, given: Any) -> Problem:
    path = task.path("type")
    if isinstance(given, str) and given in words.TYPES_NOT_OFFERED:
        expected = f"type: {listed(OWN_FIELDS)}"
        return Problem(
            "not_offered", path, words.TYPES_NOT_OFFERED[given], task.id, expected=expected
        )
    right = None
    if isinstance(given, str):
        right = words.TYPE_WORDS.get(given.lower()) or nearest(given, OWN_FIELDS)
    fits = [kind for kind, own in OWN_FIELDS.items() if own & task.raw.keys()]
    if right is None and len(fits) == 1:
        right = fits[0]
    message = f"there is no task type {quoted(given)}"
    fix = replace(path, right) if right is not None else None
    return Problem(
        "wrong_value", path, message, task.id, fix=fix, expected=f"one of {listed(OWN_FIELDS)}"
    )


def _mixed_types(task: DraftTask) -> Iterator[Problem]:
    """A type is given, but the fields are those of one other type."""
    meant = meant_kind(task)
    if meant != task.kind:
        message = f"type is {task.kind!r}, but the fields are those of {meant!r}"
        fix = replace(task.path("type"), meant)
        yield Problem("wrong_value", task.path("type"), message, task.id, fix=fix)
