"""One task as it was sent: which type it is, and which fields that type has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .problems import pointer

OWN_FIELDS: dict[str, frozenset[str]] = {
    "tool": frozenset({"tool", "args"}),
    "sub_agent": frozenset({"agent", "task"}),
    "wait": frozenset({"duration", "until", "event"}),
    "approval": frozenset({"message"}),
}
COMMON_FIELDS = frozenset({"id", "type", "depends_on", "when", "on_error"})
_MORE_FIELDS: dict[str, frozenset[str]] = {
    "tool": frozenset({"for_each", "concurrency", "retry", "timeout"}),
    "sub_agent": frozenset({"for_each", "concurrency", "retry", "timeout"}),
    "wait": frozenset({"timeout", "on_timeout"}),
    "approval": frozenset({"timeout"}),
}


def fields_of(kind: str) -> frozenset[str]:
    """Return every field a task of this type may have."""
    return COMMON_FIELDS | OWN_FIELDS[kind] | _MORE_FIELDS[kind]


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
        return self.raw.get("for_each") is not None and self.kind not in {"wait", "approval"}


def read_task(index: int, raw: dict[str, Any]) -> DraftTask:
    """Read a task as far as it can be read; a field that is null is not there."""
    raw = {key: value for key, value in raw.items() if value is not None}
    given = raw.get("id")
    return DraftTask(index, raw, given if isinstance(given, str) else None, kind_of(raw))


def kind_of(task: dict[str, Any]) -> str | None:
    """Return the task's type: the one given, or the one whose own fields are there."""
    given = task.get("type")
    if given is not None:
        return given if isinstance(given, str) and given in OWN_FIELDS else None
    present = [kind for kind, own in OWN_FIELDS.items() if own & task.keys()]
    if len(present) == 1:
        return present[0]
    return None if present else "tool"


def meant_kind(task: DraftTask) -> str:
    """Return the type that a task's own fields tell where the given one has none of its own."""
    kind = task.kind or "tool"
    others = [k for k, own in OWN_FIELDS.items() if k != kind and own & task.raw.keys()]
    if kind == "approval" and "agent" not in task.raw:
        return kind  # "task" is what models call its message
    return others[0] if not OWN_FIELDS[kind] & task.raw.keys() and len(others) == 1 else kind
