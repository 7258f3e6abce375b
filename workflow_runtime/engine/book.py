"""
The book of a run: where each step and task stands, and the only code that moves them.

Who decides (:mod:`.run`, :mod:`.starting`, :mod:`.waits`, :mod:`.questions`) writes through it, so
that counts add up, slots come back and dependents are opened whatever the reason.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from datetime import UTC, datetime

from ..plan.grants import Limits
from ..plan.model import AgentTask, Plan, ToolTask
from ..plan.policies import Policies
from ..plan.types import Json
from . import opening, progress
from .breaker import Breaker
from .deadlines import Deadlines
from .messages import Failure, RunStatus, StepId
from .ready import ReadyQueue
from .scope import RunScope
from .state import Status, Step, TaskState, Wait


class Book:
    """The state of one run. ``stop`` is set when nothing may be started any more, and says why."""

    def __init__(self, plan: Plan, limits: Limits, policies: Policies) -> None:
        self.plan = plan
        self.limits = limits
        self.usage = progress.Usage()
        self.counts = progress.Counts(len(plan.tasks))
        self.tasks: dict[str, TaskState] = opening.prepare(plan, policies)
        self.scope = RunScope(self.tasks, {"input": plan.input, "context": plan.context})
        self.steps: dict[StepId, tuple[TaskState, Step]] = {}
        self.running: dict[StepId, Step] = {}
        self.to_open: deque[TaskState] = deque()
        self.ready = ReadyQueue(self.tasks, limits.max_parallelism)
        self.deadlines = Deadlines()
        self.unfinished = len(plan.tasks)
        self.stop: tuple[RunStatus, Failure] | None = None
        self.now = datetime.min.replace(tzinfo=UTC)
        self._breaker = Breaker()

    def open_roots(self) -> None:
        """Have the tasks opened that wait for nobody."""
        self.to_open.extend(state for state in self.tasks.values() if state.missing == 0)

    def add_steps(self, state: TaskState, steps: list[Step]) -> None:
        """Give an opened task its steps."""
        state.steps = steps
        self.counts.expand([step.status for step in steps])
        open_steps = [step for step in steps if step.status is Status.PENDING]
        state.unfinished = len(open_steps)
        self.steps |= {step.id: (state, step) for step in open_steps}
        if isinstance(state.task, ToolTask | AgentTask):
            state.queue.extend(open_steps)
            self.ready.add(state)
        if not open_steps:
            self._finish_task(state)

    def start(self, state: TaskState, step: Step, *, attempt: int) -> None:
        """Take note that an attempt holds a slot now."""
        step.attempts = attempt
        step.decision = None
        step.started_at = step.started_at or self.now
        self.move(step, Status.RUNNING)
        state.status = Status.RUNNING
        self.ready.started(state)
        self.running[step.id] = step

    def give_slot_back(self, state: TaskState, step: Step) -> None:
        """Take note that the attempt holds no slot any more."""
        self.running.pop(step.id)
        self.ready.ended(state)

    def back_off(self, state: TaskState, step: Step, until: datetime) -> None:
        """Have a step that failed wait for another attempt."""
        state.backing_off += 1
        step.backs_off = True
        self.wait(step, Wait.RETRY, until)

    def wait(self, step: Step, reason: Wait, until: datetime) -> None:
        """Have the step wait, at most *until* then; it holds no slot."""
        step.waits_for, step.until = reason, until
        found = self.steps.get(step.id)
        if found is None:  # the question before the run, which is no step of a task
            step.status = Status.WAITING
        else:
            self.move(step, Status.WAITING)
            found[0].status = Status.RUNNING if found[0].running else Status.WAITING
        self.deadlines.add(step)

    def queue_again(self, state: TaskState, step: Step) -> None:
        """Have a step that waited attempted when there is room."""
        self.deadlines.drop(step)
        step.until, step.waits_for = None, None
        self.move(step, Status.PENDING)
        state.backing_off -= step.backs_off
        step.backs_off = False
        if step.attempts:
            state.queue.appendleft(step)  # before those that were not tried yet
        else:
            state.queue.append(step)
        self.ready.add(state)

    def fail(
        self,
        state: TaskState,
        step: Step,
        failure: Failure,
        *,
        whole: bool = False,
        result: Json = None,
    ) -> None:
        """End a step that failed; *whole*: and with it a task that was to have several."""
        failure = replace(failure, task=step.id)
        step.failure = failure
        goes_on = state.task.on_error == "continue"
        if not goes_on or whole or not state.iterates:
            state.failure = state.failure or failure
        self.counts.failures += 1
        if not goes_on:
            self.stop_with("Failed", failure)
        self.close(state, step, Status.FAILED, result)

    def close(self, state: TaskState, step: Step, status: Status, result: Json) -> None:
        """End a step, and its task with the last one."""
        self.deadlines.drop(step)
        step.result = result
        step.ended_at = self.now
        if status is Status.COMPLETED:
            step.failure = None
        self.move(step, status)
        state.unfinished -= 1
        for left in self._breaker.after(state, step):
            self.move(left, Status.NOT_RUN if left.failure is None else Status.FAILED)
            self.deadlines.drop(left)
            state.unfinished -= 1
        if state.unfinished == 0:
            self._finish_task(state)
        else:
            self.ready.add(state)

    def _finish_task(self, state: TaskState) -> None:
        if state.failure is not None:
            state.status = Status.FAILED
        elif state.skip_reason is not None:
            state.status = Status.SKIPPED
        elif self.stop is not None and any(one.status is Status.CANCELED for one in state.steps):
            state.status = Status.CANCELED
        else:
            state.status = Status.COMPLETED
        self.unfinished -= 1
        for dependent in state.dependents:
            dependent.missing -= 1
            if dependent.missing == 0:
                self.to_open.append(dependent)

    def move(self, step: Step, status: Status) -> None:
        """Count a step where it is now."""
        self.counts.move(step.status, status)
        step.status = status

    def stop_with(self, status: RunStatus, failure: Failure) -> None:
        """Start nothing more; what runs is awaited. The first reason to stop is the one kept."""
        if self.stop is None:
            self.stop = (status, failure)
