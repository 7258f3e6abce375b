"""Limits that can be counted before the run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..counting import known_items
from ..draft import Draft
from ..problems import Problem, pointer


def _runs(draft: Draft, each: Any) -> int:
    """Count the steps of a task as far as they are known."""
    if isinstance(each, str):
        each = known_items(draft.reader.text(each)[0], draft.raw.get("input"))
        return len(each) if each is not None else 0
    return len(each) if isinstance(each, list) else int(each is None)


def counts(draft: Draft) -> Iterator[Problem]:
    """The plan has no more tasks and sub-agent runs than allowed."""
    limits = draft.grants.limits
    if len(draft.tasks) > limits.max_tasks:
        message = f"the plan has {len(draft.tasks)} tasks; max_tasks is {limits.max_tasks}"
        expected = f"at most {limits.max_tasks} tasks; for_each makes one task of many"
        yield Problem("too_many_tasks", pointer("tasks"), message, expected=expected)
    runs = 0
    for task in draft.tasks:
        if task.kind == "sub_agent":
            runs += _runs(draft, task.raw.get("for_each"))
    if runs > limits.max_agent_runs:
        message = (
            f"the plan runs sub-agents {runs} times; max_agent_runs is {limits.max_agent_runs}"
        )
        expected = f"at most {limits.max_agent_runs} runs"
        yield Problem("too_many_agent_runs", pointer("tasks"), message, expected=expected)
