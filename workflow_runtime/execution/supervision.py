"""
Waits for a tool or an agent, and stops waiting when its time is over or its run is canceled.

What runs on the loop is cancelled, and is given a moment to come to its end. What runs in a thread
cannot be stopped: before it has begun it never does; afterwards a cancel only raises its flag, and
when its time is over nobody knows what it still does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from .pool import Ended, Job, ToolPool
from .signals import Signal

GRACE = 5.0
"""Seconds that a coroutine has for its end after it was cancelled."""


class TimeOverError(Exception):
    """The time of the attempt is over, and nothing of it goes on."""


class NoThreadError(Exception):
    """The time of the attempt was over before a thread was free: the tool was not called."""


class StillRunningError(Exception):
    """The time of the attempt is over, and what it called may go on."""


class RunCanceledError(Exception):
    """The attempt was stopped, or never begun, because its run is being canceled."""


class _Stop(Enum):
    ENDED = auto()
    TIME_OVER = auto()
    CANCELED = auto()


@dataclass(slots=True, kw_only=True, eq=False)
class Watch:
    """What one attempt is waited for with; belongs to one loop.

    ``on_late`` gets the end of what was given up while it still ran.
    """

    timeout: float | None
    signal: Signal
    on_late: Callable[[Ended[Any]], None]
    _deadline: float | None = field(init=False)
    _canceled: asyncio.Future[None] = field(init=False)

    def __post_init__(self) -> None:
        loop = asyncio.get_running_loop()
        self._deadline = None if self.timeout is None else loop.time() + self.timeout
        self._canceled = canceled = loop.create_future()

        def wake() -> None:
            if not canceled.done():
                canceled.set_result(None)

        def wake_from_anywhere() -> None:
            with suppress(RuntimeError):  # the loop is closed, and with it the attempt
                loop.call_soon_threadsafe(wake)

        self.signal.on_set(wake_from_anywhere)

    async def on_loop[T](self, begin: Callable[[], Awaitable[T]], *, is_marked: bool = False) -> T:
        """Await what *begin* gives; raises what it raises, or one of this module's errors.

        *is_marked*: it stands written that this is called, so it is begun before it may be stopped.
        """
        if self.signal.is_set() and not is_marked:
            raise RunCanceledError
        work = asyncio.create_task(_ended(begin))
        try:
            if is_marked:
                await asyncio.sleep(0)  # a task that is cancelled before its first step has none
            stop = await self._first(work)
        except asyncio.CancelledError:
            await _stopped(work)
            raise
        if stop is _Stop.ENDED:
            return work.result().result()
        if not await _stopped(work):
            self.signal.set()
            work.add_done_callback(self._late)
            raise StillRunningError(self._time())
        error = None if work.cancelled() else work.result().error
        if not work.cancelled() and error is None:
            return work.result().result()  # it came to an end of its own after all
        raise (
            RunCanceledError() if stop is _Stop.CANCELED else TimeOverError(self._time())
        ) from error

    async def in_thread[T](self, pool: ToolPool, call: Callable[[], T]) -> T:
        """Run *call* in the pool; raises what it raises, or one of this module's errors."""
        if self.signal.is_set():
            raise RunCanceledError
        job = pool.submit(call)
        work = _arrival(job.future)
        try:
            stop = await self._first(work)
            if stop is _Stop.CANCELED:
                if job.future.cancel():
                    raise RunCanceledError
                stop = await self._first(work, heeds_cancel=False)
        except asyncio.CancelledError:
            if not job.future.cancel():
                self._give_up(pool, job)
            raise
        if stop is _Stop.TIME_OVER:
            if job.future.cancel():
                raise NoThreadError(self._time())
            if self._give_up(pool, job):
                raise StillRunningError(self._time())
        return job.future.result().result()

    def _time(self) -> str:
        return f"{self.timeout or 0:g} s"

    def _give_up(self, pool: ToolPool, job: Job[Any]) -> bool:
        self.signal.set()
        return pool.abandon(job, self.on_late)

    def _late(self, work: asyncio.Task[Ended[Any]]) -> None:
        ended = Ended[Any](error=asyncio.CancelledError()) if work.cancelled() else work.result()
        self.on_late(ended)

    async def _first(self, work: asyncio.Future[Any], *, heeds_cancel: bool = True) -> _Stop:
        loop = asyncio.get_running_loop()
        left = None if self._deadline is None else max(0.0, self._deadline - loop.time())
        awaited = {work, self._canceled} if heeds_cancel else {work}
        done, _ = await asyncio.wait(awaited, timeout=left, return_when=asyncio.FIRST_COMPLETED)
        if work in done:
            return _Stop.ENDED
        return _Stop.CANCELED if done else _Stop.TIME_OVER


async def _ended[T](begin: Callable[[], Awaitable[T]]) -> Ended[T]:
    """Keep what is raised: SystemExit out of a task would end the loop."""
    try:
        return Ended(value=await begin())
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        return Ended(error=error)  # the tool's own, or of something that it awaited
    except BaseException as error:  # noqa: BLE001 - kept
        return Ended(error=error)


def _arrival(future: Future[Any]) -> asyncio.Future[None]:
    """Return what is done when the thread has ended; cancelling it does not touch the call."""
    loop = asyncio.get_running_loop()
    arrived: asyncio.Future[None] = loop.create_future()

    def wake() -> None:
        if not arrived.done():
            arrived.set_result(None)

    def wake_from_its_thread(_: object) -> None:
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(wake)

    future.add_done_callback(wake_from_its_thread)
    return arrived


async def _stopped(work: asyncio.Task[Any]) -> bool:
    """Cancel *work* and give it a moment; tell whether it has ended."""
    work.cancel()
    done, _ = await asyncio.wait({work}, timeout=GRACE)
    return bool(done)
