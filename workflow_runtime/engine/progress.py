"""How far a run is: counts that always add up, and what it used."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ..plan.encoding import dumps
from .state import Status

_BUCKETS = {
    Status.PENDING: "not_run",
    Status.NOT_RUN: "not_run",
    Status.RUNNING: "running",
    Status.WAITING: "running",
    Status.OUTCOME_UNKNOWN: "outcome_unknown",
    Status.COMPLETED: "completed",
    Status.FAILED: "failed",
    Status.SKIPPED: "skipped",
    Status.CANCELED: "canceled",
}


@dataclass(slots=True)
class Usage:
    """What a run used so far."""

    agent_runs: int = 0
    tool_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    def add_tokens(self, given: int, answered: int) -> None:
        """Count the tokens of one sub-agent run."""
        self.input_tokens += given
        self.output_tokens += answered

    @property
    def tokens(self) -> int:
        """All tokens, read and written."""
        return self.input_tokens + self.output_tokens

    def to_json(self) -> dict[str, int]:
        """Return all counts."""
        return {
            "agent_runs": self.agent_runs,
            "tool_calls": self.tool_calls,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
        }


@dataclass(slots=True)
class Counts:
    """Steps by where they stand; a task that has not been opened counts as one step not run."""

    total: int
    failures: int = 0
    by_bucket: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.by_bucket = dict.fromkeys(_BUCKETS.values(), 0) | {"not_run": self.total}

    def expand(self, statuses: Iterable[Status]) -> None:
        """Put a task's steps in the place of the one that stood for it."""
        self.by_bucket["not_run"] -= 1
        self.total -= 1
        for status in statuses:
            self.by_bucket[_BUCKETS[status]] += 1
            self.total += 1

    def move(self, before: Status, after: Status) -> None:
        """Count a step where it is now."""
        self.by_bucket[_BUCKETS[before]] -= 1
        self.by_bucket[_BUCKETS[after]] += 1

    def to_json(self) -> dict[str, int]:
        """Return the total and its parts; rare parts only where there are any."""
        rare = ("canceled", "outcome_unknown")
        order = ("completed", "running", "failed", "skipped", "not_run", *rare)
        parts = {key: self.by_bucket[key] for key in order}
        return {"total": self.total} | {k: n for k, n in parts.items() if n or k not in rare}


def as_text(value: Any) -> str:
    """Return a sub-agent's task as text: a string as it is, another value as JSON."""
    return value if isinstance(value, str) else dumps(value)
