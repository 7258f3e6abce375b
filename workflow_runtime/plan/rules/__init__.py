"""The rules a plan must obey: each a small function that yields problems."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..draft import Draft
from ..problems import Problem
from . import (
    arguments,
    conditions,
    fields,
    ids,
    limits,
    policies,
    references,
    shape,
    targets,
    times,
    until,
)

type Rule = Callable[[Draft], Iterator[Problem]]

RULES: tuple[Rule, ...] = (
    shape.plan_fields,
    limits.counts,
    ids.ids,
    ids.unique_ids,
    shape.task_types,
    fields.task_fields,
    fields.field_types,
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
    policies.retries,
    policies.timeouts,
    until.untils,
)

__all__ = ["RULES", "Rule"]
