"""
The scheduler, as a state machine without I/O.

Rule 1: everything that decides what runs next is called from here.
Rule 2: nothing here knows who carries the commands out.

Time comes in with the events, so replaying the same events always gives the same commands. Per
event the work is in proportion to what changed. A host asks for :attr:`Run.deadline` after each
turn and calls :meth:`Run.handle` again when it has passed, with whatever events there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from ..errors import HistoryMismatchError, TemplateError
from ..plan.grants import Limits
from ..plan.model import ApprovalTask, Plan, WaitTask
from ..plan.policies import Policies
from ..plan.templates import render
from ..plan.times import format_duration
from ..plan.types import Json
from . import opening, progress, retrying
from .book import Book
from .ending import kept, leave, result_of
from .messages import (
    Answered,
    Asked,
    CancelRequested,
    Command,
    Event,
    EventArrived,
    Failed,
    Failure,
    Outcome,
    RunStatus,
    Started,
    StepId,
    Succeeded,
)
from .outside import Inbox
from .questions import Questions
from .reuse import Reuse
from .starting import Starter
from .state import ACCEPTS, FINAL, Status, Step, TaskState, Wait, step_value
from .waits import Waits

CANCEL_GRACE = timedelta(seconds=10)


class Run:
    """One execution of one plan.

    *scope* is an id that the keys of its steps are made from; *reuse* holds results of an earlier
    run of which this is a re-run.
    """

    def __init__(
        self,
        plan: Plan,
        limits: Limits,
        policies: Policies | None = None,
        *,
        scope: str = "",
        reuse: Mapping[str, Sequence[Json]] | None = None,
    ) -> None:
        self.plan = plan
        self.limits = limits
        self.outcome: Outcome | None = None
        self._book = Book(plan, limits, policies or Policies())
        self._inbox = Inbox()
        earlier = Reuse(reuse or {})
        self._questions = Questions(self._book)
        self._waits = Waits(self._book, self._inbox, earlier)
        self._starter = Starter(self._book, self._questions, earlier, scope=scope)
        self._ends_at: datetime | None = None
        self._grace_ends: datetime | None = None

    @property
    def status(self) -> RunStatus:
        """Where the run stands; ``Canceling`` while what runs is told to come to its end."""
        if self.outcome is not None:
            return self.outcome.status
        return "Canceling" if self._grace_ends is not None else "Running"

    @property
    def is_stopping(self) -> bool:
        """Whether nothing is started any more."""
        return self._book.stop is not None

    @property
    def deadline(self) -> datetime | None:
        """When the run wants to be called next though nothing happened; None when ended."""
        if self.outcome is not None:
            return None
        times = [self._ends_at, self._grace_ends]
        times += [self._book.deadlines.earliest()] if not self.is_stopping else []
        return min((time for time in times if time is not None), default=None)

    @property
    def tasks(self) -> Mapping[str, TaskState]:
        """The tasks by id, in the order of the plan."""
        return self._book.tasks

    @property
    def steps(self) -> Mapping[StepId, tuple[TaskState, Step]]:
        """The steps that were ever to be run, with their tasks."""
        return self._book.steps

    @property
    def usage(self) -> progress.Usage:
        """What was used so far."""
        return self._book.usage

    @property
    def counts(self) -> progress.Counts:
        """How many steps stand where."""
        return self._book.counts

    @property
    def running(self) -> Iterable[Step]:
        """The steps that hold a slot, in the order they were started."""
        return self._book.running.values()

    @property
    def waiting(self) -> Iterable[Step]:
        """The steps that wait for a time, an event or a person, in the order they began to."""
        return () if self.is_stopping else self._book.deadlines.waiting.values()

    def handle(self, events: Sequence[Event], now: datetime) -> tuple[Command, ...]:
        """Take note of *events*, one batch, and return what the host has to do now.

        *now* is aware; it never goes back: an earlier one counts as the latest seen. After the
        run has ended nothing changes any more. Raises HistoryMismatchError for an event this run
        could not have asked for.
        """
        if self.outcome is not None:
            return ()
        self._book.now = max(self._book.now, now)
        for event in events:
            self._apply(event)
        self._fire_deadlines()
        commands = tuple(self._advance())
        self._end_if_settled()
        return commands

    def abandon(self, failure: Failure) -> None:
        """End the run because its host has ended it; the outcome of what was running is unknown."""
        if self.outcome is None:
            self._book.stop_with("Failed", failure)
            self._end()

    # -- events ----------------------------------------------------------------------------------

    def _apply(self, event: Event) -> None:
        match event:
            case Started():
                self._ends_at = self._book.now + self.limits.max_duration
                if not self._questions.asks_before_start():
                    self._book.open_roots()
            case CancelRequested(reason):
                self._book.stop_with("Canceled", Failure(code="canceled", message=reason))
                self._start_grace()
            case Succeeded() | Failed() | Asked():
                self._attempt_ended(*self._expect(event.step, event), event)
            case Answered() if self._inbox.is_new(event.id):
                self._questions.answer(event)
            case EventArrived() if self._inbox.is_new(event.name, event.id):
                self._waits.arrived(event)

    def _expect(self, step_id: StepId, event: Event) -> tuple[TaskState, Step]:
        state, step = self._book.steps.get(step_id, (None, None))
        if state is None or step is None or not isinstance(event, ACCEPTS.get(step.status, ())):
            found = "is unknown" if step is None else f"is {step.status}"
            message = f"step {step_id!r} {found} and cannot take {type(event).__name__}"
            raise HistoryMismatchError(message)
        return state, step

    def _attempt_ended(
        self, state: TaskState, step: Step, event: Succeeded | Failed | Asked
    ) -> None:
        self._book.give_slot_back(state, step)
        if isinstance(event, Failed):
            self._attempt_failed(state, step, event.failure)
            return
        self._book.usage.add_tokens(event.input_tokens, event.output_tokens)
        if isinstance(event, Asked):
            self._stop_over_budget()
            self._questions.agent_asks(state, step, event)
            return
        self._attempt_succeeded(state, step, event)
        self._stop_over_budget()

    def _attempt_succeeded(self, state: TaskState, step: Step, event: Succeeded) -> None:
        value = step_value(state, event.value)
        unmet = retrying.unmet_condition(state, value)
        if unmet is not None:
            self._attempt_failed(state, step, unmet)
        else:
            self._book.close(state, step, Status.COMPLETED, value)

    def _stop_over_budget(self) -> None:
        """Start nothing more, and ask nobody, once ``max_tokens`` is reached and work is left."""
        limit, used = self.limits.max_tokens, self._book.usage.tokens
        if limit is not None and used >= limit and self._book.unfinished:
            message = f"the run used {used} of {limit} tokens (max_tokens)"
            self._book.stop_with("Failed", Failure(code="budget_exhausted", message=message))

    def _budget_was_enough(self) -> bool:
        """Whether what ran when ``max_tokens`` was reached was all that there was to do."""
        failure = None if self._book.stop is None else self._book.stop[1]
        is_over = failure is not None and failure.code == "budget_exhausted"
        done = {Status.COMPLETED, Status.FAILED, Status.SKIPPED}
        return is_over and all(state.status in done for state in self._book.tasks.values())

    def _attempt_failed(self, state: TaskState, step: Step, failure: Failure) -> None:
        if failure.code == "canceled" and self.is_stopping:
            step.failure = replace(failure, task=step.id)
            self._book.close(state, step, Status.CANCELED, None)
            return
        pause = retrying.pause_before_next(state, step, failure)
        if pause is None or self.is_stopping or state.failure is not None:
            self._book.fail(state, step, retrying.final_failure(step, failure))
            return
        step.failure = replace(failure, task=step.id)
        if failure.code == "condition_not_met":  # it is polled: nothing is wrong
            self._book.wait(step, Wait.RETRY, self._book.now + pause)
        else:
            self._book.back_off(state, step, self._book.now + pause)

    # -- time ------------------------------------------------------------------------------------

    def _fire_deadlines(self) -> None:
        now = self._book.now
        due = self._book.deadlines.due(now)
        while not self.is_stopping and (step := next(due, None)) is not None:
            self._wake(step)
        if self._grace_ends is not None and self._grace_ends <= now:
            self._end()
        elif self._ends_at is not None and self._ends_at <= now and self._book.unfinished:
            length = format_duration(self.limits.max_duration)
            message = f"the run took longer than max_duration ({length})"
            self._book.stop_with("Failed", Failure(code="max_duration_exceeded", message=message))
            self._start_grace()

    def _wake(self, step: Step) -> None:
        state, _ = self._book.steps.get(step.id, (None, step))
        if state is None or step.waits_for is Wait.APPROVAL:
            self._questions.nobody_answered(state, step)
        elif step.waits_for is Wait.RETRY:
            self._book.queue_again(state, step)
        else:
            self._waits.time_is_up(state, step)

    def _start_grace(self) -> None:
        """Await what runs for CANCEL_GRACE and no longer."""
        self._ends_at = None
        self._grace_ends = self._grace_ends or self._book.now + CANCEL_GRACE

    # -- what can run now ------------------------------------------------------------------------

    def _advance(self) -> Iterable[Command]:
        book = self._book
        while not self.is_stopping and self.outcome is None:
            if book.to_open:
                self._open(book.to_open.popleft())
            elif (found := book.ready.take()) is not None:
                command = self._starter.start(*found)
                if command is not None:
                    yield command
            else:
                return

    def _open(self, state: TaskState) -> None:
        """Decide about a task whose dependencies are done, and give it its steps."""
        book, task = self._book, state.task
        try:
            reason = opening.skip_reason(state, book.tasks, book.scope)
            if reason is not None:
                state.skip_reason = reason
                book.add_steps(state, [Step(task.id, status=Status.SKIPPED)])
            elif isinstance(task, WaitTask):
                self._waits.open(state, task)
            elif isinstance(task, ApprovalTask):
                self._questions.open_approval(state, task)
            elif task.for_each is not None:
                given = render(task.for_each, book.scope)
                book.add_steps(state, opening.items(state, given, self.limits, book.scope))
            else:
                book.add_steps(state, [Step(task.id)])
        except TemplateError as error:
            step = Step(task.id)
            book.add_steps(state, [step])
            state.queue.clear()
            book.fail(state, step, Failure(code=error.code, message=str(error)), whole=True)

    # -- how the run ends ------------------------------------------------------------------------

    def _end_if_settled(self) -> None:
        is_settled = self.is_stopping or self._book.unfinished == 0
        if self.outcome is None and is_settled and not self._book.running:
            self._end()

    def _end(self) -> None:
        book = self._book
        for state in book.tasks.values():
            if state.status not in FINAL:
                leave(state, book.move)
        if book.stop is not None and not self._budget_was_enough():
            status, failure = book.stop
            self.outcome = Outcome(status=status, output=kept(book.tasks), error=failure)
            return
        status = "CompletedWithErrors" if book.counts.failures else "Completed"
        try:
            output = result_of(self.plan, book.tasks, book.scope)
            self.outcome = Outcome(status=status, output=output)
        except TemplateError as error:
            failure = Failure(code="output_failed", message=str(error))
            self.outcome = Outcome(status="Failed", output=kept(book.tasks), error=failure)
