"""The operations of RFC 6902 that fixes use: add, remove, replace and move."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any


def apply(plan: Any, operations: Iterable[Mapping[str, Any]]) -> Any:
    """Return *plan* with the operations applied in order; raises LookupError."""
    plan = copy.deepcopy(plan)
    for operation in operations:
        match operation["op"]:
            case "move":
                value = _take(plan, operation["from"])
                _put(plan, operation["path"], value, is_new=True)
            case "remove":
                _take(plan, operation["path"])
            case "add" | "replace" as kind:
                value = copy.deepcopy(operation["value"])
                _put(plan, operation["path"], value, is_new=kind == "add")
            case kind:
                raise LookupError(kind)
    return plan


def parts(path: str) -> list[str]:
    """Split a JSON pointer."""
    if path and not path.startswith("/"):
        raise LookupError(path)
    return [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:]]


def at(plan: Any, path: str) -> Any:
    """Return what a JSON pointer leads to."""
    for part in parts(path):
        plan = plan[int(part)] if isinstance(plan, list) else plan[part]
    return plan


def _take(plan: Any, path: str) -> Any:
    *_, last = parts(path)
    parent = at(plan, path.rpartition("/")[0])
    return parent.pop(int(last)) if isinstance(parent, list) else parent.pop(last)


def _put(plan: Any, path: str, value: Any, *, is_new: bool) -> None:
    *_, last = parts(path)
    parent = at(plan, path.rpartition("/")[0])
    if isinstance(parent, list):
        if is_new:
            parent.insert(len(parent) if last == "-" else int(last), value)
        else:
            parent[int(last)] = value
    elif is_new or last in parent:
        parent[last] = value
    else:
        raise LookupError(path)
