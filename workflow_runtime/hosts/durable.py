"""
Durable Task: the orchestrator is a loop around :class:`~workflow_runtime.engine.Run`.

One orchestrator, one activity per kind of work, one external event (``inbox``), one timer. It is
written against durabletask's own ``OrchestrationContext``, which Azure Functions, the Durable Task
Scheduler and the local hub all speak. What crosses it is one JSON string each time, since the
Functions codec gives some objects a meaning of their own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator
from datetime import UTC, datetime, timedelta
from typing import Any

from durabletask import task

from ..engine import CallTool, Command, Event, Outcome, Started
from ..execution import MAX_RESULT_BYTES
from ..plan.encoding import dumps, loads
from ..plan.types import Json
from ..service import (
    INBOX,
    RunInput,
    Summary,
    attempt_ended,
    attempt_lost,
    inbox_event,
    read_run_input,
)

TOOL_ACTIVITY = "workflow_tool"
AGENT_ACTIVITY = "workflow_agent"
TELL_ACTIVITY = "workflow_tell"

# Keys of the mailbox beside the steps, whose ids never begin so.
_TIMER = "$timer"
_MESSAGES = "$inbox"
# Not the engine's business: what is done once a run has ended is no step of its plan.
_TELL_AGAIN = task.RetryPolicy(
    first_retry_interval=timedelta(seconds=5), backoff_coefficient=4, max_number_of_attempts=5
)
_TELL_PAUSES = [timedelta(seconds=seconds) for seconds in (2, 4, 8, 16, *[30] * 400)]

type Steps = Generator[task.Task[Any], Any, str]


def orchestrate(context: task.OrchestrationContext, payload: str) -> Steps:
    """Run the plan in *payload* (a :class:`~workflow_runtime.service.RunInput` as text).

    Returns the outcome as a JSON object in a string: ``{"status", "output", "error"}``.
    """
    started = read_run_input(payload)
    run = started.new_run()
    mailbox = _Mailbox()
    timer = _Timer(context, mailbox)
    _await_inbox(context, mailbox)
    commands = run.handle([Started()], _now(context))
    while True:
        for command in commands:
            mailbox.watch(command.step, _call(context, started, command))
        timer.set(run.deadline)
        # In a replay too: a turn that brings nothing for us (a timer that was given up) would clear
        # it otherwise.
        context.set_custom_status(Summary.of(run).to_text())
        if run.outcome is not None:
            break
        yield mailbox.wait()
        events, now = _collect(context, mailbox, timer)
        commands = run.handle(events, now)
    if started.tells:
        yield from _tell(context, started)
    return _ending(run.outcome)


def _ending(outcome: Outcome) -> str:
    """Write the outcome; an output that no payload holds is left out, as the history has it all."""
    error = None if outcome.error is None else outcome.error.to_json()
    ending: dict[str, Json] = {"status": outcome.status, "output": outcome.output, "error": error}
    text = dumps(ending)
    if len(text.encode()) > MAX_RESULT_BYTES:
        return dumps({**ending, "output": None})
    return text


def _now(context: task.OrchestrationContext) -> datetime:
    return context.current_utc_datetime.replace(tzinfo=UTC)


def _call(
    context: task.OrchestrationContext, started: RunInput, command: Command
) -> task.Task[Any]:
    name = TOOL_ACTIVITY if isinstance(command, CallTool) else AGENT_ACTIVITY
    if context.is_replaying:  # it was called: of a replayed call only the name is compared
        return context.call_activity(name, input="")
    attempt: dict[str, Json] = {
        "workflow_id": context.instance_id,
        "task_id": command.step,
        "attempt": command.attempt,
        "idempotency_key": f"wf-{command.key}",
        "timeout": command.timeout,
    }
    if isinstance(command, CallTool):
        attempt |= {"kind": "tool", "target": command.tool, "payload": command.args}
    else:
        attempt |= {"kind": "sub_agent", "target": command.agent, "payload": command.task}
        attempt |= {"context": started.plan.context, "decision": command.decision}
    text = dumps({"skill": started.owner.skill, "attempt": attempt})
    return context.call_activity(name, input=text)


def _await_inbox(context: task.OrchestrationContext, mailbox: _Mailbox) -> None:
    mailbox.watch(_MESSAGES, context.wait_for_external_event(INBOX))


def _collect(
    context: task.OrchestrationContext, mailbox: _Mailbox, timer: _Timer
) -> tuple[list[Event], datetime]:
    """Turn what has arrived into events; a timer that fired may be ahead of this clock."""
    events: list[Event] = []
    now = _now(context)
    for key, done in mailbox.take():
        if key == _TIMER:
            now = max(now, timer.fired())
        elif key == _MESSAGES:
            _await_inbox(context, mailbox)
            event = inbox_event(str(done.get_result()))
            events += [event] if event is not None else []
        elif done.is_failed:
            events.append(attempt_lost(key))
        else:
            events.append(attempt_ended(key, str(done.get_result())))
    return events, now


def _tell(context: task.OrchestrationContext, started: RunInput) -> Steps:
    """Tell the session that the run has ended; a failure to do so is not the run's.

    A session that cannot be written now (a share that is away) is tried again for seven minutes,
    one that has a long turn going on for some hours.
    """
    owner: Json = dict(started.owner.to_json())
    payload = dumps({"workflow_id": context.instance_id, "owner": owner})
    for pause in _TELL_PAUSES:
        try:
            told: str = yield context.call_activity(
                TELL_ACTIVITY, input=payload, retry_policy=_TELL_AGAIN
            )
        except task.TaskFailedError:
            return ""
        if loads(told)["told"]:
            return ""
        yield context.create_timer(pause)
    return ""


class _Timer:
    """The one durable timer: at the earliest deadline, or before it."""

    def __init__(self, context: task.OrchestrationContext, mailbox: _Mailbox) -> None:
        self._context = context
        self._mailbox = mailbox
        self._open: tuple[datetime, task.TimerTask] | None = None

    def set(self, deadline: datetime | None) -> None:
        """Have it fire at *deadline* at the latest, or not at all."""
        if self._open is not None:
            if deadline is not None and self._open[0] <= deadline:
                return  # it fires early, and is set again then
            self._mailbox.forget(_TIMER)
            self._open[1].cancel()
            self._open = None
        if deadline is not None:
            naive = deadline.astimezone(UTC).replace(tzinfo=None)
            self._open = (deadline, self._context.create_timer(naive))
            self._mailbox.watch(_TIMER, self._open[1])

    def fired(self) -> datetime:
        """Take note that it has fired; return when it was to."""
        deadline = self._open[0] if self._open is not None else datetime.min.replace(tzinfo=UTC)
        self._open = None
        return deadline


class _Mailbox:
    """What has completed and was not looked at yet, over all that is pending.

    Unlike ``when_any`` over everything, a turn costs what has arrived and not what is awaited.
    """

    def __init__(self) -> None:
        self._arrived: deque[tuple[str, task.Task[Any]]] = deque()
        self._watched: dict[str, _Watch] = {}
        self._waiting: task.CompletableTask[None] | None = None

    def watch(self, key: str, pending: task.Task[Any]) -> None:
        """Have *pending* arrive under *key*."""
        self._watched[key] = _Watch(self, key, pending)

    def forget(self, key: str) -> None:
        """Let what is awaited under *key* arrive nowhere."""
        watched = self._watched.pop(key, None)
        if watched is not None:
            watched.key = None

    def wait(self) -> task.Task[None]:
        """Return a task that completes when something has arrived."""
        self._waiting = task.CompletableTask()
        if self._arrived:
            self._waiting.complete(None)
        return self._waiting

    def put(self, key: str, done: task.Task[Any]) -> None:
        """Take what has completed."""
        self._watched.pop(key, None)
        self._arrived.append((key, done))
        if self._waiting is not None and not self._waiting.is_complete:
            self._waiting.complete(None)

    def take(self) -> list[tuple[str, task.Task[Any]]]:
        """Return everything that has arrived, in order."""
        arrived = list(self._arrived)
        self._arrived.clear()
        return arrived


class _Watch(task.CompositeTask[None]):
    """Puts one task into the mailbox when it completes."""

    def __init__(self, mailbox: _Mailbox, key: str, pending: task.Task[Any]) -> None:
        self.key: str | None = key
        self._mailbox = mailbox
        super().__init__([pending])

    def on_child_completed(self, task: task.Task[Any]) -> None:
        """See :class:`durabletask.task.CompositeTask`."""
        self._is_complete = True
        if self.key is not None:
            self._mailbox.put(self.key, task)
