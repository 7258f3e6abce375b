"""What is waited for without a slot: a length of time, an instant, an event."""

from __future__ import annotations

from datetime import datetime

from ..errors import TemplateError
from ..plan.model import WaitTask
from ..plan.templates import render
from ..plan.times import format_duration, format_instant, parse_instant
from .book import Book
from .messages import EventArrived, Failure
from .outside import Inbox
from .reuse import Reuse
from .state import Status, Step, TaskState, Wait


class Waits:
    """Opens and ends the waits of one run."""

    def __init__(self, book: Book, inbox: Inbox, reuse: Reuse) -> None:
        self._book = book
        self._inbox = inbox
        self._reuse = reuse

    def open(self, state: TaskState, task: WaitTask) -> None:
        """Begin to wait; raises TemplateError."""
        step = Step(task.id, started_at=self._book.now)
        if task.event is not None:
            self._open_event(state, step, task)
        else:
            self._open_timer(state, step, task)

    def _open_timer(self, state: TaskState, step: Step, task: WaitTask) -> None:
        book, longest = self._book, self._book.limits.max_wait
        until = book.now + task.duration if task.duration else self._until(task)
        asked = format_duration(task.duration) if task.duration else format_instant(until)
        step.identity = ("wait", asked)
        if until - book.now > longest:
            limit = format_duration(longest)
            message = f"the wait until {format_instant(until)} is longer than max_wait ({limit})"
            raise TemplateError("wait_too_long", message)
        book.add_steps(state, [step])
        if self._reuse.closes(book, state, step):
            return
        book.wait(step, Wait.TIMER, until)
        if until <= book.now:
            self.time_is_up(state, step)

    def _until(self, task: WaitTask) -> datetime:
        text = render(task.until, self._book.scope) if task.until is not None else None
        until = parse_instant(text) if isinstance(text, str) else None
        if until is None:
            message = "'until' must become an RFC 3339 instant such as 2026-01-31T09:00:00Z"
            raise TemplateError("invalid_time", message)
        return until

    def _open_event(self, state: TaskState, step: Step, task: WaitTask) -> None:
        book, name = self._book, task.event or ""
        step.identity = ("event", name)
        book.add_steps(state, [step])
        if self._reuse.closes(book, state, step):
            return
        if self._inbox.wait(name, step):
            book.wait(step, Wait.EVENT, book.now + (task.timeout or book.limits.max_wait))
        else:
            book.close(state, step, Status.COMPLETED, self._inbox.early(name))

    def arrived(self, event: EventArrived) -> None:
        """End the wait that the event is for, or keep the event."""
        step = self._inbox.arrive(event.name, event.payload)
        if step is not None:
            self._book.close(self._book.tasks[step.id], step, Status.COMPLETED, event.payload)

    def time_is_up(self, state: TaskState, step: Step) -> None:
        """End a wait whose time has come, or whose event has not."""
        if step.waits_for is Wait.EVENT and isinstance(state.task, WaitTask):
            self._event_missed(state, step, state.task)
            return
        at = format_instant(step.until or self._book.now)
        self._book.close(state, step, Status.COMPLETED, {"waited_until": at})

    def _event_missed(self, state: TaskState, step: Step, task: WaitTask) -> None:
        self._inbox.give_up(task.event or "", step)
        if task.on_timeout == "continue":
            self._book.close(state, step, Status.COMPLETED, None)
            return
        length = format_duration(task.timeout or self._book.limits.max_wait)
        message = f"no event {task.event!r} came within {length}"
        self._book.fail(state, step, Failure(code="event_timed_out", message=message))
