"""
Who works on what.

A lease lives in memory: it belongs to a session (a GetWorkItems stream or a worker in this
process), ends some time after that session does, and with the hub's process in any case. Its
token names the hub's process and the lease, so a completion from before a restart fits nothing.
While a lease lives, its work is given to nobody else.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from uuid import uuid4

from .refusal import Reason, RefusedError


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnWork:
    """What a worker was handed for one turn: whose, and up to which inbox row."""

    key: int
    generation: int
    new_events: tuple[bytes, ...]
    inbox_upto: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskWork:
    """What a worker was handed for one activity; ``seq`` names this scheduling of it."""

    key: int
    generation: int
    seq: int


type Filter = dict[str, frozenset[str]] | None


@dataclass(slots=True, eq=False, kw_only=True)
class Session:
    """A worker that takes work; the cursors say how far it has looked into the queues.

    A filter of None takes everything; otherwise a name must be listed, with the version if any
    versions are.
    """

    turn_limit: int
    task_limit: int
    turn_filter: Filter = None
    task_filter: Filter = None
    turns: set[Lease] = field(default_factory=set)
    tasks: set[Lease] = field(default_factory=set)
    turn_cursor: int = 0
    task_cursor: int = 0
    look_for_turns: bool = True
    look_for_tasks: bool = True
    wake: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def wants_turns(self) -> bool:
        """Whether a look into the queue of turns can bring anything."""
        return self.look_for_turns and len(self.turns) < self.turn_limit

    @property
    def wants_tasks(self) -> bool:
        """Whether a look into the queue of activities can bring anything."""
        return self.look_for_tasks and len(self.tasks) < self.task_limit


@dataclass(slots=True, eq=False, kw_only=True)
class Lease:
    """One piece of work in one session's hands; ``position`` is its place in its queue.

    ``passed`` is a later place of the same instance, seen after the commit of this turn and before
    the loop heard of it.
    """

    token: str
    session: Session
    position: int
    key: int
    is_turn: bool
    passed: int | None = None
    work: TurnWork | TaskWork | None = None


class Leases:
    """All leases of this process."""

    def __init__(self) -> None:
        self._epoch = uuid4().hex[:12]
        self._count = 0
        self._by_token: dict[str, Lease] = {}
        self._busy_turns: dict[int, Lease] = {}
        self._busy_tasks: set[int] = set()
        self.sessions: set[Session] = set()

    def holds_turn(self, key: int, position: int) -> bool:
        """Whether somebody has this instance's turn; if so, ``position`` is looked at afterwards.

        A row behind the lease's own may be there already, when the turn is committed and the loop
        has not yet heard of it; sessions go past it now and come back when the turn is settled.
        """
        lease = self._busy_turns.get(key)
        if lease is not None and position > lease.position:
            lease.passed = position
        return lease is not None

    def holds_task(self, seq: int) -> bool:
        """Whether somebody has this activity."""
        return seq in self._busy_tasks

    def grant(self, session: Session, *, position: int, key: int, is_turn: bool) -> Lease:
        """Give one piece of work to a session."""
        self._count += 1
        lease = Lease(
            token=f"{self._epoch}-{self._count}",
            session=session,
            position=position,
            key=key,
            is_turn=is_turn,
        )
        self._by_token[lease.token] = lease
        if is_turn:
            self._busy_turns[key] = lease
            session.turns.add(lease)
        else:
            self._busy_tasks.add(position)
            session.tasks.add(lease)
        return lease

    def take(self, token: str, *, is_turn: bool) -> Lease:
        """Redeem a token, once; the work stays busy until ``settle`` or ``give_back``."""
        lease = self._by_token.get(token)
        if lease is None or lease.is_turn is not is_turn or lease.work is None:
            raise RefusedError(
                Reason.LEASE_LOST,
                f"the lease {token!r} has ended: the work was completed, given back or handed on",
            )
        del self._by_token[token]
        return lease

    def settle(self, lease: Lease) -> None:
        """The work is done; a slot is free."""
        self._forget(lease)
        if lease.passed is not None:
            self._look_again(lease.passed, turns=True)
        lease.session.wake.set()

    def give_back(self, lease: Lease) -> None:
        """The work was not done: everybody looks again from where it stands in its queue."""
        self._forget(lease)
        self._look_again(lease.position, turns=lease.is_turn)

    def _look_again(self, position: int, *, turns: bool) -> None:
        for session in self.sessions:
            if turns:
                session.turn_cursor = min(session.turn_cursor, position - 1)
                session.look_for_turns = True
            else:
                session.task_cursor = min(session.task_cursor, position - 1)
                session.look_for_tasks = True
            session.wake.set()

    def _forget(self, lease: Lease) -> None:
        self._by_token.pop(lease.token, None)
        if lease.is_turn:
            self._busy_turns.pop(lease.key, None)
            lease.session.turns.discard(lease)
            lease.session.look_for_turns = True
        else:
            self._busy_tasks.discard(lease.position)
            lease.session.tasks.discard(lease)
            lease.session.look_for_tasks = True

    def expire(self, session: Session) -> None:
        """End what a session that is gone still holds, but for what is being committed."""
        for lease in (*session.turns, *session.tasks):
            if lease.token in self._by_token:
                self.give_back(lease)
