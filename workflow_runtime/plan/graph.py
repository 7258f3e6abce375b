"""The shape of a plan: who waits for whom, cycles, and how long the way to the end is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from . import templates
from .model import ApprovalTask, Task, ToolTask, WaitTask
from .templates import Expression, Template


def data_templates(task: Task) -> Iterator[Template]:
    """Yield the templates whose references carry data into the task (not ``when``)."""
    if isinstance(task, WaitTask):
        yield from [task.until] if task.until is not None else []
        return
    if isinstance(task, ApprovalTask):
        yield task.message
        return
    yield task.args if isinstance(task, ToolTask) else task.task
    yield from [task.for_each] if task.for_each is not None else []


def data_expressions(task: Task) -> Iterator[Expression]:
    """Yield the expressions of :func:`data_templates`."""
    for template in data_templates(task):
        yield from templates.expressions(template)


def dependencies(task: Task, ids: frozenset[str]) -> tuple[str, ...]:
    """Return the ids of the tasks that *task* waits for: declared first, then implied."""
    heads = list(task.depends_on)
    for expression in data_expressions(task):
        heads += [path.head for path in expression.paths]
    if task.when is not None:
        heads += [path.head for path in task.when.expression.paths]
    return tuple(dict.fromkeys(head for head in heads if head in ids and head != task.id))


def find_cycles(waits_for: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Return cycles that together touch every task which can never start, each once.

    A cycle starts and ends with the same id: each waits for the next.
    """
    state: dict[str, int] = {}
    cycles: list[list[str]] = []
    for root in waits_for:
        if root in state:
            continue
        way = [root]
        stack = [iter(waits_for[root])]
        state[root] = 1
        while stack:
            near = next(stack[-1], None)
            if near is None:
                stack.pop()
                state[way.pop()] = 2
            elif near in waits_for and near not in state:
                state[near] = 1
                way.append(near)
                stack.append(iter(waits_for[near]))
            elif state.get(near) == 1:
                cycles.append([*way[way.index(near) :], near])
    return cycles


def longest_paths(order: Sequence[str], waits_for: Mapping[str, Iterable[str]]) -> dict[str, int]:
    """Return for each task how many tasks the longest way from it to the end has, itself included.

    *order* must name a task after those it waits for.
    """
    longest = dict.fromkeys(order, 1)
    for name in reversed(order):
        for near in waits_for[name]:
            longest[near] = max(longest[near], longest[name] + 1)
    return longest


def topological_order(waits_for: Mapping[str, Iterable[str]]) -> list[str]:
    """Return the ids so that each comes after those it waits for, else in the given order."""
    missing = {name: len(set(near)) for name, near in waits_for.items()}
    dependents: dict[str, list[str]] = {name: [] for name in waits_for}
    for name, near in waits_for.items():
        for other in set(near):
            dependents[other].append(name)
    order = [name for name, count in missing.items() if count == 0]
    for name in order:
        for dependent in dependents[name]:
            missing[dependent] -= 1
            if missing[dependent] == 0:
                order.append(dependent)
    return order
