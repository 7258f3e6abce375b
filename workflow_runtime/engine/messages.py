"""
The two vocabularies: events that a host reports, commands that a host carries out.

A *step* is named by its task's id, or ``id[index]`` for an item of a ``for_each``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self

from ..plan.types import Json
from .digests import digest

type StepId = str
type FailureKind = Literal["terminal", "retryable", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why an attempt, a task or a run failed: a stable code and a text that is safe to show.

    ``kind`` says whether trying again may help (``unknown``: only where a policy asks for it);
    ``retry_after`` is the least pause in seconds.
    """

    code: str
    message: str
    task: str | None = None
    correlation_id: str | None = None
    kind: FailureKind = "terminal"
    retry_after: float | None = None

    def to_json(self) -> dict[str, Json]:
        """Return what is shown: the code, the message and what finds more."""
        fields: dict[str, Json] = {"code": self.code, "message": self.message}
        if self.task is not None:
            fields["task"] = self.task
        if self.correlation_id is not None:
            fields["correlation_id"] = self.correlation_id
        return fields

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        """Read what an activity reports."""
        kind, pause = value.get("kind", "terminal"), value.get("retry_after")
        return cls(
            code=str(value["code"]),
            message=str(value["message"]),
            correlation_id=value.get("correlation_id"),
            kind=kind if kind in {"retryable", "unknown"} else "terminal",
            retry_after=float(pause) if isinstance(pause, int | float) else None,
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A sub-agent wants to call a tool for which a person is asked first.

    ``transcript`` is what the agent needs to go on after the answer; the engine only keeps it.
    """

    step: StepId
    tool: str
    args: Json
    transcript: Json
    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """A person approved or rejected what was shown under ``digest``.

    An answer holds once, and only while that very thing is asked.
    """

    id: str
    step: StepId
    digest: str
    approved: bool
    by: str
    comment: str
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EventArrived:
    """Something happened outside. Each event ends one wait for its name, also one that opens later.

    A second event with the same ``id`` changes nothing.
    """

    id: str
    name: str
    payload: Json


@dataclass(frozen=True, slots=True)
class CancelRequested:
    """Somebody asked the run to stop; a second request changes nothing."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Attempt:
    """One attempt at a step; ``attempt`` counts from 1, ``timeout`` is in seconds.

    ``identity`` is what is asked of the tool or agent, ``scope`` the run that it is asked for.
    """

    step: StepId
    attempt: int
    scope: str
    identity: tuple[Json, ...]
    timeout: float | None = None

    @property
    def key(self) -> str:
        """Equal for all attempts at the same thing, different from any other's."""
        return digest(self.scope, self.step, digest(*self.identity))


@dataclass(frozen=True, slots=True, kw_only=True)
class CallTool(_Attempt):
    """Call a tool once."""

    tool: str
    args: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class RunAgent(_Attempt):
    """Run a sub-agent once; ``decision`` is set where it goes on after a person's answer.

    ``{"transcript", "approved", "by", "comment", "tool", "args"}``.
    """

    agent: str
    task: str
    decision: Json = None


type Event = Started | Succeeded | Failed | Asked | Answered | EventArrived | CancelRequested
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
