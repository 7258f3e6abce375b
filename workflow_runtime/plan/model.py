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

from .policies import RetryPolicy
from .reading import Reader, bare
from .templates import Expression, Template
from .times import parse_duration
from .types import Json

RESERVED_IDS = frozenset({"input", "context", "item", "index", "output", "true", "false", "null"})

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
    retry: RetryPolicy | None = None
    timeout: timedelta | None = None


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
    """Wait for a duration, until an instant, or for an event, that one at most for ``timeout``."""

    duration: timedelta | None = None
    until: Template | None = None
    event: str | None = None
    timeout: timedelta | None = None
    on_timeout: OnError = "fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalTask(_Task):
    """Ask a person, who is shown what ``message`` renders to."""

    message: Template
    timeout: timedelta | None = None


type Task = ToolTask | AgentTask | WaitTask | ApprovalTask


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


def read_plan(source: dict[str, Any], reader: Reader | None = None) -> Plan:
    """Parse a plan in normal form: every task has a ``type``, and every rule holds.

    *reader* is one that has read these strings before, if there is any.
    """
    reader = reader or Reader(frozenset(str(task["id"]) for task in source["tasks"]))
    return Plan(
        name=source.get("name") or "",
        context=source.get("context"),
        input=source.get("input"),
        tasks=tuple(_read_task(task, reader) for task in source["tasks"]),
        output=reader.value(source["output"]) if "output" in source else None,
        source=source,
    )


def _read_task(raw: dict[str, Any], reader: Reader) -> Task:
    common = {
        "id": raw["id"],
        "depends_on": tuple(raw.get("depends_on", ())),
        "when": _read_condition(raw["when"], reader) if raw.get("when") is not None else None,
        "on_error": cast("OnError", raw.get("on_error", "fail")),
    }
    match raw["type"]:
        case "wait":
            until = raw.get("until")
            return WaitTask(
                **common,
                duration=_duration(raw, "duration"),
                until=None if until is None else reader.value(until),
                event=raw.get("event"),
                timeout=_duration(raw, "timeout"),
                on_timeout=cast("OnError", raw.get("on_timeout", "fail")),
            )
        case "approval":
            message = reader.value(raw["message"])
            return ApprovalTask(**common, message=message, timeout=_duration(raw, "timeout"))
    each, retry = raw.get("for_each"), raw.get("retry")
    common |= {
        "for_each": None if each is None else reader.value(each),
        "concurrency": raw.get("concurrency"),
        "retry": None if retry is None else RetryPolicy.from_json(retry),
        "timeout": _duration(raw, "timeout"),
    }
    if raw["type"] == "sub_agent":
        return AgentTask(**common, agent=raw["agent"], task=reader.value(raw["task"]))
    return ToolTask(**common, tool=raw["tool"], args=reader.value(raw.get("args", {})))


def _duration(raw: dict[str, Any], name: str) -> timedelta | None:
    given = raw.get(name)
    return None if given is None else parse_duration(given)


def _read_condition(raw: Any, reader: Reader) -> Condition:
    if isinstance(raw, dict):
        expression = reader.expression(bare(raw["ref"]))
        return Condition(
            expression=expression, operator=raw.get("operator", "equals"), value=raw.get("value")
        )
    return Condition(expression=reader.expression(bare(raw)))
