"""
The rows a transition may touch, by small named statements.

A ``Transaction`` is one transition's view of the write connection. It also notes what the rest of
the hub must hear once the commit is through: these ``Effects`` are how everything wakes up.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from durabletask.internal import orchestrator_service_pb2 as pb

from .clock import Micros
from .turn import TERMINAL


@dataclass(slots=True)
class Effects:
    """What changed, for those who wait."""

    ready: bool = False
    tasks: bool = False
    next_timer: Micros | None = None
    changed: set[str] = field(default_factory=set)
    stopped: set[int] = field(default_factory=set)
    renewed: set[int] = field(default_factory=set)

    def merge(self, other: Effects) -> None:
        """Take in the effects of another transition of the same commit."""
        self.ready |= other.ready
        self.tasks |= other.tasks
        self.changed |= other.changed
        self.stopped |= other.stopped
        self.renewed |= other.renewed
        if other.next_timer is not None:
            self.timer(other.next_timer)

    def timer(self, fire_at: Micros) -> None:
        """Note a timer; the earliest one counts."""
        if self.next_timer is None or fire_at < self.next_timer:
            self.next_timer = fire_at


class Instance(NamedTuple):
    """What transitions need to know of an instance."""

    key: int
    id: str
    execution: str
    generation: int
    name: str
    version: str | None
    status: int
    scheduled_us: Micros | None
    history_count: int
    parent_id: str | None
    parent_generation: int | None
    parent_task: int | None

    @property
    def is_active(self) -> bool:
        """Whether it has not ended."""
        return self.status not in TERMINAL


_COLUMNS = ", ".join(Instance._fields)
_DELIVER_RESULT = (
    "INSERT INTO inbox (seq, key, generation, event) SELECT ?, i.key, i.generation, ?"  # noqa: S608
    " FROM tasks t JOIN instances i ON i.key = t.key WHERE t.seq = ?"
    f" AND i.generation = t.generation AND i.status NOT IN ({', '.join(map(str, TERMINAL))})"
)


@dataclass(slots=True)
class Sequences:
    """The next free number of everything that is numbered; only the writer counts."""

    instance: int
    inbox: int
    ready: int
    task: int
    timer: int

    @classmethod
    def of(cls, connection: sqlite3.Connection) -> Sequences:
        """Go on where the file ends."""

        def after(table: str, column: str) -> int:
            query = f"SELECT coalesce(max({column}), 0) + 1 FROM {table}"  # noqa: S608
            return int(connection.execute(query).fetchone()[0])

        return cls(
            instance=after("instances", "key"),
            inbox=after("inbox", "seq"),
            ready=after("ready", "seq"),
            task=after("tasks", "seq"),
            timer=after("timers", "seq"),
        )


class Transaction:
    """One transition's hands on the tables."""

    def __init__(
        self, connection: sqlite3.Connection, sequences: Sequences, queued: set[int]
    ) -> None:
        """``queued`` remembers keys that surely have a ``ready`` row; it may miss some."""
        self.execute = connection.execute
        self.executemany = connection.executemany
        self.sequences = sequences
        self._queued = queued
        self.effects = Effects()

    def instance(self, instance_id: str) -> Instance | None:
        """Look an instance up by its id."""
        row = self.execute(
            f"SELECT {_COLUMNS} FROM instances WHERE id = ?",  # noqa: S608
            (instance_id,),
        ).fetchone()
        return None if row is None else Instance(*row)

    def instance_by_key(self, key: int) -> Instance | None:
        """Look an instance up by its key."""
        row = self.execute(
            f"SELECT {_COLUMNS} FROM instances WHERE key = ?",  # noqa: S608
            (key,),
        ).fetchone()
        return None if row is None else Instance(*row)

    def children(self, instance_id: str) -> list[Instance]:
        """The instances that this one started and that are still there."""
        rows = self.execute(
            f"SELECT {_COLUMNS} FROM instances WHERE parent_id = ?",  # noqa: S608
            (instance_id,),
        ).fetchall()
        return [Instance(*row) for row in rows]

    def deliver(self, target: Instance, event: pb.HistoryEvent, *, bound: bool) -> None:
        """Put an event into an inbox; a ``bound`` one is for this generation only."""
        seq = self.sequences.inbox
        self.sequences.inbox = seq + 1
        self.execute(
            "INSERT INTO inbox (seq, key, generation, event) VALUES (?, ?, ?, ?)",
            (seq, target.key, target.generation if bound else None, event.SerializeToString()),
        )

    def has_mail(self, key: int) -> bool:
        """Whether an inbox holds anything."""
        row = self.execute("SELECT 1 FROM inbox WHERE key = ? LIMIT 1", (key,)).fetchone()
        return row is not None

    def make_ready(self, key: int) -> None:
        """Queue an instance that has mail for a turn, at most once.

        An instance without mail must not stand in the queue: a session would go past it, and its
        next event would not queue it again.
        """
        if key in self._queued:
            return
        self._queued.add(key)
        seq = self.sequences.ready
        self.sequences.ready = seq + 1
        added = self.execute("INSERT OR IGNORE INTO ready (seq, key) VALUES (?, ?)", (seq, key))
        self.effects.ready |= added.rowcount > 0

    def deliver_result(self, task_seq: int, event: pb.HistoryEvent) -> bool:
        """Put an activity's result into the inbox of who waits for it; False if nobody does.

        Nobody waits if the activity has a result already, or if its instance has ended or gone on
        to another generation. One statement, because this is what a busy hub does most.
        """
        seq = self.sequences.inbox
        self.sequences.inbox = seq + 1
        delivered = self.execute(
            _DELIVER_RESULT, (seq, event.SerializeToString(), task_seq)
        ).rowcount
        return delivered > 0

    def append_history(self, key: int, count: int, events: Sequence[bytes]) -> None:
        """Append to a history that has ``count`` events."""
        self.executemany(
            "INSERT INTO history (key, seq, event) VALUES (?, ?, ?)",
            [(key, seq, event) for seq, event in enumerate(events, count)],
        )

    def add_timer(self, key: int, generation: int, timer_id: int, fire_at: Micros) -> None:
        """Keep a timer."""
        seq = self.sequences.timer
        self.sequences.timer = seq + 1
        self.execute(
            "INSERT INTO timers (seq, key, generation, timer_id, fire_us) VALUES (?, ?, ?, ?, ?)",
            (seq, key, generation, timer_id, fire_at),
        )
        self.effects.timer(fire_at)

    def add_tasks(
        self, key: int, generation: int, tasks: Iterable[tuple[int, str, str | None, bytes]]
    ) -> None:
        """Queue activities: task id, name, version, encoded request."""
        first = self.sequences.task
        rows = [(seq, key, generation, *task) for seq, task in enumerate(tasks, first)]
        self.sequences.task = first + len(rows)
        self.executemany(
            "INSERT INTO tasks (seq, key, generation, task_id, name, version, request)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            rows,
        )
        self.effects.tasks |= bool(rows)

    def clear(self, key: int, *tables: str) -> None:
        """Delete an instance's rows from the named tables."""
        if "ready" in tables:
            self._queued.discard(key)
        for table in tables:
            self.execute(f"DELETE FROM {table} WHERE key = ?", (key,))  # noqa: S608
