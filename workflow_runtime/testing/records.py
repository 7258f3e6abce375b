"""How a simulated run went."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from ..engine import Failure, Outcome, Run
from ..plan.types import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One attempt at a tool or a sub-agent, ``at`` so long after the start."""

    at: timedelta
    step: str
    target: str
    payload: Json
    attempt: int
    idempotency_key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A step that began or ended: ``status`` is ``started`` or the status it ended with."""

    at: timedelta
    step: str
    status: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulated:
    """How a simulated run went."""

    outcome: Outcome
    run: Run
    calls: tuple[Call, ...]
    timeline: tuple[Moment, ...]
    took: timedelta

    @property
    def status(self) -> str:
        """The status it ended with."""
        return self.outcome.status

    @property
    def output(self) -> Json:
        """What the plan returned."""
        return self.outcome.output

    @property
    def error(self) -> Failure | None:
        """Why it failed, if it did."""
        return self.outcome.error

    def result(self, task_id: str) -> Json:
        """Return a task's result."""
        return self.run.tasks[task_id].result()

    def status_of(self, task_id: str) -> str:
        """Return a task's status."""
        return str(self.run.tasks[task_id].status)


def timeline(run: Run, start: datetime) -> Iterator[Moment]:
    """Yield when each step began and ended, in order."""
    moments: list[Moment] = []
    for state in run.tasks.values():
        for step in state.steps:
            if step.started_at is not None:
                moments.append(Moment(at=step.started_at - start, step=step.id, status="started"))
            if step.ended_at is not None:
                at = step.ended_at - start
                moments.append(Moment(at=at, step=step.id, status=str(step.status)))
    yield from sorted(moments, key=lambda moment: (moment.at, moment.status != "started"))
