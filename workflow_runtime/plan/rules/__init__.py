"""The rules a plan must obey: each a small function that yields problems."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..draft import Draft
from ..problems import Problem
from . import arguments, conditions, ids, limits, references, shape, targets, times

type Rule = Callable[[Draft], Iterator[Problem]]

RULES: tuple[Rule, ...] = (
    shape.plan_fields,
    limits.counts,
    ids.ids,
    ids.unique_ids,
    shape.task_types,
    shape.task_fields,
    shape.field_types,
    targets.tools,
    targets.agents,
    arguments.arguments,
    references.syntax,
    references.known_names,
    references.keys,
    references.constants,
    conditions.conditions,
    conditions.collections,
    ids.dependencies,
    ids.cycles,
    times.waits,
)

__all__ = ["RULES", "Rule"]
