"""
The plan: what the model asked for, checked and parsed.

The one definition that the engine, the hosts and the service share. It is made by
:func:`~workflow_runtime.plan.check.check` from what was submitted, and travels as the JSON of
:meth:`Plan.to_json`, which :func:`read_plan` reads back.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal, cast

from . import templates
from .templates import Expression, Template
from .times import parse_duration
from .types import Json

RESERVED_IDS = frozenset(
    {"input", "context", "item", "index", "output", "true", "false", "null"}
)

type OnError = Literal["fail", "continue"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """``when``: an expression, or the typed (in)equality of a reference and a scalar."""

    expression: Expression
    operator: Literal["is_true", "equals", "not_equals"] = "is_true"
    value: None | bool | int | float | str = None

    @property
    def is_per_item(self) -> bool:
        """Whether it reads ``item`` or ``index`` and so is decided for each item."""
        return bool(self.expression.heads & {"item", "index"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Task:
    id: str
    depends_on: tuple[str, ...] = ()
    when: Condition | None = None
    on_error: OnError = "fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Work(_Task):
    for_each: Template | None = None
    concurrency: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolTask(_Work):
    """Call a tool; ``args`` renders to its arguments."""

    tool: str
    args: Template


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTask(_Work):
    """Run a sub-agent in a fresh context; ``task`` renders to its instruction."""

    agent: str
    task: Template


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitTask(_Task):
    """Wait for a duration, or until an instant."""

    duration: timedelta | None = None
    until: Template | None = None


type Task = ToolTask | AgentTask | WaitTask


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A directed acyclic graph of tasks. ``source`` is its normal form as JSON."""

    name: str
    context: str | None
    input: Json
    tasks: tuple[Task, ...]
    output: Template | None
    source: dict[str, Any]

    def to_json(self) -> dict[str, Any]:
        """Return the normal form; :func:`read_plan` reads it."""
        return self.source


def read_plan(source: dict[str, Any]) -> Plan:
    """Parse a plan in normal form: every task has a ``type``, and every rule holds."""
    names = frozenset(str(task["id"]) for task in source["tasks"])
    return Plan(
        name=source.get("name") or "",
        context=source.get("context"),
        input=source.get("input"),
        tasks=tuple(_read_task(task, names) for task in source["tasks"]),
        output=templates.parse(source["output"], names) if "output" in source else None,
        source=source,
    )


def _read_task(raw: dict[str, Any], names: frozenset[str]) -> Task:
    common = {
        "id": raw["id"],
        "depends_on": tuple(raw.get("depends_on", ())),
        "when": _read_condition(raw["when"], names) if raw.get("when") is not None else None,
        "on_error": cast("OnError", raw.get("on_error", "fail")),
    }
    if raw["type"] == "wait":
        duration, until = raw.get("duration"), raw.get("until")
        return WaitTask(
            **common,
            duration=None if duration is None else parse_duration(duration),
            until=None if until is None else templates.parse(until, names),
        )
    each = raw.get("for_each")
    common |= {
        "for_each": None if each is None else templates.parse(each, names),
        "concurrency": raw.get("concurrency"),
    }
    if raw["type"] == "sub_agent":
        return AgentTask(**common, agent=raw["agent"], task=templates.parse(raw["task"], names))
    return ToolTask(**common, tool=raw["tool"], args=templates.parse(raw.get("args", {}), names))


def _read_condition(raw: Any, names: frozenset[str]) -> Condition:
    if isinstance(raw, dict):
        expression = templates.parse_expression(bare(raw["ref"]), names)
        return Condition(
            expression=expression, operator=raw.get("operator", "equals"), value=raw.get("value")
        )
    return Condition(expression=templates.parse_expression(bare(raw), names))


def bare(text: str) -> str:
    """Take the ``${`` and ``}`` off a string that is exactly one reference."""
    stripped = text.strip()
    if stripped.startswith("${") and templates.find_end(stripped, 2) == len(stripped) - 1:
        return stripped[2:-1].strip()
    return stripped
