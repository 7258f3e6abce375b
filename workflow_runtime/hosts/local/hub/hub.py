"""
The task hub: opens the file, wires the parts, and says what can be asked of it.

It runs on the event loop that opens it. Work is taken through ``work`` by a worker in this
process, or through the gRPC service by any other; both are the same sessions on the same queues.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Self

from durabletask.internal import orchestrator_service_pb2 as pb

from . import completing, ending, queries, retention, starting
from .clock import SECOND, Clock, system_clock
from .dispatch import Dispatcher
from .history_cache import HistoryCache
from .leases import Leases, Session, TaskWork, TurnWork
from .ownership import Ownership
from .retention import Retention
from .schema import DATABASE_FILE, Durability, open_reader, open_writer, sqlite_faults
from .service import GrpcServer
from .timers import TimerScheduler
from .transaction import Effects
from .turn import TERMINAL
from .waiters import Waiters
from .writer import Writer


@dataclass(frozen=True, slots=True, kw_only=True)
class HubOptions:
    """How a hub behaves; times in seconds unless they are timedeltas, sizes in bytes.

    ``lease_grace`` is how long a worker that lost its stream may still complete what it holds;
    ``ping_every`` how often an idle stream is told that the hub lives; ``max_message`` the largest
    gRPC message taken in; ``history_cache`` the memory for encoded histories of live instances.
    ``is_announced``: others may find the hub by its data directory, as somebody works there.
    """

    durability: Durability = Durability.FULL
    lease_grace: float = 30.0
    ping_every: float = 30.0
    retention: timedelta = timedelta(days=30)
    max_message: int = 64 * 1024 * 1024
    history_cache: int = 64 * 1024 * 1024
    is_announced: bool = True
    clock: Clock = system_clock


class SqliteTaskHub:
    """A Durable Task hub in one SQLite file. Made by ``open``; use ``async with`` or ``close``."""

    def __init__(self, directory: Path, options: HubOptions, ownership: Ownership) -> None:
        path = directory / DATABASE_FILE
        self.options = options
        self._path = path
        self._ownership = ownership
        self._clock = options.clock
        self._writer = Writer(open_writer(path, options.durability), path, self._committed)
        self._reader = open_reader(path)
        self._query_reader = open_reader(path)
        self._query_thread = ThreadPoolExecutor(1, thread_name_prefix="hub-reader")
        self._leases = Leases()
        self._cache = HistoryCache(self._reader, options.history_cache)
        self._dispatcher = Dispatcher(
            self._reader, self._leases, self._cache, self._clock, options.lease_grace
        )
        self._timers = TimerScheduler(self._writer, self._clock)
        self._waiters = Waiters()
        self._retention = Retention(self._writer, self._clock, options.retention)
        self._server: GrpcServer | None = None
        self._tasks = [
            asyncio.create_task(self._timers.run(), name="hub-timers"),
            asyncio.create_task(self._retention.run(), name="hub-retention"),
        ]

    @classmethod
    async def open(
        cls, directory: Path, *, port: int = 0, options: HubOptions | None = None
    ) -> Self:
        """Take the data directory and serve gRPC on 127.0.0.1 (port 0: any free one).

        Raises DataDirectoryError if the directory is held, damaged, read-only or full, and
        HubUnavailableError if the port is taken.
        """
        options = options or HubOptions()
        ownership = Ownership.take(
            directory, now=datetime.fromtimestamp(options.clock() / SECOND, UTC)
        )
        try:
            hub = cls(directory, options, ownership)
        except BaseException:
            ownership.release()
            raise
        try:
            hub._server = await GrpcServer.start(hub, port)
            if options.is_announced:
                ownership.announce(hub.address)
        except BaseException:
            await hub.close()
            raise
        return hub

    @property
    def address(self) -> str:
        """Where the gRPC service answers, ``127.0.0.1:port``."""
        assert self._server is not None
        return self._server.address

    async def close(self) -> None:
        """Stop handing out work, commit what was handed in, fold the log into the file.

        What is leased and not completed is handed out again after the next start.
        """
        self._dispatcher.close()
        self._waiters.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._server is not None:
            await self._server.stop()
        await asyncio.to_thread(self._query_thread.shutdown)
        self._query_reader.close()
        self._reader.close()
        await self._writer.close()
        self._ownership.release()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _committed(self, effects: Effects) -> None:
        for key in effects.stopped | effects.renewed:
            self._cache.forget(key)
        self._dispatcher.heard(effects)
        self._timers.heard(effects)
        self._waiters.heard(effects)

    # --- work ------------------------------------------------------------------------------------

    async def work(self, *, orchestrators: int, activities: int) -> AsyncGenerator[pb.WorkItem]:
        """Work items for a worker in this process, at most so many of each kind at a time.

        Close the generator (``aclosing``) to stop; what was taken may still be completed within
        the grace, and is given to others after it.
        """
        session = Session(turn_limit=orchestrators, task_limit=activities)
        async with aclosing(self.work_encoded(session, ping_every=None)) as items:
            async for item in items:
                yield pb.WorkItem.FromString(item)

    def work_encoded(self, session: Session, *, ping_every: float | None) -> AsyncGenerator[bytes]:
        """As ``work``, encoded, for a session of one's own."""
        return self._dispatcher.serve(session, ping_every=ping_every)

    async def complete_orchestrator(self, response: pb.OrchestratorResponse) -> None:
        """Commit a turn; returns after the commit. RefusedError if the lease has ended."""
        lease = self._leases.take(response.completionToken, is_turn=True)
        work = lease.work
        assert isinstance(work, TurnWork)
        now = self._clock()

        def committed(appended: tuple[bytes, ...] | None) -> None:
            if appended is not None:
                self._cache.append(lease.key, appended)
            self._leases.settle(lease)

        await self._writer.apply(
            lambda tx: completing.complete_turn(tx, now, work, response),
            then=committed,
            otherwise=lambda: self._leases.give_back(lease),
        )

    async def complete_activity(self, response: pb.ActivityResponse) -> None:
        """Commit an activity's result; returns after the commit. RefusedError as above."""
        lease = self._leases.take(response.completionToken, is_turn=False)
        work = lease.work
        assert isinstance(work, TaskWork)
        now = self._clock()
        await self._writer.apply(
            lambda tx: completing.complete_task(tx, now, work, response),
            then=lambda _: self._leases.settle(lease),
            otherwise=lambda: self._leases.give_back(lease),
        )

    async def abandon_orchestrator(self, token: str) -> None:
        """Give a turn back; it is handed out again at once."""
        self._leases.give_back(self._leases.take(token, is_turn=True))

    async def abandon_activity(self, token: str) -> None:
        """Give an activity back; it is handed out again at once."""
        self._leases.give_back(self._leases.take(token, is_turn=False))

    # --- instances -------------------------------------------------------------------------------

    async def start(self, request: pb.CreateInstanceRequest) -> str:
        """Start an instance and return its id; RefusedError if the id is taken."""
        now = self._clock()
        return await self._writer.apply(lambda tx: starting.start(tx, now, request))

    async def raise_event(self, instance_id: str, name: str, data: str | None) -> None:
        """Send an event; RefusedError if there is no such instance."""
        now = self._clock()
        await self._writer.apply(lambda tx: starting.raise_event(tx, now, instance_id, name, data))

    async def terminate(self, instance_id: str, reason: str | None, *, recurse: bool) -> None:
        """End an instance at once; RefusedError if there is none."""
        now = self._clock()
        await self._writer.apply(
            lambda tx: ending.terminate(tx, now, instance_id, reason=reason, recurse=recurse)
        )

    async def get(self, instance_id: str, *, payloads: bool) -> pb.OrchestrationState | None:
        """One instance, or None."""
        return await self.read(lambda reader: queries.one(reader, instance_id, payloads=payloads))

    async def wait(self, instance_id: str, *, for_end: bool) -> None:
        """Return when an instance has started, or ended, or is not there."""

        def reached() -> bool:
            status = queries.status(self._reader, instance_id)
            if status is None or status in TERMINAL:
                return True
            return not for_end and status != pb.ORCHESTRATION_STATUS_PENDING

        with sqlite_faults(self._path):
            await self._waiters.until(instance_id, reached)

    async def read[T](self, query: Callable[[sqlite3.Connection], T]) -> T:
        """Run a query beside the event loop."""

        def run() -> T:
            with sqlite_faults(self._path):
                return query(self._query_reader)

        return await asyncio.get_running_loop().run_in_executor(self._query_thread, run)

    async def purge(self, instance_ids: list[str], *, recursive: bool) -> int:
        """Delete the named instances that have ended; returns how many went."""
        return await self._writer.apply(
            lambda tx: retention.purge(tx, instance_ids, recursive=recursive)
        )

    async def purge_matching(
        self, criteria: queries.Criteria, *, recursive: bool, within: float | None
    ) -> tuple[int, bool]:
        """Delete what matches and has ended, batch by batch, for at most ``within`` seconds.

        Returns how many went, and whether all did.
        """
        total = 0
        until = None if within is None else self._clock() + int(within * SECOND)
        rest: queries.Criteria | None = criteria
        while rest is not None and (until is None or self._clock() < until):
            removed, rest = await self._writer.apply(
                partial(
                    retention.purge_matching,
                    criteria=rest,
                    batch=retention.BATCH,
                    recursive=recursive,
                )
            )
            total += removed
        return total, rest is None

    async def purge_older_than(self, cutoff: datetime, batch: int) -> int:
        """Delete one batch of runs that ended before ``cutoff``; returns how many went."""
        moment = int(cutoff.timestamp() * SECOND)
        return await self._writer.apply(lambda tx: retention.purge_older_than(tx, moment, batch))
