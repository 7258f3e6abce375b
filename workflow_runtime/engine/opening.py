"""A task whose dependencies are done: is it skipped, and which steps does it have?"""

from __future__ import annotations

from collections.abc import Mapping

from ..errors import TemplateError
from ..plan.counting import known_items
from ..plan.grants import Limits
from ..plan.graph import data_expressions, dependencies, longest_paths, topological_order
from ..plan.model import AgentTask, Condition, Plan, ToolTask
from ..plan.policies import Policies, WorkPolicy
from ..plan.templates import Whole
from ..plan.types import Json, type_name
from .scope import RunScope
from .state import Status, Step, TaskState


def prepare(plan: Plan, policies: Policies) -> dict[str, TaskState]:
    """Return the states of all tasks, linked to those who wait for them."""
    ids = frozenset(task.id for task in plan.tasks)
    waits_for = {task.id: dependencies(task, ids) for task in plan.tasks}
    longest = longest_paths(topological_order(waits_for), waits_for)
    states: dict[str, TaskState] = {}
    for place, task in enumerate(plan.tasks):
        policy = WorkPolicy()
        if isinstance(task, ToolTask):
            policy = policies.tools.get(task.tool, policy)
        elif isinstance(task, AgentTask):
            policy = policies.agents.get(task.agent, policy)
        priority = (-longest[task.id], place)
        states[task.id] = TaskState(task, priority, len(waits_for[task.id]), policy)
    for name, near in waits_for.items():
        for other in near:
            states[other].dependents.append(states[name])
    return states


def projected_agent_runs(plan: Plan) -> int:
    """Return how many sub-agent runs can be counted before the run starts."""
    runs = 0
    for task in plan.tasks:
        if isinstance(task, AgentTask):
            known = None if task.for_each is None else known_items(task.for_each, plan.input)
            runs += 1 if known is None else len(known)
    return runs


def skip_reason(state: TaskState, tasks: Mapping[str, TaskState], scope: RunScope) -> str | None:
    """Return why the task is skipped as a whole, or None; raises TemplateError."""
    when = state.task.when
    if when is not None:
        return None if when.is_per_item or holds(when, scope) else "condition"
    heads = [
        path.head
        for expression in data_expressions(state.task)
        for path in expression.paths
        if path.head in tasks and path.segments[:1] not in {("status",), ("error",)}
    ]
    all_skipped = all(tasks[head].status is Status.SKIPPED for head in heads)
    return "upstream_skipped" if heads and all_skipped else None


def items(state: TaskState, given: Json, limits: Limits, scope: RunScope) -> list[Step]:
    """Return one step per item, with those skipped that the condition leaves out."""
    if not isinstance(given, list):
        raise TemplateError("for_each_not_a_list", _not_a_list(state, given))
    if len(given) > limits.max_items:
        message = f"for_each has {len(given)} items; max_items is {limits.max_items}"
        raise TemplateError("too_many_items", message)
    steps = [Step(f"{state.id}[{n}]", index=n, item=item) for n, item in enumerate(given)]
    when = state.task.when
    if when is not None and when.is_per_item:
        for step in steps:
            if not holds(when, scope.of(step)):
                step.status = Status.SKIPPED
    return steps


def holds(when: Condition, scope: RunScope) -> bool:
    """Decide a condition; raises TemplateError where it gives neither true, false nor null."""
    value = when.expression.evaluate(scope, strict=False)
    if when.operator != "is_true":
        return _same(value, when.value) is (when.operator == "equals")
    if value is None or isinstance(value, bool):
        return bool(value)
    message = f"'when' must give true or false; {when.expression.source!r} gave {type_name(value)}"
    raise TemplateError("condition_not_boolean", message)


def _same(left: object, right: object) -> bool:
    """Compare scalars without coercion: 1 equals 1.0, and true does not equal 1."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    return left == right


def _not_a_list(state: TaskState, given: Json) -> str:
    each = getattr(state.task, "for_each", None)
    source = f"${{{each.expression.source}}}" if isinstance(each, Whole) else "for_each"
    hint = ""
    if isinstance(given, str) and given.lstrip()[:1] in {"[", "{"}:
        hint = " that holds JSON; let the tool return the array itself"
    return f"{source} must be an array, and is {type_name(given)}{hint}"
