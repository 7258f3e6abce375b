"""What a plan would do, counted without starting it."""

from __future__ import annotations

from ..plan.counting import known_items
from ..plan.grants import Grants
from ..plan.graph import dependencies, longest_paths, topological_order
from ..plan.model import AgentTask, ApprovalTask, Plan, Task, ToolTask
from ..plan.types import Json

DEPENDS = "depends on data"


def preview_plan(plan: Plan, grants: Grants) -> dict[str, Json]:
    """Return task and call counts, the longest way through, tools with side effects, approvals.

    A count is a number, or ``"depends on data"`` where a ``for_each`` list is known only when it
    runs.
    """
    ids = frozenset(task.id for task in plan.tasks)
    waits_for = {task.id: dependencies(task, ids) for task in plan.tasks}
    order = topological_order(waits_for)
    longest = longest_paths(order, waits_for)
    tools = {task.tool for task in plan.tasks if isinstance(task, ToolTask)}
    effects = sorted(name for name in tools if grants.tools[name].policy.side_effects != "none")
    return {
        "valid": True,
        "tasks": len(plan.tasks),
        "tool_calls": _count(plan, ToolTask),
        "sub_agent_runs": _count(plan, AgentTask),
        "longest_path": list(_longest_way(order, waits_for, longest)),
        "side_effects": list(effects),
        "approvals": [task.id for task in plan.tasks if _asks(task, grants)],
    }


def _asks(task: Task, grants: Grants) -> bool:
    """Whether a person is asked: the task says so, or its tool does."""
    by_tool = isinstance(task, ToolTask) and grants.tools[task.tool].policy.approval
    return by_tool or isinstance(task, ApprovalTask)


def _count(plan: Plan, kind: type[ToolTask | AgentTask]) -> int | str:
    total = 0
    for task in plan.tasks:
        if not isinstance(task, ToolTask | AgentTask) or not isinstance(task, kind):
            continue
        if task.for_each is None:
            total += 1
            continue
        known = known_items(task.for_each, plan.input)
        if known is None:
            return DEPENDS
        total += len(known)
    return total


def _longest_way(
    order: list[str], waits_for: dict[str, tuple[str, ...]], longest: dict[str, int]
) -> list[str]:
    way: list[str] = []
    name = max(order, key=lambda one: longest[one], default=None)
    while name is not None:
        way.append(name)
        nexts = [n for n in order if name in waits_for[n] and longest[n] == longest[name] - 1]
        name = nexts[0] if nexts else None
    return way
