"""Fields: known ones, needed ones, their JSON types and their allowed values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..draft import PLAN_FIELDS, Draft
from ..draft_task import OWN_FIELDS, DraftTask, fields_of
from ..problems import Operation, Problem, listed, move, nearest, pointer, quoted, remove, replace
from ..times import suggest_duration
from ..types import type_name

MAX_NAME = 120
_TYPE_WORDS = {
    "agent": "sub_agent", "subagent": "sub_agent", "sub-agent": "sub_agent", "llm": "sub_agent",
    "function": "tool", "tool_call": "tool", "call": "tool", "action": "tool", "task": "tool",
    "sleep": "wait", "delay": "wait", "timer": "wait", "pause": "wait",
}  # fmt: skip
# What models write for a field, where one name is meant whatever the type.
_SYNONYMS = {
    "dependson": "depends_on", "depends": "depends_on", "dependencies": "depends_on",
    "needs": "depends_on", "after": "depends_on", "requires": "depends_on",
    "if": "when", "condition": "when", "foreach": "for_each", "loop": "for_each",
    "items": "for_each", "map": "for_each", "max_parallel": "concurrency",
    "max_parallelism": "concurrency", "parallelism": "concurrency",
    "max_concurrency": "concurrency",
    "onerror": "on_error", "on_failure": "on_error", "kind": "type",
}  # fmt: skip
_SYNONYMS_OF = {
    "tool": {
        "arguments": "args", "params": "args", "parameters": "args", "inputs": "args",
        "input": "args", "with": "args", "function": "tool", "tool_name": "tool", "name": "tool",
        "uses": "tool",
    },
    "sub_agent": {
        "prompt": "task", "instruction": "task", "instructions": "task", "message": "task",
        "input": "task", "description": "task", "request": "task", "sub_agent": "agent",
        "agent_name": "agent", "name": "agent",
    },
    "wait": {
        "for": "duration", "delay": "duration", "seconds": "duration", "time": "duration",
        "sleep": "duration", "wait_until": "until", "at": "until", "timestamp": "until",
    },
}  # fmt: skip
_PLAN_SYNONYMS = {
    "title": "name", "steps": "tasks", "plan": "tasks", "nodes": "tasks", "result": "output",
    "outputs": "output", "return": "output", "inputs": "input", "description": "name",
}  # fmt: skip
_NOTES = frozenset({"description", "title", "comment", "note", "notes", "reason", "label", "name"})
_NOT_OFFERED = {
    "retry": "retries are decided by the tool itself in this version",
    "timeout": "tasks have no time-outs of their own in this version",
    "event": "waiting for an event is not offered in this version",
    "on_timeout": "waiting for an event is not offered in this version",
}
_TYPES_NOT_OFFERED = {
    "approval": "approvals are not offered in this version: end the plan before the step that needs"
    " a person, and ask the user",
    "group": "groups are not offered in this version: use several tasks with for_each; the"
    " element of a list result is at the same index as its item",
}
_ON_ERROR = {"ignore": "continue", "skip": "continue", "abort": "fail", "stop": "fail"}


def plan_fields(draft: Draft) -> Iterator[Problem]:
    """The plan's own fields are known and have the right types."""
    raw = draft.raw
    for key in [key for key in raw if key not in PLAN_FIELDS]:
        target = _PLAN_SYNONYMS.get(key.lower()) or nearest(key, PLAN_FIELDS)
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
    if isinstance(given, str) and given in _TYPES_NOT_OFFERED:
        expected = f"type: {listed(OWN_FIELDS)}"
        return Problem("not_offered", path, _TYPES_NOT_OFFERED[given], task.id, expected=expected)
    right = None
    if isinstance(given, str):
        right = _TYPE_WORDS.get(given.lower()) or nearest(given, OWN_FIELDS)
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
    meant = _meant_kind(task)
    if meant != task.kind:
        message = f"type is {task.kind!r}, but the fields are those of {meant!r}"
        fix = replace(task.path("type"), meant)
        yield Problem("wrong_value", task.path("type"), message, task.id, fix=fix)


def _meant_kind(task: DraftTask) -> str:
    """Return the type that a task's own fields tell where the given one has none of its own."""
    kind = task.kind or "tool"
    others = [k for k, own in OWN_FIELDS.items() if k != kind and own & task.raw.keys()]
    return others[0] if not OWN_FIELDS[kind] & task.raw.keys() and len(others) == 1 else kind


def task_fields(draft: Draft) -> Iterator[Problem]:
    """Each task has only fields that its type knows, and those it needs."""
    for task in draft.tasks:
        if task.kind is None:
            continue
        known = fields_of(task.kind) | OWN_FIELDS[_meant_kind(task)]
        taken: set[str] = set()
        for key in task.raw:
            if key not in known:
                yield _unknown_field(task, key, known, taken)
        yield from _needed(task, taken)


def _unknown_field(task: DraftTask, key: str, known: frozenset[str], taken: set[str]) -> Problem:
    path, label = task.path(key), task.label
    kind = task.kind or "tool"
    if key in _NOT_OFFERED:
        message = f"unknown field {key!r} in task {label!r}: {_NOT_OFFERED[key]}"
        return Problem("not_offered", path, message, task.id, fix=remove(path))
    if key == "execution":
        return _preview_words(task)
    others = [k for k, own in OWN_FIELDS.items() if key in own]
    target = (
        _SYNONYMS_OF[kind].get(key.lower()) or _SYNONYMS.get(key.lower()) or nearest(key, known)
    )
    fix = None
    if target in known and target not in task.raw and target not in taken:
        fix = _renamed(task, key, target)
        taken.add(target)
    elif key.lower() in _NOTES:
        fix = remove(path)
    belongs = f"; it belongs to type {others[0]!r}" if others else ""
    message = f"unknown field {key!r} in task {label!r}{belongs}"
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


def _preview_words(task: DraftTask) -> Problem:
    """Rewrite the preview runtime's ``execution`` object."""
    path, given = task.path("execution"), task.raw["execution"]
    goes_on = isinstance(given, dict) and given.get("continue_on_error") is True
    fix = remove(path)
    if goes_on and "on_error" not in task.raw:
        fix = (*fix, {"op": "add", "path": task.path("on_error"), "value": "continue"})
    message = (
        "unknown field 'execution': continue_on_error is written on_error: \"continue\";"
        " retry and timeout are not offered in this version"
    )
    return Problem("unknown_field", path, message, task.id, fix=fix)


def _needed(task: DraftTask, taken: set[str]) -> Iterator[Problem]:
    needs = {"tool": ("tool",), "sub_agent": ("agent", "task"), "wait": ()}[_meant_kind(task)]
    for name in needs:
        if task.raw.get(name) is None and name not in taken:
            message = f"task {task.label!r} needs {name!r}"
            path = task.path() if name not in task.raw else task.path(name)
            expected = f"{name}: the name of a {'tool' if name == 'tool' else 'sub-agent'}"
            expected = "task: what the sub-agent has to do" if name == "task" else expected
            yield Problem("missing_field", path, message, task.id, expected=expected)


def field_types(draft: Draft) -> Iterator[Problem]:
    """Each field of a task has the right JSON type."""
    for task in draft.tasks:
        for name, kind in (("tool", str), ("agent", str), ("task", str), ("args", dict)):
            value = task.raw.get(name)
            if value is None or isinstance(value, kind) or task.kind is None:
                continue
            wanted = "an object" if kind is dict else "text"
            message = f"{name} of task {task.label!r} must be {wanted}, and is {type_name(value)}"
            if name in OWN_FIELDS[task.kind]:
                yield Problem("wrong_type", task.path(name), message, task.id, expected=wanted)
        yield from _on_error(task)
        yield from _concurrency(task)


def _on_error(task: DraftTask) -> Iterator[Problem]:
    value = task.raw.get("on_error")
    if value in (None, "fail", "continue"):
        return
    right = None
    if isinstance(value, str):
        right = _ON_ERROR.get(value.lower()) or nearest(value, ("fail", "continue"))
    path = task.path("on_error")
    message = f"on_error is 'fail' or 'continue', not {quoted(value)}"
    fix = replace(path, right) if right else None
    expected = "'fail' or 'continue'"
    yield Problem("wrong_value", path, message, task.id, fix=fix, expected=expected)


def _concurrency(task: DraftTask) -> Iterator[Problem]:
    value = task.raw.get("concurrency")
    if value is None or task.kind in {None, "wait"}:
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
