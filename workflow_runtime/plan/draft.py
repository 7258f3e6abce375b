"""
A plan as it was sent: decoded with forgiveness, not yet known to be right.

Forgiven is what is unambiguous: the whole plan, ``tasks`` or ``args`` sent as a JSON string, and a
single ``{"plan": {…}}`` around it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from .encoding import loads
from .grants import Grants
from .problems import Problem, pointer

MAX_BYTES = 256 * 1024
MAX_NESTING = 32
_MAX_BITS = 1023

OWN_FIELDS: dict[str, frozenset[str]] = {
    "tool": frozenset({"tool", "args"}),
    "sub_agent": frozenset({"agent", "task"}),
    "wait": frozenset({"duration", "until"}),
}
COMMON_FIELDS = frozenset({"id", "type", "depends_on", "when", "on_error"})
WORK_FIELDS = frozenset({"for_each", "concurrency"})
PLAN_FIELDS = frozenset({"name", "context", "input", "tasks", "output"})


def fields_of(kind: str) -> frozenset[str]:
    """Return every field a task of this type may have."""
    return COMMON_FIELDS | OWN_FIELDS[kind] | (frozenset() if kind == "wait" else WORK_FIELDS)


@dataclass(slots=True)
class DraftTask:
    """One task as sent; ``kind`` is None where it cannot be told."""

    index: int
    raw: dict[str, Any]
    id: str | None
    kind: str | None

    def path(self, *parts: str | int) -> str:
        """Return the JSON pointer of something inside the task."""
        return pointer("tasks", self.index, *parts)

    @property
    def label(self) -> str:
        """The id where there is one, the position otherwise."""
        return self.id if self.id is not None else f"tasks[{self.index}]"

    @property
    def iterates(self) -> bool:
        """Whether ``item`` and ``index`` have values in it."""
        return self.raw.get("for_each") is not None


@dataclass(slots=True)
class Draft:
    """A whole plan as sent, with what it is checked against."""

    raw: dict[str, Any]
    grants: Grants
    now: datetime
    tasks: list[DraftTask] = field(default_factory=list)
    by_id: dict[str, DraftTask] = field(default_factory=dict)
    names: frozenset[str] = frozenset()


def draft(raw: dict[str, Any], grants: Grants, now: datetime) -> Draft:
    """Read the tasks of a decoded plan as far as they can be read."""
    made = Draft(raw, grants, now)
    tasks = raw.get("tasks")
    for index, task in enumerate(tasks if isinstance(tasks, list) else ()):
        if isinstance(task, dict):
            given = task.get("id")
            name = given if isinstance(given, str) else None
            made.tasks.append(DraftTask(index, task, name, kind_of(task)))
    for one in made.tasks:
        if one.id is not None:
            made.by_id.setdefault(one.id, one)
    made.names = frozenset(made.by_id)
    return made


def kind_of(task: dict[str, Any]) -> str | None:
    """Return the task's type: the one given, or the one whose own fields are there."""
    given = task.get("type")
    if given is not None:
        return given if isinstance(given, str) and given in OWN_FIELDS else None
    present = [kind for kind, own in OWN_FIELDS.items() if own & task.keys()]
    if len(present) == 1:
        return present[0]
    return None if present else "tool"


def decode(submission: Any) -> tuple[dict[str, Any] | None, Problem | None]:
    """Return the plan as an object, or the one problem that hides all others."""
    value = _decode_once(submission) if isinstance(submission, str) else submission
    if isinstance(value, str):
        return None, Problem(
            "not_json", "", "the arguments are not valid JSON", expected="an object with 'tasks'"
        )
    flaw = _first_flaw(value)
    if flaw is not None:
        return None, flaw
    if not isinstance(value, dict):
        expected = "an object such as {\"tasks\": [...]}"
        return None, Problem("not_an_object", "", "a plan is an object", expected=expected)
    return _forgive(value)


def _decode_once(text: str) -> Any:
    try:
        return loads(text)
    except ValueError:
        return text


def _forgive(value: dict[str, Any]) -> tuple[dict[str, Any] | None, Problem | None]:
    if set(value) == {"plan"}:
        inner = value["plan"]
        inner = _decode_once(inner) if isinstance(inner, str) else inner
        value = inner if isinstance(inner, dict) else value
    value = dict(value)
    value["tasks"] = _decode_as(list, value["tasks"]) if "tasks" in value else None
    if value["tasks"] is None:
        del value["tasks"]
    elif isinstance(value["tasks"], list):
        value["tasks"] = [_forgive_task(task) for task in value["tasks"]]
    flaw = _first_flaw(value)  # what was decoded has not been looked at yet
    return (None, flaw) if flaw else (value, None)


def _forgive_task(task: Any) -> Any:
    if isinstance(task, dict) and isinstance(task.get("args"), str):
        return task | {"args": _decode_as(dict, task["args"])}
    return task


def _decode_as(kind: type, value: Any) -> Any:
    decoded = _decode_once(value) if isinstance(value, str) else value
    return decoded if isinstance(decoded, kind) else value


def _first_flaw(value: Any) -> Problem | None:
    """Return the first thing that no JSON text of the allowed size can hold."""
    size = 0
    for path, depth, node in _walk(value):
        if depth > MAX_NESTING:
            return Problem("too_deep", "", f"a plan may be nested {MAX_NESTING} deep")
        size += len(node.encode("utf-8", "replace")) + 3 if isinstance(node, str) else 5
        if size > MAX_BYTES:
            message = f"a plan may have {MAX_BYTES // 1024} KiB; pass large data by reference"
            return Problem("too_large", "", message)
        reason = _flaw(node)
        if reason is not None:
            return Problem("not_json", pointer(*path), reason, expected="a JSON value")
    return None


def _walk(value: Any) -> Iterator[tuple[tuple[str | int, ...], int, Any]]:
    """Yield every value and key inside, without recursion."""
    stack: list[tuple[tuple[str | int, ...], int, Any]] = [((), 1, value)]
    while stack:
        path, depth, node = stack.pop()
        yield path, depth, node
        if isinstance(node, dict):
            for key, child in node.items():
                if isinstance(key, str):
                    yield (*path, key), depth, key
                stack.append(((*path, str(key)), depth + 1, child))
        elif isinstance(node, list):
            stack.extend(((*path, n), depth + 1, child) for n, child in enumerate(node))


def _flaw(node: Any) -> str | None:
    match node:
        case bool() | None:
            return None
        case str():
            return "a string holds a lone surrogate" if _has_lone_surrogate(node) else None
        case int():
            return "a number is too large" if node.bit_length() > _MAX_BITS else None
        case float():
            return None if math.isfinite(node) else "NaN and Infinity are not JSON"
        case list():
            return None
        case dict():
            return None if all(isinstance(key, str) for key in node) else "keys must be strings"
        case _:
            return f"{type(node).__name__} is not a JSON type"


def _has_lone_surrogate(text: str) -> bool:
    if text.isascii():
        return False
    return any("\ud800" <= char <= "\udfff" for char in text)
