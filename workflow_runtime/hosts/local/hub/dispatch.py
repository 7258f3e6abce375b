"""
From rows to workers.

The tables ``ready`` and ``tasks`` are the queues; a session looks into them from its cursor on, as
far as it has free slots, and leases what it finds. Nothing is queued in memory but what a session
is about to send. Sessions sleep until a commit adds work or a slot becomes free.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import suppress

from durabletask.internal import orchestrator_service_pb2 as pb

from . import events, wire
from .clock import Clock
from .history_cache import HistoryCache
from .leases import Filter, Lease, Leases, Session, TaskWork, TurnWork
from .transaction import Effects

_PING = pb.WorkItem(healthPing=pb.HealthPing()).SerializeToString()
_MAX_EVENTS_PER_TURN = 5_000

_READY = (
    "SELECT r.seq, r.key, i.name, i.version FROM ready r JOIN instances i ON i.key = r.key"
    " WHERE r.seq > ? ORDER BY r.seq LIMIT ?"
)
_TURN = (
    "SELECT i.id, i.execution, i.generation, i.trace FROM ready r"
    " JOIN instances i ON i.key = r.key WHERE r.seq = ?"
)
_INBOX = "SELECT seq, event FROM inbox WHERE key = ? ORDER BY seq LIMIT ?"
_TASK = "SELECT generation, request FROM tasks WHERE seq = ?"
_TASKS = "SELECT seq, key, name, version FROM tasks WHERE seq > ? ORDER BY seq LIMIT ?"


class Dispatcher:
    """Hands work to sessions."""

    def __init__(
        self,
        reader: sqlite3.Connection,
        leases: Leases,
        cache: HistoryCache,
        clock: Clock,
        lease_grace: float,
    ) -> None:
        self._reader = reader
        self._leases = leases
        self._cache = cache
        self._clock = clock
        self._lease_grace = lease_grace
        self._closing = False

    async def serve(self, session: Session, *, ping_every: float | None) -> AsyncGenerator[bytes]:
        """Encoded work items, as long as the caller goes on; a ping when nothing else was sent."""
        self._leases.sessions.add(session)
        outbox: deque[Lease] = deque()
        try:
            while not self._closing:
                session.wake.clear()
                self._fill(session, outbox)
                while outbox and not self._closing:
                    item = self._build(outbox.popleft())
                    if item is not None:
                        yield item
                if session.wants_turns or session.wants_tasks:
                    continue
                if not await _woken(session.wake, ping_every):
                    yield _PING
        finally:
            self._leave(session, outbox)

    def heard(self, effects: Effects) -> None:
        """A commit may have added work."""
        if not (effects.ready or effects.tasks):
            return
        for session in self._leases.sessions:
            session.look_for_turns |= effects.ready
            session.look_for_tasks |= effects.tasks
            session.wake.set()

    def close(self) -> None:
        """Let every session end."""
        self._closing = True
        for session in self._leases.sessions:
            session.wake.set()

    def _leave(self, session: Session, outbox: deque[Lease]) -> None:
        self._leases.sessions.discard(session)
        for lease in outbox:
            self._leases.give_back(lease)
        if session.turns or session.tasks:
            loop = asyncio.get_running_loop()
            loop.call_later(self._lease_grace, self._leases.expire, session)

    def _fill(self, session: Session, outbox: deque[Lease]) -> None:
        """Lease what the queues hold and the session has slots for."""
        while session.wants_turns:
            limit = session.turn_limit - len(session.turns)
            rows = self._reader.execute(_READY, (session.turn_cursor, limit)).fetchall()
            session.look_for_turns = len(rows) == limit
            for seq, key, name, version in rows:
                session.turn_cursor = seq
                if not self._leases.holds_turn(key, seq) and _takes(
                    session.turn_filter, name, version
                ):
                    outbox.append(self._leases.grant(session, position=seq, key=key, is_turn=True))
        while session.wants_tasks:
            limit = session.task_limit - len(session.tasks)
            rows = self._reader.execute(_TASKS, (session.task_cursor, limit)).fetchall()
            session.look_for_tasks = len(rows) == limit
            for seq, key, name, version in rows:
                session.task_cursor = seq
                if not self._leases.holds_task(seq) and _takes(session.task_filter, name, version):
                    outbox.append(self._leases.grant(session, position=seq, key=key, is_turn=False))

    def _build(self, lease: Lease) -> bytes | None:
        """The work item of a lease; None if the work is gone, as after a termination."""
        item = self._build_turn(lease) if lease.is_turn else self._build_task(lease)
        if item is None:
            self._leases.settle(lease)
        return item

    def _build_task(self, lease: Lease) -> bytes | None:
        row = self._reader.execute(_TASK, (lease.position,)).fetchone()
        if row is None:
            return None
        generation, request = row
        lease.work = TaskWork(key=lease.key, generation=generation, seq=lease.position)
        return wire.activity_item(request, lease.token)

    def _build_turn(self, lease: Lease) -> bytes | None:
        row = self._reader.execute(_TURN, (lease.position,)).fetchone()
        inbox = self._reader.execute(_INBOX, (lease.key, _MAX_EVENTS_PER_TURN)).fetchall()
        if row is None or not inbox:
            return None
        instance_id, execution, generation, trace = row
        began = events.turn_started(self._clock()).SerializeToString()
        new = (began, *(event for _, event in inbox))
        lease.work = TurnWork(
            key=lease.key, generation=generation, new_events=new, inbox_upto=inbox[-1][0]
        )
        head = pb.OrchestratorRequest(instanceId=instance_id, executionId=events.text(execution))
        if trace is not None:
            head.orchestrationTraceContext.ParseFromString(trace)
        return wire.orchestrator_item(
            head.SerializeToString(), self._cache.get(lease.key), new, lease.token
        )


def _takes(wanted: Filter, name: str, version: str | None) -> bool:
    if wanted is None:
        return True
    versions = wanted.get(name)
    return versions is not None and (not versions or (version or "") in versions)


async def _woken(event: asyncio.Event, seconds: float | None) -> bool:
    """Wait for the event; False if it did not come in time."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
        return True
    return False
