"""A plan as a picture: Mermaid (https://mermaid.js.org/syntax/flowchart.html) or plain text."""

from __future__ import annotations

from collections.abc import Iterator

from .graph import dependencies, topological_order
from .model import AgentTask, ApprovalTask, Plan, Task, ToolTask, WaitTask
from .templates import Constant
from .times import format_duration

_SHAPES = {WaitTask: ("([", "])"), AgentTask: ("[/", "/]"), ApprovalTask: ("{{", "}}")}


def mermaid(plan: Plan) -> str:
    """Draw the plan as a Mermaid flowchart: one node per task, one arrow per dependency."""
    ids = frozenset(task.id for task in plan.tasks)
    lines = ["flowchart TD"]
    for task in plan.tasks:
        left, right = _SHAPES.get(type(task), ("[", "]"))
        label = "<br/>".join(_escaped(part) for part in (task.id, *_details(task)))
        lines.append(f'    t_{task.id}{left}"{label}"{right}')
    for task in plan.tasks:
        label = "|when|" if task.when is not None else ""
        lines += [f"    t_{near} -->{label} t_{task.id}" for near in dependencies(task, ids)]
    return "\n".join(lines)


def _escaped(text: str) -> str:
    return text.replace("&", "#amp;").replace('"', "#quot;").replace("<", "#lt;")


def text(plan: Plan) -> str:
    """Write one line per task, each after those it waits for."""
    ids = frozenset(task.id for task in plan.tasks)
    tasks = {task.id: task for task in plan.tasks}
    waits_for = {task.id: dependencies(task, ids) for task in plan.tasks}
    width = max(len(name) for name in ids)
    lines = []
    for name in topological_order(waits_for):
        after = f"   after {', '.join(waits_for[name])}" if waits_for[name] else ""
        lines.append(f"{name:<{width}}  {', '.join(_details(tasks[name]))}{after}")
    return "\n".join(lines)


def _details(task: Task) -> Iterator[str]:
    match task:
        case ToolTask(tool=tool):
            yield f"tool {tool}"
        case AgentTask(agent=agent):
            yield f"sub-agent {agent}"
        case ApprovalTask():
            yield "ask a person"
        case WaitTask(event=str() as event):
            yield f"wait for event {event}"
        case WaitTask(duration=duration) if duration is not None:
            yield f"wait {format_duration(duration)}"
        case WaitTask(until=Constant(value)):
            yield f"wait until {value}"
        case WaitTask():
            yield "wait until a computed time"
    if isinstance(task, ToolTask | AgentTask) and task.for_each is not None:
        yield "for each item"
    if task.when is not None:
        yield f"when {task.when.expression.source}"
