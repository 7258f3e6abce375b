"""A plan as it was sent: decoded, not yet known to be right, with what it is checked against."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from .draft_task import DraftTask, read_task
from .grants import Grants
from .reading import Reader
from .views import Views

PLAN_FIELDS = frozenset({"name", "context", "input", "tasks", "output"})


@dataclass(slots=True, kw_only=True)
class Draft:
    """A whole plan as sent. What several rules need is worked out once: ``reader``, ``views``."""

    raw: dict[str, Any]
    grants: Grants
    now: datetime
    tasks: tuple[DraftTask, ...]
    by_id: dict[str, DraftTask]
    names: frozenset[str]
    reader: Reader
    views: Views


def draft(raw: dict[str, Any], grants: Grants, now: datetime) -> Draft:
    """Read the tasks of a decoded plan as far as they can be read."""
    given = raw.get("tasks")
    tasks = tuple(
        read_task(index, task)
        for index, task in enumerate(given if isinstance(given, list) else ())
        if isinstance(task, dict)
    )
    by_id: dict[str, DraftTask] = {}
    for one in tasks:
        if one.id is not None:
            by_id.setdefault(one.id, one)
    reader = Reader(frozenset(by_id))
    return Draft(
        raw=raw,
        grants=grants,
        now=now,
        tasks=tasks,
        by_id=by_id,
        names=reader.names,
        reader=reader,
        views=Views(by_id, raw.get("input"), grants.tools, reader),
    )
