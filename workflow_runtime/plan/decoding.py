"""
What was sent, as JSON: decoded with forgiveness, and refused where no JSON text could hold it.

Forgiven is what is unambiguous: the whole plan, ``tasks`` or ``args`` sent as a JSON string, and a
single ``{"plan": {…}}`` around it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from .encoding import loads
from .problems import Problem, pointer

MAX_BYTES = 256 * 1024
MAX_NESTING = 32
_MAX_BITS = 1023
_TOO_LARGE = Problem(
    "too_large", "", f"a plan may have {MAX_BYTES // 1024} KiB; pass large data by reference"
)


def decode(submission: Any) -> tuple[dict[str, Any] | None, Problem | None]:
    """Return the plan as an object, or the one problem that hides all others."""
    if isinstance(submission, str) and len(submission) > MAX_BYTES:
        return None, _TOO_LARGE
    value = _forgive(_decode_once(submission) if isinstance(submission, str) else submission)
    if isinstance(value, str):
        message = f"the plan is not valid JSON: {_reason(value) or 'it is text within text'}"
        return None, Problem("not_json", "", message, expected="an object with 'tasks'")
    flaw = _first_flaw(value)
    if flaw is not None:
        return None, flaw
    if not isinstance(value, dict):
        expected = 'an object such as {"tasks": [...]}'
        return None, Problem("not_an_object", "", "a plan is an object", expected=expected)
    tasks = value.get("tasks")
    if isinstance(tasks, str) and (reason := _reason(tasks)) is not None:
        message = f"tasks must be an array, and is a string that is not valid JSON: {reason}"
        return None, Problem("wrong_type", "/tasks", message, expected='[{"id": "a", "tool": "…"}]')
    return value, None


def _decode_once(text: str) -> Any:
    if len(text) > MAX_BYTES:
        return text
    try:
        return loads(text)
    except ValueError:
        return text


def _reason(text: str) -> str | None:
    """Say why *text* is no JSON, and where; nothing of it is repeated."""
    try:
        loads(text)
    except ValueError as error:
        return str(error)
    return None


def unwrapped(value: dict[str, Any]) -> dict[str, Any]:
    """Return what a single ``{"plan": {…}}`` is around, else *value*."""
    inner = _decode_as(dict, value["plan"]) if set(value) == {"plan"} else None
    return inner if isinstance(inner, dict) else value


def _forgive(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    value = unwrapped(value)
    if "tasks" not in value:
        return value
    tasks = _decode_as(list, value["tasks"])
    if isinstance(tasks, list):
        tasks = [_forgive_task(task) for task in tasks]
    return value | {"tasks": tasks}


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
        kind = type(node)
        if kind is str:
            size += len(node) + 3 if node.isascii() else len(node.encode("utf-8", "replace")) + 3
        else:
            size += 5
        if size > MAX_BYTES:
            return _TOO_LARGE
        if kind is not bool and node is not None and (reason := _flaw(node)) is not None:
            return Problem("not_json", _pointer(path), reason, expected="a JSON value")
    return None


type _Trail = tuple[_Trail, str | int] | None


def _walk(value: Any) -> Iterator[tuple[_Trail, int, Any]]:
    """Yield every value and key inside with its trail from the root, without recursion."""
    stack: list[tuple[_Trail, int, Any]] = [(None, 1, value)]
    while stack:
        trail, depth, node = stack.pop()
        yield trail, depth, node
        if isinstance(node, dict):
            for key, child in node.items():
                if not isinstance(key, str):
                    continue  # the object itself is refused for it
                yield trail, depth, key
                stack.append(((trail, key), depth + 1, child))
        elif isinstance(node, list):
            stack.extend(((trail, n), depth + 1, child) for n, child in enumerate(node))


def _pointer(trail: _Trail) -> str:
    parts: list[str | int] = []
    while trail is not None:
        trail, part = trail
        parts.append(part)
    return pointer(*reversed(parts))


def _flaw(node: Any) -> str | None:
    match node:
        case str():
            return "a string holds a lone surrogate" if _has_lone_surrogate(node) else None
        case dict():
            return None if all(isinstance(key, str) for key in node) else "keys must be strings"
        case list():
            return None
        case int():
            return "a number is too large" if node.bit_length() > _MAX_BITS else None
        case float():
            return None if math.isfinite(node) else "NaN and Infinity are not JSON"
        case _:
            return f"{type(node).__name__} is not a JSON type"


def _has_lone_surrogate(text: str) -> bool:
    if text.isascii():
        return False
    return any("\ud800" <= char <= "\udfff" for char in text)
