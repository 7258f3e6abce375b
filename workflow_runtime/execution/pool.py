"""
The threads that sync tools run in.

Own threads, because the event loop's default pool has six threads on two cores and is shared with
the hosts' own work: a few slow tools would hold up everything.

Nothing can stop a thread. A call whose caller has given it up keeps its thread to its end, so the
pool puts another thread in its place, up to as many as it was made with: hung tools neither take
the pool's strength away nor grow it without bound. The threads are daemons: a hung tool does not
keep the process alive either.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from itertools import count
from typing import Any, cast

from ..logs import get_logger

_LOG = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Ended[T]:
    """How a call ended: with a value or with whatever it raised, SystemExit too."""

    value: T | None = None
    error: BaseException | None = None

    def result(self) -> T:
        """Return the value, or raise what was raised."""
        if self.error is not None:
            raise self.error
        return cast("T", self.value)


@dataclass(slots=True, kw_only=True, eq=False)
class Job[T]:
    """One call in the pool; ``future`` can be cancelled as long as the call has not begun."""

    call: Callable[[], T]
    context: Context
    future: Future[Ended[T]] = field(default_factory=Future)
    abandoned: bool = False

    def run(self) -> None:
        """Make the call and say how it ended."""
        try:
            ended = Ended(value=self.context.run(self.call))
        except BaseException as error:  # noqa: BLE001 - a tool may raise anything, and it is kept
            ended = Ended(error=error)
        self.future.set_result(ended)


class ToolPool:
    """A bounded pool; at most *threads* sync tools that somebody waits for run at once."""

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._changed = threading.Condition()
        self._queue: deque[Job[Any]] = deque()
        self._alive = self._idle = self._abandoned = 0
        self._numbers = count(1)
        self._closed = False

    @property
    def abandoned(self) -> int:
        """How many calls still run although nobody waits for them any more."""
        return self._abandoned

    def submit[T](self, call: Callable[[], T]) -> Job[T]:
        """Have *call* run in a thread that sees the caller's context variables.

        Raises RuntimeError when the pool is closed.
        """
        job = Job(call=call, context=copy_context())
        with self._changed:
            if self._closed:
                raise RuntimeError("the pool of tool threads is closed")
            self._queue.append(job)
            try:
                self._staff()
            except RuntimeError:  # the process can have no more threads
                self._queue.remove(job)
                raise
        return job

    def abandon[T](self, job: Job[T], on_end: Callable[[Ended[T]], None]) -> bool:
        """Give a call up that has begun; *on_end* gets its end, in its thread.

        False when it has ended meanwhile: then its future has the end.
        """
        with self._changed:
            if job.future.done():
                return False
            job.abandoned = True
            self._abandoned += 1
            abandoned = self._abandoned
            self._staff()
        job.future.add_done_callback(lambda future: on_end(future.result()))
        left = max(0, self._threads - abandoned)
        _LOG.log(
            logging.WARNING if left else logging.ERROR,
            "a call was given up and keeps its thread; there are %d such, and %d of %d"
            " replacements are left",
            abandoned,
            left,
            self._threads,
        )
        return True

    def close(self) -> None:
        """Take no more calls and drop the queued ones; returns without waiting."""
        with self._changed:
            self._closed = True
            dropped = list(self._queue)
            self._queue.clear()
            self._changed.notify_all()
        for job in dropped:
            job.future.cancel()

    def _wanted(self) -> int:
        return self._threads + min(self._abandoned, self._threads)

    def _staff(self) -> None:
        """Wake a thread for what is queued, or start one; the caller holds the lock."""
        if not self._queue:
            return
        if self._idle:
            self._idle -= 1  # here and not by the one that wakes: it is spoken for from now on
            self._changed.notify()
        elif self._alive < self._wanted():
            name = f"workflow-tool-{next(self._numbers)}"
            threading.Thread(target=self._work, name=name, daemon=True).start()
            self._alive += 1

    def _work(self) -> None:
        while self._serve():
            pass

    def _serve(self) -> bool:
        """Run the next job; False when this thread is one too many."""
        job = self._next()
        if job is None:
            return False
        if job.future.set_running_or_notify_cancel():
            job.run()
        with self._changed:
            self._abandoned -= job.abandoned
        return True

    def _next(self) -> Job[Any] | None:
        with self._changed:
            while not self._queue and not self._closed and self._alive <= self._wanted():
                self._idle += 1
                self._changed.wait()
            if self._closed or self._alive > self._wanted():
                self._alive -= 1
                self._staff()
                return None
            return self._queue.popleft()
