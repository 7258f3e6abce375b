"""What an attempt is asked and what a sub-agent answers: plain data, and the port of the agents."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, Protocol, Self

from ..plan.types import Json
from .calls import StepCalls


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptRequest:
    """One attempt at one step; ``task_id`` is the step's key, such as ``inspect[12]``.

    ``payload`` is a tool's arguments object or a sub-agent's task text; ``idempotency_key`` is the
    same for all attempts of the step; ``timeout`` is in seconds, None: no limit. ``decision`` is a
    person's answer to what the sub-agent asked in an earlier attempt.
    """

    workflow_id: str
    task_id: str
    attempt: int
    kind: Literal["tool", "sub_agent"]
    target: str
    payload: Json
    idempotency_key: str
    context: str | None = None
    timeout: float | None = None
    decision: Json = None

    def to_json(self) -> dict[str, Any]:
        """Give the fields as JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        """Read what :meth:`to_json` gave."""
        return cls(**value)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRequest:
    """What a sub-agent is asked: one task, the run's context, nothing else.

    ``calls`` are the attempt's: whatever tool it calls is called with them, and ``calls.step`` is
    the step that it works for. ``decision`` is None unless a person has answered what it asked
    before: ``{"transcript", "tool", "args", "approved", "by", "comment"}``.
    """

    agent: str
    task: str
    context: str | None
    calls: StepCalls
    decision: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentAnswer:
    """What a sub-agent answered."""

    agent: str
    text: str
    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentAsk:
    """A sub-agent wants to call a tool that a person must approve first.

    ``transcript`` is what it needs to go on when it is run again with the person's decision.
    """

    tool: str
    args: Json
    transcript: Json
    input_tokens: int = 0
    output_tokens: int = 0


class SubAgents(Protocol):
    """Runs sub-agents.

    Raises AgentMissingError for an unknown agent and ModelError for a provider's trouble; anything
    else becomes a plain failure.
    """

    async def run(self, request: AgentRequest) -> AgentAnswer | AgentAsk:
        """Run one agent with a fresh context to its answer, or to what it asks."""
        ...
