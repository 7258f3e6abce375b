"""How an attempt at a task is made, repeated and bounded: what plans and tools may say of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Literal, Self

from .reading import parse_expression
from .templates import Expression
from .times import format_duration, parse_duration
from .types import Json

type SideEffects = Literal["none", "idempotent", "once", "unknown"]
"""What a call does to the world; ``unknown`` where nobody has said, as of a server's tool."""

MAX_ATTEMPTS = 10
_LONGEST = timedelta(days=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often an attempt is repeated, and after which pauses.

    Where only ``initial`` is given, ``max`` is no shorter than it.
    ``until`` is an expression over ``result``: a result for which it does not hold counts as a
    failure that may be retried, so that a plan can poll.
    """

    max_attempts: int = 3
    initial: timedelta = timedelta(seconds=1)
    multiplier: float = 2.0
    max: timedelta = timedelta(minutes=1)
    until: Expression | None = None

    def delay_after(self, attempt: int, retry_after: float | None = None) -> timedelta:
        """Return the pause after the failed *attempt*, at least *retry_after* seconds."""
        seconds = min(self.max.total_seconds(), self._grown(attempt))
        return min(_LONGEST, timedelta(seconds=max(seconds, min(retry_after or 0.0, 2.6e6))))

    def _grown(self, attempt: int) -> float:
        return self.initial.total_seconds() * self.multiplier ** (attempt - 1)

    def to_json(self) -> dict[str, Json]:
        """Write the policy the way a plan does."""
        until = {} if self.until is None else {"until": self.until.source}
        return {
            "max_attempts": self.max_attempts,
            "initial": format_duration(self.initial),
            "multiplier": self.multiplier,
            "max": format_duration(self.max),
            **until,
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        """Read a policy that is known to be right."""
        default = cls()
        until = value.get("until")
        initial = _duration(value.get("initial"), default.initial)
        return cls(
            max_attempts=int(_given(value, "max_attempts", default.max_attempts)),
            initial=initial,
            multiplier=float(_given(value, "multiplier", default.multiplier)),
            max=_duration(value.get("max"), max(default.max, initial)),
            until=None if until is None else parse_expression(until),
        )


def _given(value: dict[str, Any], name: str, default: float) -> float:
    given: float | None = value.get(name)
    return default if given is None else given


def _duration(text: str | None, default: timedelta) -> timedelta:
    return (parse_duration(text) if text is not None else None) or default


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkPolicy:
    """What a tool (or the grant of a sub-agent) says of its attempts; frozen into each run.

    ``approval``: a person is asked before the call. ``concurrency`` bounds the attempts of this
    tool or agent within one run. ``side_effects="once"`` is never repeated.
    """

    retry: RetryPolicy | None = None
    timeout: timedelta | None = None
    approval: bool = False
    concurrency: int | None = None
    side_effects: SideEffects = "none"

    def to_json(self) -> dict[str, Json]:
        """Write what differs from the default."""
        written: dict[str, Json] = {}
        if self.retry is not None:
            written["retry"] = self.retry.to_json()
        if self.timeout is not None:
            written["timeout"] = format_duration(self.timeout)
        if self.approval:
            written["approval"] = True
        if self.concurrency is not None:
            written["concurrency"] = self.concurrency
        if self.side_effects != "none":
            written["side_effects"] = self.side_effects
        return written

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        """Read what :meth:`to_json` writes."""
        retry, timeout = value.get("retry"), value.get("timeout")
        return cls(
            retry=None if retry is None else RetryPolicy.from_json(retry),
            timeout=None if timeout is None else parse_duration(timeout),
            approval=bool(value.get("approval", False)),
            concurrency=value.get("concurrency"),
            side_effects=value.get("side_effects", "none"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Policies:
    """The policies of the tools and sub-agents that one plan names."""

    tools: dict[str, WorkPolicy] = field(default_factory=dict)
    agents: dict[str, WorkPolicy] = field(default_factory=dict)

    def to_json(self) -> dict[str, Json]:
        """Write those that say anything."""
        return {
            "tools": {name: policy.to_json() for name, policy in self.tools.items()},
            "agents": {name: policy.to_json() for name, policy in self.agents.items()},
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        """Read what :meth:`to_json` writes."""
        return cls(
            tools={n: WorkPolicy.from_json(one) for n, one in value.get("tools", {}).items()},
            agents={n: WorkPolicy.from_json(one) for n, one in value.get("agents", {}).items()},
        )


def reads_only_result(expression: Expression) -> bool:
    """Whether an ``until`` keeps to its one name, ``result``."""
    return expression.heads == frozenset({"result"})
