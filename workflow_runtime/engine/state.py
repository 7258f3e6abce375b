"""What the scheduler remembers of a task and of each of its steps."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from ..plan.model import AgentTask, Task, ToolTask
from ..plan.policies import WorkPolicy
from ..plan.types import Json
from .digests import digest
from .messages import Asked, Event, Failed, Failure, StepId, Succeeded


class Status(StrEnum):
    """Where a step or a task stands. The values are what plans, clients and people see."""

    PENDING = "pending"
    RUNNING = "running"
    WAITING = "waiting"
    COMPLETED = "completed"
    FAILED = "failed"
    SKIPPED = "skipped"
    CANCELED = "canceled"
    NOT_RUN = "not_run"
    OUTCOME_UNKNOWN = "outcome_unknown"


class Wait(StrEnum):
    """What a waiting step waits for."""

    TIMER = "timer"
    RETRY = "retry"
    EVENT = "event"
    APPROVAL = "approval"


# Which event about an attempt a step may receive in which status; anything else is a mismatch.
# Answers and events from outside are for whoever waits for them, and otherwise dropped or kept.
ACCEPTS: dict[Status, tuple[type[Event], ...]] = {Status.RUNNING: (Succeeded, Failed, Asked)}

FINAL = frozenset(Status) - {Status.PENDING, Status.RUNNING, Status.WAITING}


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a person is asked; ``digest`` binds the answer to exactly this.

    ``transcript`` is there where a sub-agent asks.
    """

    message: str
    digest: str
    tool: str | None = None
    args: Json = None
    transcript: Json = None
    is_agents: bool = False


@dataclass(slots=True)
class Step:
    """One thing to run for a task; ``index`` is its place in a ``for_each``.

    ``identity`` is what was asked of the tool or agent, for a re-run. ``asked`` counts the
    questions of a sub-agent, so that an answer to one of them is never taken for the next.
    """

    id: StepId
    index: int | None = None
    item: Json = None
    status: Status = Status.PENDING
    attempts: int = 0
    result: Json = None
    failure: Failure | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    waits_for: Wait | None = None
    until: datetime | None = None
    question: Question | None = None
    asked: int = 0
    decision: Json = None
    is_approved: bool = False
    identity: tuple[Json, ...] | None = None
    is_reused: bool = False
    backs_off: bool = False

    @property
    def digest(self) -> str | None:
        """What tells the step's resolved inputs from others; None where it never had any."""
        return None if self.identity is None else digest(*self.identity)

    def envelope(self) -> dict[str, Json]:
        """Return the entry of ``items`` that tells a result from its source."""
        error = None if self.failure is None else self.failure.to_json()
        return {
            "index": self.index,
            "item": self.item,
            "status": str(self.status),
            "result": self.result,
            "error": error,
        }


@dataclass(slots=True)
class TaskState:
    """One task of the plan while it runs; ``streak`` counts equal failures in a row.

    ``backing_off`` counts the steps that failed and wait for another attempt.
    """

    task: Task
    priority: tuple[int, int]
    missing: int
    policy: WorkPolicy = field(default_factory=WorkPolicy)
    dependents: list[TaskState] = field(default_factory=list)
    status: Status = Status.PENDING
    steps: list[Step] = field(default_factory=list)
    queue: deque[Step] = field(default_factory=deque)
    running: int = 0
    unfinished: int = 0
    failure: Failure | None = None
    skip_reason: str | None = None
    queued: bool = False
    streak: tuple[str, int] = ("", 0)
    backing_off: int = 0

    @property
    def id(self) -> str:
        """The task's id."""
        return self.task.id

    @property
    def target(self) -> str | None:
        """The tool or the sub-agent, told apart; None for a task that calls nothing."""
        match self.task:
            case ToolTask(tool=name):
                return f"tool {name}"
            case AgentTask(agent=name):
                return f"agent {name}"
            case _:
                return None

    @property
    def iterates(self) -> bool:
        """Whether the task has one step per item."""
        return isinstance(self.task, ToolTask | AgentTask) and self.task.for_each is not None

    @property
    def is_expanded(self) -> bool:
        """Whether the task has its one step per item, and is not skipped or failed as a whole."""
        whole = self.steps and self.steps[0].index is None
        return self.iterates and not whole and self.status is not Status.PENDING

    @property
    def concurrency(self) -> int | None:
        """How many of the task's steps may run at once by its own word."""
        return self.task.concurrency if isinstance(self.task, ToolTask | AgentTask) else None

    @property
    def has_room(self) -> bool:
        """Whether the task's own ``concurrency`` lets one more step run."""
        return self.concurrency is None or self.running < self.concurrency

    def may_start(self, step: Step, slots: int) -> bool:
        """Whether there is room for the step: where some fail and wait, for no more than that.

        Without this a ``for_each`` whose items all fail would begin every one of them before the
        first has used up its attempts.
        """
        is_new = not step.attempts and self.backing_off > 0
        width = min(slots, self.concurrency or slots)
        return not is_new or self.running + self.backing_off < width

    def result(self) -> Json:
        """Return what ``${id.result}`` gives."""
        if self.is_expanded:
            return [step.result for step in self.steps]
        return self.steps[0].result if self.steps else None

    def view(self) -> dict[str, Json]:
        """Return what ``${id}`` holds: result, status, error, and items or text."""
        view: dict[str, Json] = {
            "result": self.result(),
            "status": str(self.status),
            "error": None if self.failure is None else self.failure.to_json(),
        }
        if self.is_expanded:
            view["items"] = [step.envelope() for step in self.steps]
        elif isinstance(self.task, AgentTask):
            view["text"] = view["result"]
        return view

    def kept(self) -> Json:
        """Return what an unfinished run shows of this task."""
        return [step.envelope() for step in self.steps] if self.is_expanded else self.result()


def step_value(state: TaskState, value: Any) -> Json:
    """Return the result of a step: what the tool returned, or an agent's text."""
    if isinstance(state.task, AgentTask) and isinstance(value, dict):
        return value.get("text")
    return value  # type: ignore[no-any-return]
