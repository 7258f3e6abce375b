"""
The scheduler, as a state machine without I/O.

Rule 1: everything that decides what runs next lives in this file.
Rule 2: this file does not know who carries the commands out.

Time comes in with the events, so replaying the same events always gives the same commands. Per
event the work is in proportion to what changed. A host asks for :attr:`Run.deadline` after each
turn and calls :meth:`Run.handle` again when it has passed, with whatever events there are.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from ..errors import HistoryMismatchError, TemplateError
from ..plan.grants import Limits
from ..plan.graph import data_expressions, dependencies, longest_paths, topological_order
from ..plan.model import AgentTask, Condition, Plan, ToolTask, WaitTask
from ..plan.templates import Whole, render
from ..plan.times import format_duration, format_instant, parse_instant
from ..plan.types import Json, type_name
from . import progress
from .messages import (
    CallTool,
    CancelRequested,
    Command,
    Event,
    Failed,
    Failure,
    Outcome,
    RunAgent,
    RunStatus,
    Started,
    StepId,
    Succeeded,
)
from .scope import RunScope
from .state import ACCEPTS, FINAL, Status, Step, TaskState, step_value

CANCEL_GRACE = timedelta(seconds=10)


class Run:
    """One execution of one plan."""

    def __init__(self, plan: Plan, limits: Limits) -> None:
        self.plan = plan
        self.limits = limits
        self.outcome: Outcome | None = None
        self.usage = progress.Usage()
        self.counts = progress.Counts(len(plan.tasks))
        self.tasks: dict[str, TaskState] = _prepare(plan)
        self._scope = RunScope(self.tasks, {"input": plan.input, "context": plan.context})
        self._steps: dict[StepId, tuple[TaskState, Step]] = {}
        self._running: dict[StepId, Step] = {}
        self._to_open: deque[TaskState] = deque()
        self._ready: list[tuple[tuple[int, int], str]] = []
        self._sleeping: list[tuple[datetime, int, StepId]] = []
        self._unfinished = len(plan.tasks)
        self._stop: tuple[RunStatus, Failure] | None = None
        self._ends_at: datetime | None = None
        self._grace_ends: datetime | None = None
        self._now = datetime.min

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
        if self._sleeping and self._stop is None:
            times.append(self._sleeping[0][0])
        return min((time for time in times if time is not None), default=None)

    @property
    def running(self) -> Iterable[Step]:
        """The steps that hold a slot, in the order they were started."""
        return self._running.values()

    @property
    def sleeping(self) -> Sequence[tuple[datetime, int, StepId]]:
        """The waits that are open, as a heap by their end."""
        return self._sleeping

    def handle(self, events: Sequence[Event], now: datetime) -> tuple[Command, ...]:
        """Take note of *events*, one batch, and return what the host has to do now.

        *now* is aware; it never goes back: an earlier one counts as the latest seen. After the
        run has ended nothing changes any more. Raises HistoryMismatchError for an event this run
        could not have asked for.
        """
        if self.outcome is not None:
            return ()
        self._now = max(self._now, now) if self._now is not datetime.min else now
        for event in events:
            self._apply(event)
        self._fire_deadlines()
        commands = tuple(self._advance())
        self._end_if_settled()
        return commands

    def _apply(self, event: Event) -> None:
        match event:
            case Started():
                self._ends_at = self._now + self.limits.max_duration
                self._to_open.extend(s for s in self.tasks.values() if s.missing == 0)
            case CancelRequested(reason):
                self._stop_with("Canceled", Failure(code="canceled", message=reason))
                self._start_grace()
            case Succeeded(step_id, value):
                state, step = self._expect(step_id, event)
                self.usage.add_tokens(event.input_tokens, event.output_tokens)
                self._close(state, step, Status.COMPLETED, step_value(state, value))
            case Failed(step_id, failure):
                state, step = self._expect(step_id, event)
                self._fail(state, step, failure)

    def _expect(self, step_id: StepId, event: Event) -> tuple[TaskState, Step]:
        state, step = self._steps.get(step_id, (None, None))
        if state is None or step is None or not isinstance(event, ACCEPTS.get(step.status, ())):
            found = "is unknown" if step is None else f"is {step.status}"
            message = f"step {step_id!r} {found} and cannot take {type(event).__name__}"
            raise HistoryMismatchError(message)
        return state, step

    def _fire_deadlines(self) -> None:
        while self._sleeping and self._sleeping[0][0] <= self._now and not self._stop:
            _, _, step_id = heapq.heappop(self._sleeping)
            state, step = self._steps[step_id]
            self._wake(state, step)
        if self._grace_ends is not None and self._grace_ends <= self._now:
            self._end()
        elif self._ends_at is not None and self._ends_at <= self._now:
            length = format_duration(self.limits.max_duration)
            message = f"the run took longer than max_duration ({length})"
            self._stop_with("Failed", Failure(code="max_duration_exceeded", message=message))
            self._start_grace()

    def _wake(self, state: TaskState, step: Step) -> None:
        until = step.until or self._now
        self._close(state, step, Status.COMPLETED, {"waited_until": format_instant(until)})

    # -- what can run now ---------------------------------------------------------------------

    def _advance(self) -> Iterable[Command]:
        while self._stop is None and self.outcome is None:
            if self._to_open:
                self._open(self._to_open.popleft())
            elif (found := self._next_ready()) is not None:
                command = self._start(*found)
                if command is not None:
                    yield command
            else:
                return

    def _next_ready(self) -> tuple[TaskState, Step] | None:
        while self._ready and len(self._running) < self.limits.max_parallelism:
            state = self.tasks[self._ready[0][1]]
            if state.queue and state.has_room:
                return state, state.queue.popleft()
            heapq.heappop(self._ready)
            state.queued = False
        return None

    def _enqueue(self, state: TaskState) -> None:
        if state.queue and state.has_room and not state.queued:
            state.queued = True
            heapq.heappush(self._ready, (state.priority, state.id))

    def _start(self, state: TaskState, step: Step) -> Command | None:
        scope = self._scope.of(step)
        command: Command
        try:
            match state.task:
                case ToolTask(tool=tool, args=args):
                    command = CallTool(step.id, step.attempts + 1, tool, render(args, scope))
                    self.usage.tool_calls += 1
                case AgentTask(agent=agent, task=task):
                    if not self._may_run_agent(state):
                        return None
                    text = progress.as_text(render(task, scope))
                    command = RunAgent(step.id, step.attempts + 1, agent, text)
                    self.usage.agent_runs += 1
                case WaitTask():
                    message = f"wait {state.id!r} cannot hold a slot"
                    raise HistoryMismatchError(message)
        except TemplateError as error:
            self._fail(state, step, Failure(code=error.code, message=str(error)))
            return None
        step.attempts += 1
        step.started_at = step.started_at or self._now
        self._move(step, Status.RUNNING)
        state.status = Status.RUNNING
        state.running += 1
        self._running[step.id] = step
        return command

    def _may_run_agent(self, state: TaskState) -> bool:
        limit = self.limits.max_agent_runs
        if self.usage.agent_runs < limit:
            return True
        message = f"the run may run sub-agents {limit} times (max_agent_runs)"
        self._stop_with(
            "Failed", Failure(code="agent_runs_exhausted", message=message, task=state.id)
        )
        return False

    # -- a task whose dependencies are done ------------------------------------------------------

    def _open(self, state: TaskState) -> None:
        task = state.task
        try:
            reason = self._skip_reason(state)
            if reason is not None:
                state.skip_reason = reason
                self._add_steps(state, [Step(task.id, status=Status.SKIPPED)])
            elif isinstance(task, WaitTask):
                self._sleep(state, task)
            elif task.for_each is not None:
                self._add_steps(state, self._items(state, render(task.for_each, self._scope)))
            else:
                self._add_steps(state, [Step(task.id)])
        except TemplateError as error:
            step = Step(task.id)
            self._add_steps(state, [step])
            self._fail(state, step, Failure(code=error.code, message=str(error)), whole=True)

    def _skip_reason(self, state: TaskState) -> str | None:
        when = state.task.when
        if when is not None:
            if when.is_per_item:
                return None
            return None if _holds(when, self._scope) else "condition"
        heads = [
            path.head
            for expression in data_expressions(state.task)
            for path in expression.paths
            if path.head in self.tasks and path.segments[:1] not in {("status",), ("error",)}
        ]
        all_skipped = all(self.tasks[head].status is Status.SKIPPED for head in heads)
        return "upstream_skipped" if heads and all_skipped else None

    def _items(self, state: TaskState, items: Json) -> list[Step]:
        if not isinstance(items, list):
            raise TemplateError("for_each_not_a_list", _not_a_list(state, items))
        if len(items) > self.limits.max_items:
            message = f"for_each has {len(items)} items; max_items is {self.limits.max_items}"
            raise TemplateError("too_many_items", message)
        steps = [Step(f"{state.id}[{n}]", index=n, item=item) for n, item in enumerate(items)]
        when = state.task.when
        if when is not None and when.is_per_item:
            for step in steps:
                if not _holds(when, self._scope.of(step)):
                    step.status = Status.SKIPPED
        return steps

    def _add_steps(self, state: TaskState, steps: list[Step]) -> None:
        state.steps = steps
        self.counts.expand([step.status for step in steps])
        open_steps = [step for step in steps if step.status is Status.PENDING]
        state.unfinished = len(open_steps)
        self._steps |= {step.id: (state, step) for step in open_steps}
        state.queue.extend(open_steps if not isinstance(state.task, WaitTask) else ())
        self._enqueue(state)
        if not open_steps:
            self._finish_task(state)

    def _sleep(self, state: TaskState, task: WaitTask) -> None:
        until = self._now + task.duration if task.duration else self._until(task)
        if until - self._now > self.limits.max_wait:
            longest = format_duration(self.limits.max_wait)
            message = f"the wait until {format_instant(until)} is longer than max_wait ({longest})"
            raise TemplateError("wait_too_long", message)
        step = Step(task.id, until=until, started_at=self._now)
        self._add_steps(state, [step])
        self._move(step, Status.WAITING)
        state.status = Status.WAITING
        if until <= self._now:
            self._wake(state, step)
        else:
            heapq.heappush(self._sleeping, (until, state.priority[1], step.id))

    def _until(self, task: WaitTask) -> datetime:
        text = render(task.until, self._scope) if task.until is not None else None
        until = parse_instant(text) if isinstance(text, str) else None
        if until is None:
            message = "'until' must become an RFC 3339 instant such as 2026-01-31T09:00:00Z"
            raise TemplateError("invalid_time", message)
        return until

    # -- how a step and a task end -------------------------------------------------------------

    def _fail(
        self, state: TaskState, step: Step, failure: Failure, *, whole: bool = False
    ) -> None:
        failure = Failure(
            code=failure.code,
            message=failure.message,
            task=step.id,
            correlation_id=failure.correlation_id,
        )
        step.failure = failure
        if state.task.on_error == "fail" or whole or not state.iterates:
            state.failure = state.failure or failure
        self.counts.failures += 1
        if state.task.on_error == "fail":
            self._stop_with("Failed", failure)
        self._close(state, step, Status.FAILED, None)

    def _close(self, state: TaskState, step: Step, status: Status, result: Json) -> None:
        if self._running.pop(step.id, None) is not None:
            state.running -= 1
        step.result = result
        step.ended_at = self._now
        self._move(step, status)
        state.unfinished -= 1
        if state.unfinished == 0:
            self._finish_task(state)
        else:
            self._enqueue(state)

    def _finish_task(self, state: TaskState) -> None:
        if state.failure is not None:
            state.status = Status.FAILED
        elif state.skip_reason is not None:
            state.status = Status.SKIPPED
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
                self._leave(state)
        self._sleeping.clear()
        if self._stop is not None:
            status, failure = self._stop
            self.outcome = Outcome(status=status, output=self._kept(), error=failure)
            return
        status = "CompletedWithErrors" if self.counts.failures else "Completed"
        try:
            self.outcome = Outcome(status=status, output=self._output())
        except TemplateError as error:
            failure = Failure(code="output_failed", message=str(error))
            self.outcome = Outcome(status="Failed", output=self._kept(), error=failure)

    def _leave(self, state: TaskState) -> None:
        """Record what never ran, and what was still running, of a task that did not end."""
        for step in state.steps:
            if step.status not in FINAL:
                is_running = step.status is Status.RUNNING
                self._move(step, Status.OUTCOME_UNKNOWN if is_running else Status.NOT_RUN)
        left = {step.status for step in state.steps}
        if state.failure is not None:
            state.status = Status.FAILED
        elif Status.OUTCOME_UNKNOWN in left:
            state.status = Status.OUTCOME_UNKNOWN
        else:
            state.status = Status.NOT_RUN

    def _output(self) -> Json:
        if self.plan.output is not None:
            return render(self.plan.output, self._scope)  # type: ignore[no-any-return]
        return {s.id: s.result() for s in self.tasks.values() if not s.dependents}

    def _kept(self) -> Json:
        any_completed = {
            state.id: state.kept()
            for state in self.tasks.values()
            if any(step.status is Status.COMPLETED for step in state.steps)
        }
        return any_completed or None


def _prepare(plan: Plan) -> dict[str, TaskState]:
    ids = frozenset(task.id for task in plan.tasks)
    waits_for = {task.id: dependencies(task, ids) for task in plan.tasks}
    order = topological_order(waits_for)
    longest = longest_paths(order, waits_for)
    states = {
        task.id: TaskState(task, (-longest[task.id], place), len(waits_for[task.id]))
        for place, task in enumerate(plan.tasks)
    }
    for name, near in waits_for.items():
        for other in near:
            states[other].dependents.append(states[name])
    return states


def _holds(when: Condition, scope: RunScope) -> bool:
    value = when.expression.evaluate(scope, strict=False)
    if when.operator != "is_true":
        return _same(value, when.value) is (when.operator == "equals")
    if value is None or isinstance(value, bool):
        return bool(value)
    message = f"'when' must give true or false; {when.expression.source!r} gave {type_name(value)}"
    raise TemplateError("condition_not_boolean", message)


def _same(left: object, right: object) -> bool:
    """Compare scalars without coercion: 1 equals 1.0, and true does not equal 1."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    return left == right


def _not_a_list(state: TaskState, items: Json) -> str:
    each = getattr(state.task, "for_each", None)
    source = f"${{{each.expression.source}}}" if isinstance(each, Whole) else "for_each"
    hint = ""
    if isinstance(items, str) and items.lstrip()[:1] in {"[", "{"}:
        hint = " that holds JSON; let the tool return the array itself"
    return f"{source} must be an array, and is {type_name(items)}{hint}"
