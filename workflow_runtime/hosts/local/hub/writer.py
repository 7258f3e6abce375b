"""
The one writer: a thread that owns the write connection and commits in groups.

Callers hand in transitions; the thread takes all that wait, applies them in one SQLite
transaction and answers every caller after the commit, never before. While one commit is on its
way to the disk the next group gathers, so a busy hub pays for few commits and an idle one for
one.

A transition is a function of the tables and its arguments and may be applied again: if one of a
group fails, the group is rolled back and each member is applied alone, so a failure is its own
caller's and nobody else's.
"""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workflow_runtime.errors import HubUnavailableError

from .schema import fault
from .transaction import Effects, Sequences, Transaction

type Transition[T] = Callable[[Transaction], T]

_MAX_GROUP = 256


@dataclass(slots=True, eq=False)
class _Job:
    """A transition, its caller, and what the loop does with its outcome before anybody hears."""

    transition: Transition[Any]
    future: asyncio.Future[Any]
    then: Callable[[Any], None] | None
    otherwise: Callable[[], None] | None
    result: Any = None
    error: BaseException | None = None

    def settle(self) -> None:
        if self.error is None and self.then is not None:
            self.then(self.result)
        elif self.error is not None and self.otherwise is not None:
            self.otherwise()

    def answer(self) -> None:
        if self.future.cancelled():
            return
        if self.error is None:
            self.future.set_result(self.result)
        else:
            self.future.set_exception(self.error)


class Writer:
    """Applies transitions, in the order in which they were handed in."""

    def __init__(
        self, connection: sqlite3.Connection, path: Path, on_commit: Callable[[Effects], None]
    ) -> None:
        self._connection = connection
        self._path = path
        self._on_commit = on_commit
        self._sequences = Sequences.of(connection)
        self._queued: set[int] = set()
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._loop = asyncio.get_running_loop()
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="hub-writer", daemon=True)
        self._thread.start()

    def apply[T](
        self,
        transition: Transition[T],
        *,
        then: Callable[[T], None] | None = None,
        otherwise: Callable[[], None] | None = None,
    ) -> asyncio.Future[T]:
        """Commit a transition; the future brings its result.

        The future raises what the transition refuses with, or DataDirectoryError if the file
        fails. ``then`` (with the result) or ``otherwise`` runs first, on the loop, also when the
        caller has gone away: a transition that is on its way is not taken back.
        """
        if self._closed:
            raise HubUnavailableError("the local task hub is closed")
        future: asyncio.Future[T] = self._loop.create_future()
        self._jobs.put(_Job(transition, future, then, otherwise))
        return future

    async def close(self) -> None:
        """Commit what was handed in, then close the file; its log is folded into it."""
        if not self._closed:
            self._closed = True
            self._jobs.put(None)
            await asyncio.to_thread(self._thread.join)

    def _work(self) -> None:
        try:
            while (group := self._gather()) is not None:
                self._commit(group)
        finally:
            self._connection.close()

    def _gather(self) -> list[_Job] | None:
        """Wait for a job, and take those that wait behind it; None at the end."""
        first = self._jobs.get()
        if first is None:
            return None
        group = [first]
        while len(group) < _MAX_GROUP:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                break
            if job is None:
                self._jobs.put(None)
                break
            group.append(job)
        return group

    def _commit(self, group: list[_Job]) -> None:
        try:
            effects = self._apply(group)
        except BaseException as error:  # noqa: BLE001 - it belongs to the caller, who gets it
            if len(group) > 1:
                for job in group:
                    self._commit([job])
                return
            group[0].error = fault(self._path, error) if isinstance(error, sqlite3.Error) else error
            effects = Effects()
        self._tell(group, effects)

    def _apply(self, group: list[_Job]) -> Effects:
        effects = Effects()
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            for job in group:
                transaction = Transaction(self._connection, self._sequences, self._queued)
                job.result = job.transition(transaction)
                effects.merge(transaction.effects)
            self._connection.execute("COMMIT")
        except BaseException:
            self._queued.clear()
            # SQLite may have rolled back by itself, as it does when the disk is full.
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise
        return effects

    def _tell(self, group: list[_Job], effects: Effects) -> None:
        def tell() -> None:
            for job in group:
                job.settle()
            self._on_commit(effects)
            for job in group:
                job.answer()

        try:
            self._loop.call_soon_threadsafe(tell)
        except RuntimeError:
            # The loop is gone, and with it everybody who waited. What was committed stays.
            return
