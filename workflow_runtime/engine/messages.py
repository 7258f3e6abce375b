"""
The two vocabularies: events that a host reports, commands that a host carries out.

A *step* is named by its task's id, or ``id[index]`` for an item of a ``for_each``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self

from ..plan.types import Json

type StepId = str


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why an attempt, a task or a run failed: a stable code and a text that is safe to show."""

    code: str
    message: str
    task: str | None = None
    correlation_id: str | None = None

    def to_json(self) -> dict[str, Json]:
        """Return the fields that are set."""
        fields: dict[str, Json] = {"code": self.code, "message": self.message}
        if self.task is not None:
            fields["task"] = self.task
        if self.correlation_id is not None:
            fields["correlation_id"] = self.correlation_id
        return fields

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        """Read what :meth:`to_json` and the activities write."""
        return cls(
            code=str(value["code"]),
            message=str(value["message"]),
            task=value.get("task"),
            correlation_id=value.get("correlation_id"),
        )


@dataclass(frozen=True, slots=True)
class Started:
    """The run begins."""


@dataclass(frozen=True, slots=True)
class Succeeded:
    """An attempt returned; tokens are those a sub-agent used."""

    step: StepId
    value: Json
    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Failed:
    """An attempt failed."""

    step: StepId
    failure: Failure


@dataclass(frozen=True, slots=True)
class CancelRequested:
    """Somebody asked the run to stop; a second request changes nothing."""

    reason: str


@dataclass(frozen=True, slots=True)
class CallTool:
    """Call a tool once; ``attempt`` counts from 1."""

    step: StepId
    attempt: int
    tool: str
    args: Json


@dataclass(frozen=True, slots=True)
class RunAgent:
    """Run a sub-agent once; ``attempt`` counts from 1."""

    step: StepId
    attempt: int
    agent: str
    task: str


type Event = Started | Succeeded | Failed | CancelRequested
type Command = CallTool | RunAgent

type RunStatus = Literal[
    "Running", "Canceling", "Completed", "CompletedWithErrors", "Failed", "Canceled"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a run ended; the same shape whatever the plan looked like.

    ``output`` is what the plan's ``output`` says, or, where the run did not complete, the results
    of the tasks that did (of a ``for_each`` task its items).
    """

    status: RunStatus
    output: Json
    error: Failure | None = None
