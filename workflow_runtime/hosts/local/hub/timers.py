"""
The one timer scheduler: it sleeps until the earliest row is due, and fires what is due.

Timers that came due while the process was down fire at once, because they are the earliest. The
wall clock decides; a long sleep is cut into pieces, so that a laptop that slept, or a clock that
was set, delays nothing by more than one piece.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

from workflow_runtime.errors import DataDirectoryError

from ....logs import get_logger
from . import events
from .clock import SECOND, Clock, Micros
from .schema import START_TIMER
from .transaction import Effects, Transaction
from .writer import Writer

_BATCH = 200
_LONGEST_SLEEP = 15.0
_RETRY_AFTER: Micros = SECOND
_log = get_logger(__name__)


class TimerScheduler:
    """Fires timers for as long as ``run`` runs."""

    def __init__(self, writer: Writer, clock: Clock) -> None:
        self._writer = writer
        self._clock = clock
        self._next: Micros | None = 0
        self._wake = asyncio.Event()

    def heard(self, effects: Effects) -> None:
        """A commit may have brought an earlier timer."""
        due = effects.next_timer
        if due is not None and (self._next is None or due < self._next):
            self._next = due
            self._wake.set()

    async def run(self) -> None:
        """Sleep and fire, until cancelled."""
        while True:
            if self._next is not None and self._next <= self._clock():
                # Set before the commit: a timer added meanwhile lowers it through ``heard``.
                self._next = None
                await self._fire()
                continue
            self._wake.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(self._sleep()):
                    await self._wake.wait()

    async def _fire(self) -> None:
        now = self._clock()
        try:
            following = await self._writer.apply(lambda tx: fire_timers(tx, now, _BATCH))
        except DataDirectoryError as error:
            _log.warning("timers could not be fired, trying again: %s", error)
            following = now + _RETRY_AFTER
            await asyncio.sleep(_RETRY_AFTER / SECOND)
        if following is not None and (self._next is None or following < self._next):
            self._next = following

    def _sleep(self) -> float:
        if self._next is None:
            return _LONGEST_SLEEP
        return min(max(0.0, (self._next - self._clock()) / SECOND), _LONGEST_SLEEP)


def fire_timers(tx: Transaction, now: Micros, limit: int) -> Micros | None:
    """Fire the timers that are due, at most ``limit``; returns when the next one is due."""
    due = tx.execute(
        "SELECT seq, key, generation, timer_id, fire_us FROM timers WHERE fire_us <= ?"
        " ORDER BY fire_us LIMIT ?",
        (now, limit),
    ).fetchall()
    for seq, key, generation, timer_id, fire_at in due:
        tx.execute("DELETE FROM timers WHERE seq = ?", (seq,))
        target = tx.instance_by_key(key)
        if target is None or not target.is_active or target.generation != generation:
            continue
        if timer_id != START_TIMER:
            tx.deliver(target, events.timer_fired(now, timer_id, fire_at), bound=True)
        if tx.has_mail(key):
            tx.make_ready(key)
    following = tx.execute("SELECT min(fire_us) FROM timers").fetchone()[0]
    return None if following is None else int(following)
