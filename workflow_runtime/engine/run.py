"""
The scheduler, as a state machine without I/O.

Rule 1: everything that decides what runs next is decided from here.
Rule 2: this file does not know who carries the commands out.

Time comes in with the events, so replaying the same events always gives the same commands. Per
event the work is in proportion to what changed. A host asks for :attr:`Run.deadline` after each
turn and calls :meth:`Run.handle` again when it has passed, with whatever events there are.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from ..errors import HistoryMismatchError, TemplateError
from ..plan.grants import Limits
from ..plan.model import AgentTask, ApprovalTask, Plan, ToolTask, WaitTask
from ..plan.policies import Policies
from ..plan.templates import render
from ..plan.times import format_duration, format_instant, parse_instant
from ..plan.types import Json
from . import opening, progress, retrying
from .breaker import Breaker
from .deadlines import Deadlines
from .ending import kept, leave, result_of
from .messages import (
    Answered,
    Asked,
    CallTool,
    CancelRequested,
    Command,
    Event,
    EventArrived,
    Failed,
    Failure,
    Outcome,
    RunAgent,
    RunStatus,
    Started,
    StepId,
    Succeeded,
)
from .outside import Inbox, digest
from .ready import ReadyQueue
from .reuse import Reuse
from .scope import RunScope
from .state import ACCEPTS, FINAL, Question, Status, Step, TaskState, Wait, step_value

CANCEL_GRACE = timedelta(seconds=10)
APPROVAL_TIMEOUT = timedelta(days=7)
START = "$start"


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
        self.usage = progress.Usage()
        self.counts = progress.Counts(len(plan.tasks))
        self.tasks: dict[str, TaskState] = opening.prepare(plan, policies or Policies())
        self._key_scope = scope
        self._reuse = Reuse(reuse or {})
        self._scope = RunScope(self.tasks, {"input": plan.input, "context": plan.context})
        self._steps: dict[StepId, tuple[TaskState, Step]] = {}
        self._running: dict[StepId, Step] = {}
        self._to_open: deque[TaskState] = deque()
        self._ready = ReadyQueue(self.tasks, limits.max_parallelism)
        self._deadlines = Deadlines()
        self._inbox = Inbox()
        self._breaker = Breaker()
        self._unfinished = len(plan.tasks)
        self._gate: Step | None = None
        self._stop: tuple[RunStatus, Failure] | None = None
        self._ends_at: datetime | None = None
        self._grace_ends: datetime | None = None
        self._now = datetime.min.replace(tzinfo=UTC)

    @property
    def status(self) -> RunStatus:
        """Where the run stands."""
        if self.outcome is not None:
            return self.outcome.status
        return "Canceling" if self._stop and self._stop[0] == "Canceled" else "Running"

    @property
    def deadline(self) -> datetime | None:
        """When the run wants to be called next though nothing happened; None when ended."""
        if self.outcome is not None:
            return None
        times = [self._ends_at, self._grace_ends]
        times += [self._deadlines.earliest()] if self._stop is None else []
        return min((time for time in times if time is not None), default=None)

    @property
    def running(self) -> Iterable[Step]:
        """The steps that hold a slot, in the order they were started."""
        return self._running.values()

    @property
    def waiting(self) -> Iterable[Step]:
        """The steps that wait for a time, an event or a person, in the order they began to."""
        return self._deadlines.waiting.values() if self._stop is None else ()

    def handle(self, events: Sequence[Event], now: datetime) -> tuple[Command, ...]:
        """Take note of *events*, one batch, and return what the host has to do now.

        *now* is aware; it never goes back: an earlier one counts as the latest seen. After the
        run has ended nothing changes any more. Raises HistoryMismatchError for an event this run
        could not have asked for.
        """
        if self.outcome is not None:
            return ()
        self._now = max(self._now, now)
        for event in events:
            self._apply(event)
        self._fire_deadlines()
        commands = tuple(self._advance())
        self._end_if_settled()
        return commands

    def abandon(self, failure: Failure) -> None:
        """End the run because its host has ended it; the outcome of what was running is unknown."""
        if self.outcome is None:
            self._stop_with("Failed", failure)
            self._end()

    # -- events ----------------------------------------------------------------------------------

    def _apply(self, event: Event) -> None:
        match event:
            case Started():
                self._begin()
            case CancelRequested(reason):
                self._stop_with("Canceled", Failure(code="canceled", message=reason))
                self._start_grace()
            case Succeeded() | Failed() | Asked():
                self._attempt_ended(*self._expect(event.step, event), event)
            case Answered():
                if self._inbox.is_new(event.id):
                    self._answer(event)
            case EventArrived(id=event_id, name=name, payload=payload):
                if self._inbox.is_new(event_id):
                    step = self._inbox.arrive(name, payload)
                    if step is not None:
                        self._close(self.tasks[step.id], step, Status.COMPLETED, payload)

    def _begin(self) -> None:
        self._ends_at = self._now + self.limits.max_duration
        limit = self.limits.ask_above_agent_runs
        projected = opening.projected_agent_runs(self.plan)
        if limit is None or projected <= limit:
            self._open_roots()
            return
        message = f"The plan runs sub-agents at least {projected} times (more than {limit})."
        self._gate = Step(START, started_at=self._now)
        question = Question(message=message, digest=digest(START, message))
        self._ask(None, self._gate, question, APPROVAL_TIMEOUT)

    def _open_roots(self) -> None:
        self._to_open.extend(state for state in self.tasks.values() if state.missing == 0)

    def _expect(self, step_id: StepId, event: Event) -> tuple[TaskState, Step]:
        state, step = self._steps.get(step_id, (None, None))
        if state is None or step is None or not isinstance(event, ACCEPTS.get(step.status, ())):
            found = "is unknown" if step is None else f"is {step.status}"
            message = f"step {step_id!r} {found} and cannot take {type(event).__name__}"
            raise HistoryMismatchError(message)
        return state, step

    def _attempt_ended(
        self, state: TaskState, step: Step, event: Succeeded | Failed | Asked
    ) -> None:
        self._running.pop(step.id)
        self._ready.ended(state)
        if isinstance(event, Failed):
            self._attempt_failed(state, step, event.failure)
            return
        self.usage.add_tokens(event.input_tokens, event.output_tokens)
        if isinstance(event, Asked):
            step.asked += 1
            asked = digest(step.id, step.asked, event.tool, event.args)
            question = Question(
                message=f"Sub-agent of {step.id!r} wants to call {event.tool}.",
                digest=asked,
                tool=event.tool,
                args=event.args,
                transcript=event.transcript,
                is_agents=True,
            )
            self._ask(state, step, question, APPROVAL_TIMEOUT)
            return
        value = step_value(state, event.value)
        unmet = retrying.unmet_condition(state, value)
        if unmet is not None:
            self._attempt_failed(state, step, unmet)
        else:
            self._close(state, step, Status.COMPLETED, value)

    def _attempt_failed(self, state: TaskState, step: Step, failure: Failure) -> None:
        if failure.code == "canceled" and self._stop is not None:
            step.failure = replace(failure, task=step.id)
            self._close(state, step, Status.CANCELED, None)
            return
        pause = retrying.pause_before_next(state, step, failure)
        if pause is None or self._stop is not None or state.failure is not None:
            self._fail(state, step, retrying.final_failure(step, failure))
            return
        step.failure = replace(failure, task=step.id)
        self._wait(step, Wait.RETRY, self._now + pause)

    def _answer(self, event: Answered) -> None:
        state, step = self._steps.get(event.step, (None, None))
        if step is None and self._gate is not None and event.step == START:
            step = self._gate
        question = step.question if step is not None else None
        is_open = step is not None and step.status is Status.WAITING and question is not None
        if not is_open or step is None or question is None or question.digest != event.digest:
            return
        step.question = None
        self._deadlines.drop(step)
        answer: dict[str, Json] = {
            "approved": event.approved,
            "by": event.by,
            "comment": event.comment,
            "at": event.at,
        }
        if not event.approved:
            by = f"by {event.by}" if event.by else "by a person"
            said = f": {event.comment}" if event.comment else ""
            failure = Failure(code="rejected", message=f"rejected {by}{said}")
            self._refuse(state, step, failure, answer)
        elif state is None:
            self._gate = None
            self._open_roots()
        elif isinstance(state.task, ApprovalTask):
            self._close(state, step, Status.COMPLETED, answer)
        else:
            step.is_approved = True
            if question.is_agents:
                asked: dict[str, Json] = {"tool": question.tool, "args": question.args}
                step.decision = {**answer, **asked, "transcript": question.transcript}
            self._queue_again(state, step)

    def _refuse(self, state: TaskState | None, step: Step, failure: Failure, answer: Json) -> None:
        """End what a person did not approve: the task, or the run that was not to begin."""
        if state is None:
            self._gate = None
            self._stop_with("Failed", failure)
        else:
            self._fail(state, step, failure, result=answer)

    def _queue_again(self, state: TaskState, step: Step) -> None:
        self._deadlines.drop(step)
        step.until, step.waits_for = None, None
        self._move(step, Status.PENDING)
        state.queue.append(step)
        self._ready.add(state)

    def _fire_deadlines(self) -> None:
        due = self._deadlines.due(self._now)
        while self._stop is None and (step := next(due, None)) is not None:
            self._wake(step)
        if self._grace_ends is not None and self._grace_ends <= self._now:
            self._end()
        elif self._ends_at is not None and self._ends_at <= self._now and self._unfinished:
            length = format_duration(self.limits.max_duration)
            message = f"the run took longer than max_duration ({length})"
            self._stop_with("Failed", Failure(code="max_duration_exceeded", message=message))
            self._start_grace()

    def _wake(self, step: Step) -> None:
        state = self._steps[step.id][0] if step.id in self._steps else None
        if state is None or step.waits_for is Wait.APPROVAL:
            message = f"nobody answered until {format_instant(step.until or self._now)}"
            failure = Failure(code="approval_timed_out", message=message)
            step.question = None
            answer: Json = {"approved": False, "by": None, "comment": None, "at": None}
            self._refuse(state, step, failure, answer)
        elif step.waits_for is Wait.RETRY:
            self._queue_again(state, step)
        elif step.waits_for is Wait.EVENT and isinstance(state.task, WaitTask):
            self._event_missed(state, step, state.task)
        else:
            at = format_instant(step.until or self._now)
            self._close(state, step, Status.COMPLETED, {"waited_until": at})

    def _event_missed(self, state: TaskState, step: Step, task: WaitTask) -> None:
        self._inbox.give_up(task.event or "", step)
        if task.on_timeout == "continue":
            self._close(state, step, Status.COMPLETED, None)
            return
        length = format_duration(task.timeout or self.limits.max_wait)
        message = f"no event {task.event!r} came within {length}"
        self._fail(state, step, Failure(code="event_timed_out", message=message))

    # -- what can run now ------------------------------------------------------------------------

    def _advance(self) -> Iterable[Command]:
        while self._stop is None and self.outcome is None:
            if self._to_open:
                self._open(self._to_open.popleft())
            elif (found := self._ready.take()) is not None:
                command = self._start(*found)
                if command is not None:
                    yield command
            else:
                return

    def _start(self, state: TaskState, step: Step) -> Command | None:
        try:
            command = self._command(state, step)
        except TemplateError as error:
            self._fail(state, step, Failure(code=error.code, message=str(error)))
            return None
        if command is None:
            return None
        step.attempts = command.attempt
        step.decision = None
        step.started_at = step.started_at or self._now
        self._move(step, Status.RUNNING)
        state.status = Status.RUNNING
        self._ready.started(state)
        self._running[step.id] = step
        return command

    def _command(self, state: TaskState, step: Step) -> Command | None:
        """Return what to do for a ready step; None where something else became of it."""
        task, scope = state.task, self._scope.of(step)
        goes_on = step.decision is not None  # not another attempt, but the rest of this one
        attempt = step.attempts if goes_on else step.attempts + 1
        seconds = self._timeout(state)
        if isinstance(task, ToolTask):
            args = render(task.args, scope)
            step.digest = digest(task.tool, args)
            if self._is_reused(state, step) or self._must_ask(state, step, task.tool, args):
                return None
            if not self._may_spend(state):
                return None
            self.usage.tool_calls += 1
            key = digest(self._key_scope, step.id, step.digest)
            return CallTool(
                step=step.id, attempt=attempt, tool=task.tool, args=args, key=key, timeout=seconds
            )
        if isinstance(task, AgentTask):
            text = progress.as_text(render(task.task, scope))
            step.digest = digest(task.agent, text, self.plan.context)
            if self._is_reused(state, step) or not self._may_spend(state, agent_runs=not goes_on):
                return None
            self.usage.agent_runs += not goes_on
            return RunAgent(
                step=step.id,
                attempt=attempt,
                agent=task.agent,
                task=text,
                key=digest(self._key_scope, step.id, step.digest),
                timeout=seconds,
                decision=step.decision,
            )
        message = f"task {state.id!r} holds no slot"
        raise HistoryMismatchError(message)

    def _timeout(self, state: TaskState) -> float | None:
        task = state.task
        own = task.timeout if isinstance(task, ToolTask | AgentTask) else None
        length = own or state.policy.timeout
        return length.total_seconds() if length is not None else None

    def _is_reused(self, state: TaskState, step: Step) -> bool:
        found = None if step.attempts else self._reuse.take(state.id, step.digest or "")
        if found is None or retrying.unmet_condition(state, found.result) is not None:
            return False
        step.is_reused = True
        step.started_at = self._now
        self._close(state, step, Status.COMPLETED, found.result)
        return True

    def _must_ask(self, state: TaskState, step: Step, tool: str, args: Json) -> bool:
        """Whether a person is asked before the tool is called, which happens here."""
        if not state.policy.approval or step.is_approved:
            return False
        question = Question(
            message=f"Call {tool}?", digest=digest(step.id, tool, args), tool=tool, args=args
        )
        self._ask(state, step, question, APPROVAL_TIMEOUT)
        return True

    def _may_spend(self, state: TaskState, *, agent_runs: bool = False) -> bool:
        limits, used = self.limits, self.usage
        if agent_runs and used.agent_runs >= limits.max_agent_runs:
            code = "agent_runs_exhausted"
            message = f"the run may run sub-agents {limits.max_agent_runs} times (max_agent_runs)"
        elif limits.max_tokens is not None and used.tokens >= limits.max_tokens:
            code = "budget_exhausted"
            message = f"the run used {used.tokens} of {limits.max_tokens} tokens (max_tokens)"
        else:
            return True
        self._stop_with("Failed", Failure(code=code, message=message, task=state.id))
        return False

    # -- a task whose dependencies are done ------------------------------------------------------

    def _open(self, state: TaskState) -> None:
        task = state.task
        try:
            reason = opening.skip_reason(state, self.tasks, self._scope)
            if reason is not None:
                state.skip_reason = reason
                self._add_steps(state, [Step(task.id, status=Status.SKIPPED)])
            elif isinstance(task, WaitTask):
                self._open_wait(state, task)
            elif isinstance(task, ApprovalTask):
                self._open_approval(state, task)
            elif task.for_each is not None:
                given = render(task.for_each, self._scope)
                self._add_steps(state, opening.items(state, given, self.limits, self._scope))
            else:
                self._add_steps(state, [Step(task.id)])
        except TemplateError as error:
            step = Step(task.id)
            self._add_steps(state, [step])
            state.queue.clear()
            self._fail(state, step, Failure(code=error.code, message=str(error)), whole=True)

    def _add_steps(self, state: TaskState, steps: list[Step]) -> None:
        state.steps = steps
        self.counts.expand([step.status for step in steps])
        open_steps = [step for step in steps if step.status is Status.PENDING]
        state.unfinished = len(open_steps)
        self._steps |= {step.id: (state, step) for step in open_steps}
        if isinstance(state.task, ToolTask | AgentTask):
            state.queue.extend(open_steps)
            self._ready.add(state)
        if not open_steps:
            self._finish_task(state)

    def _open_wait(self, state: TaskState, task: WaitTask) -> None:
        step = Step(task.id, started_at=self._now)
        if task.event is not None:
            self._open_event(state, step, task)
            return
        until = self._now + task.duration if task.duration else self._until(task)
        asked = format_duration(task.duration) if task.duration else format_instant(until)
        step.digest = digest("wait", asked)
        if until - self._now > self.limits.max_wait:
            longest = format_duration(self.limits.max_wait)
            message = f"the wait until {format_instant(until)} is longer than max_wait ({longest})"
            raise TemplateError("wait_too_long", message)
        self._add_steps(state, [step])
        if self._is_reused(state, step):
            return
        self._wait(step, Wait.TIMER, until)
        if until <= self._now:
            self._deadlines.drop(step)
            self._wake(step)

    def _open_event(self, state: TaskState, step: Step, task: WaitTask) -> None:
        name = task.event or ""
        step.digest = digest("event", name)
        self._add_steps(state, [step])
        if self._is_reused(state, step):
            return
        if self._inbox.wait(name, step):
            self._wait(step, Wait.EVENT, self._now + (task.timeout or self.limits.max_wait))
        else:
            self._close(state, step, Status.COMPLETED, self._inbox.early(name))

    def _open_approval(self, state: TaskState, task: ApprovalTask) -> None:
        message = progress.as_text(render(task.message, self._scope))
        step = Step(task.id, started_at=self._now)
        self._add_steps(state, [step])
        question = Question(message=message, digest=digest(task.id, message))
        self._ask(state, step, question, task.timeout or APPROVAL_TIMEOUT)

    def _until(self, task: WaitTask) -> datetime:
        text = render(task.until, self._scope) if task.until is not None else None
        until = parse_instant(text) if isinstance(text, str) else None
        if until is None:
            message = "'until' must become an RFC 3339 instant such as 2026-01-31T09:00:00Z"
            raise TemplateError("invalid_time", message)
        return until

    def _ask(
        self, state: TaskState | None, step: Step, question: Question, length: timedelta
    ) -> None:
        if self._stop is not None and state is not None:
            self._close(state, step, Status.CANCELED, None)
            return
        step.question = question
        self._wait(step, Wait.APPROVAL, self._now + min(length, self.limits.max_wait))

    def _wait(self, step: Step, reason: Wait, until: datetime) -> None:
        step.waits_for, step.until = reason, until
        if step.id != START:
            state = self._steps[step.id][0]
            self._move(step, Status.WAITING)
            state.status = Status.RUNNING if state.running else Status.WAITING
        step.status = Status.WAITING
        self._deadlines.add(step)

    # -- how a step and a task end -------------------------------------------------------------

    def _fail(
        self,
        state: TaskState,
        step: Step,
        failure: Failure,
        *,
        whole: bool = False,
        result: Json = None,
    ) -> None:
        failure = replace(failure, task=step.id)
        step.failure = failure
        goes_on = state.task.on_error == "continue"
        if not goes_on or whole or not state.iterates:
            state.failure = state.failure or failure
        self.counts.failures += 1
        if not goes_on:
            self._stop_with("Failed", failure)
        self._close(state, step, Status.FAILED, result)

    def _close(self, state: TaskState, step: Step, status: Status, result: Json) -> None:
        self._deadlines.drop(step)
        step.result = result
        step.ended_at = self._now
        if status is Status.COMPLETED:
            step.failure = None
        self._move(step, status)
        state.unfinished -= 1
        for left in self._breaker.after(state, step):
            self._move(left, Status.NOT_RUN if not left.attempts else Status.FAILED)
            self._deadlines.drop(left)
            state.unfinished -= 1
        if state.unfinished == 0:
            self._finish_task(state)
        else:
            self._ready.add(state)

    def _finish_task(self, state: TaskState) -> None:
        if state.failure is not None:
            state.status = Status.FAILED
        elif state.skip_reason is not None:
            state.status = Status.SKIPPED
        elif self._stop is not None and any(one.status is Status.CANCELED for one in state.steps):
            state.status = Status.CANCELED
        else:
            state.status = Status.COMPLETED
        self._unfinished -= 1
        for dependent in state.dependents:
            dependent.missing -= 1
            if dependent.missing == 0:
                self._to_open.append(dependent)

    def _move(self, step: Step, status: Status) -> None:
        self.counts.move(step.status, status)
        step.status = status

    # -- how the run ends ------------------------------------------------------------------------

    def _stop_with(self, status: RunStatus, failure: Failure) -> None:
        """Start nothing more; what runs is awaited. The first reason to stop is the one kept."""
        if self._stop is None:
            self._stop = (status, failure)

    def _start_grace(self) -> None:
        """Await what runs for CANCEL_GRACE and no longer."""
        self._ends_at = None
        self._grace_ends = self._grace_ends or self._now + CANCEL_GRACE

    def _end_if_settled(self) -> None:
        is_settled = self._stop is not None or self._unfinished == 0
        if self.outcome is None and is_settled and not self._running:
            self._end()

    def _end(self) -> None:
        for state in self.tasks.values():
            if state.status not in FINAL:
                leave(state, self._move)
        if self._stop is not None:
            status, failure = self._stop
            self.outcome = Outcome(status=status, output=kept(self.tasks), error=failure)
            return
        status = "CompletedWithErrors" if self.counts.failures else "Completed"
        try:
            output = result_of(self.plan, self.tasks, self._scope)
            self.outcome = Outcome(status=status, output=output)
        except TemplateError as error:
            failure = Failure(code="output_failed", message=str(error))
            self.outcome = Outcome(status="Failed", output=kept(self.tasks), error=failure)
