"""Ids and the order of tasks: unique names, dependencies that exist, no cycles."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from .. import templates
from ..draft import Draft
from ..draft_task import DraftTask
from ..expressions import ExpressionError
from ..graph import find_cycles
from ..model import RESERVED_IDS
from ..paths import match_path
from ..problems import Operation, Problem, listed, nearest, pointer, quoted, remove, replace
from ..reading import bare
from ..types import type_name
from .references import places

_ID = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}", re.ASCII)
_MAX_ID = 64
_IN_BRACES = re.compile(r"\$\{[^}]*\}|\{\{[^}]*\}\}")


def ids(draft: Draft) -> Iterator[Problem]:
    """Each task has an id of the right form that is not a reserved word."""
    for task in draft.tasks:
        given = task.raw.get("id")
        if given is None:
            yield _missing(draft, task)
        elif not isinstance(given, str):
            message = f"an id is text, not {type_name(given)}"
            path = task.path("id")
            yield Problem("wrong_type", path, message, expected="an id such as 'fetch_logs'")
        elif given.lower() in RESERVED_IDS:
            message = f"the id {given!r} is a reserved word"
            yield _renamed(draft, task, "reserved_id", message, f"{given}_task")
        elif not _ID.fullmatch(given):
            message = (
                f"the id {quoted(given)} must be letters, digits and _, at most 64, no digit first"
            )
            yield _renamed(draft, task, "invalid_id", message, given)


def _missing(draft: Draft, task: DraftTask) -> Problem:
    source = task.raw.get("tool") or task.raw.get("agent") or task.kind
    name = _free(draft, str(source) if isinstance(source, str) else f"task_{task.index}", task)
    fix = ({"op": "add", "path": task.path("id"), "value": name},)
    message = f"tasks[{task.index}] needs an 'id'"
    return Problem("missing_field", task.path(), message, fix=fix)


def _renamed(draft: Draft, task: DraftTask, code: str, message: str, wanted: str) -> Problem:
    """Rename a task and, where nothing else has the old name, those who wait for it."""
    name = _free(draft, wanted, task)
    others = [one for one in draft.tasks if one is not task and one.id == task.id]
    fix: list[Operation] = [*replace(task.path("id"), name)]
    if not others:
        fix += _follow(draft, task.id or "", name)
    return Problem(code, task.path("id"), message, task.id, fix=tuple(fix))


def _follow(draft: Draft, old: str, new: str) -> Iterator[Operation]:
    """Give those who wait for *old*, or read it, its new name."""
    for task in draft.tasks:
        waits = task.raw.get("depends_on")
        for place, name in enumerate(waits if isinstance(waits, list) else ()):
            if name == old:
                yield from replace(task.path("depends_on", place), new)
        when = task.raw.get("when")
        if isinstance(when, str) and (text := _renamed_in(when, old, new)) != when:
            yield from replace(task.path("when"), text)
    for spot in places(draft):
        text = _IN_BRACES.sub(lambda found: _renamed_in(found[0], old, new), spot.text)
        if text != spot.text:
            yield from replace(spot.path, text)


def _renamed_in(text: str, old: str, new: str) -> str:
    """Rename *old* wherever it is the head of a path."""
    head = rf"(?<![\w.'\"-]){re.escape(old)}(?=\s*[.\[}}]|\s*$)" if old else r"(?!)"
    return re.sub(head, new, text)


def _free(draft: Draft, wanted: str, task: DraftTask) -> str:
    """Return a valid id near *wanted* that no other task has."""
    base = (
        re.sub(r"[^A-Za-z0-9_]+", "_", wanted, flags=re.ASCII)[: _MAX_ID - 4].strip("_") or "task"
    )
    base = f"t_{base}" if base[0].isdigit() else base
    taken = {one.id.lower() for one in draft.tasks if one.id and one is not task} | RESERVED_IDS
    taken |= {f"{t.raw.get('tool')}" for t in draft.tasks[: task.index] if t.id is None}
    if base.lower() not in taken:
        return base
    numbers = (f"{base}_{n}" for n in range(2 + task.index, 10_000 + task.index))
    return next(name for name in numbers if name.lower() not in taken)


def unique_ids(draft: Draft) -> Iterator[Problem]:
    """No two tasks have one id; case does not tell them apart."""
    first: dict[str, DraftTask] = {}
    for task in draft.tasks:
        if task.id is None:
            continue
        other = first.setdefault(task.id.lower(), task)
        if other is not task:
            message = f"the id {task.id!r} is already that of tasks[{other.index}]"
            name = _free(draft, f"{task.id}_{task.index + 1}", task)
            fix = replace(task.path("id"), name)
            yield Problem("duplicate_id", task.path("id"), message, task.id, fix=fix)


def dependencies(draft: Draft) -> Iterator[Problem]:
    """``depends_on`` is an array of ids of other tasks."""
    for task in draft.tasks:
        given = task.raw.get("depends_on")
        if given is None:
            continue
        path = task.path("depends_on")
        if isinstance(given, str):
            names = [name for name in re.split(r"[\s,]+", given) if name]
            fix = replace(path, names) if names and set(names) <= draft.names else None
            message = "depends_on is an array of task ids, not a string"
            yield Problem("wrong_type", path, message, task.id, fix=fix, expected='["a", "b"]')
        elif not isinstance(given, list):
            message = f"depends_on is an array of task ids, not {type_name(given)}"
            yield Problem("wrong_type", path, message, task.id, expected='["a", "b"]')
        else:
            yield from _each_dependency(draft, task, given)


def _each_dependency(draft: Draft, task: DraftTask, given: list[Any]) -> Iterator[Problem]:
    # Removals come last first, so that all of them hold when applied in order.
    for place in reversed(range(len(given))):
        name, path = given[place], task.path("depends_on", place)
        if name == task.id and name is not None:
            message = f"task {name!r} cannot wait for itself"
            yield Problem("cycle", path, message, task.id, fix=remove(path))
        elif not isinstance(name, str):
            message = f"depends_on holds ids, not {type_name(name)}"
            yield Problem("wrong_type", path, message, task.id, expected="the id of a task")
        elif name not in draft.names:
            near = _head(draft, name) or nearest(name, draft.names - {task.id or ""})
            message = f"no task is called {quoted(name)}"
            fix = replace(path, near) if near else None
            expected = f"one of {listed(draft.names - {task.id or ''})}"
            yield Problem("unknown_dependency", path, message, task.id, fix=fix, expected=expected)


def _head(draft: Draft, text: str) -> str | None:
    """Return the task that a reference in the place of an id names."""
    found = match_path(text.removeprefix("${").lstrip())
    return found[0].head if found and found[0].head in draft.names else None


def cycles(draft: Draft) -> Iterator[Problem]:
    """No task waits for itself, over however many others."""
    waits_for = {name: _heads(draft, task) for name, task in draft.by_id.items()}
    for cycle in find_cycles(waits_for):
        message = f"tasks wait for each other: {' -> '.join(cycle)}"
        last = draft.by_id[cycle[0]]
        expected = "take one of these references or dependencies away"
        yield Problem("cycle", last.path(), message, last.id, expected=expected)


def _heads(draft: Draft, task: DraftTask) -> list[str]:
    waits = task.raw.get("depends_on")
    heads = [name for name in waits if isinstance(name, str)] if isinstance(waits, list) else []
    for field in ("args", "task", "message", "for_each", "until"):
        heads += _template_heads(draft, task.raw.get(field))
    heads += _condition_heads(draft, task.raw.get("when"))
    return [head for head in dict.fromkeys(heads) if head in draft.names and head != task.id]


def _template_heads(draft: Draft, value: Any) -> Iterator[str]:
    match value:
        case str() if "${" in value:
            for expression in templates.expressions(draft.reader.text(value)[0]):
                yield from (path.head for path in expression.paths)
        case list():
            for one in value:
                yield from _template_heads(draft, one)
        case dict():
            for one in value.values():
                yield from _template_heads(draft, one)


def _condition_heads(draft: Draft, value: Any) -> Iterator[str]:
    text = value.get("ref") if isinstance(value, dict) else value
    if not isinstance(text, str):
        return
    try:
        expression = draft.reader.expression(bare(text))
    except ExpressionError:
        return
    yield from (path.head for path in expression.paths)


__all__ = ["cycles", "dependencies", "ids", "pointer", "unique_ids"]
