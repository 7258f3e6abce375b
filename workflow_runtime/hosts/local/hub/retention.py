"""
Deleting what has ended: by id, by filter, and by age.

Deletions go in small batches, each its own transaction, so that nobody waits long behind one. A
finished child stays for as long as its parent does: a reader of the parent looks into it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from workflow_runtime.errors import DataDirectoryError

from ....logs import get_logger
from .clock import SECOND, Clock, Micros
from .ending import remove, remove_with_children
from .queries import Criteria, prefix_end
from .transaction import Instance, Transaction
from .turn import TERMINAL
from .writer import Writer

BATCH = 50
_EVERY = 3600.0
_log = get_logger(__name__)

_EXPIRED = (
    "SELECT i.id FROM instances i WHERE i.completed_us < ? AND (i.parent_id IS NULL OR NOT EXISTS"
    " (SELECT 1 FROM instances p WHERE p.id = i.parent_id)) ORDER BY i.completed_us LIMIT ?"
)


def purge(tx: Transaction, instance_ids: Sequence[str], *, recursive: bool) -> int:
    """Delete the named instances that have ended; returns how many went, children included."""
    removed = 0
    for instance_id in instance_ids:
        who = tx.instance(instance_id)
        if who is not None and not who.is_active:
            removed += _remove(tx, who, recursive=recursive)
    return removed


def _remove(tx: Transaction, who: Instance, *, recursive: bool) -> int:
    if recursive:
        return remove_with_children(tx, who)
    remove(tx, who)
    return 1


def purge_matching(
    tx: Transaction, *, criteria: Criteria, batch: int, recursive: bool
) -> tuple[int, Criteria | None]:
    """Delete one batch of what matches; returns how many went, and what is left to look at."""
    statuses = [status for status in criteria.statuses or TERMINAL if status in TERMINAL]
    marks = ", ".join("?" * len(statuses))
    conditions = [f"status IN ({marks})", "id > ?"]
    arguments: list[object] = [*statuses, criteria.after or ""]
    for condition, value in (
        ("id >= ?", criteria.prefix or None),
        ("id < ?", prefix_end(criteria.prefix)),
        ("created_us >= ?", criteria.created_from),
        ("created_us < ?", criteria.created_to),
    ):
        if value is not None:
            conditions.append(condition)
            arguments.append(value)
    statement = f"SELECT id FROM instances WHERE {' AND '.join(conditions)} ORDER BY id LIMIT ?"  # noqa: S608
    ids = [row[0] for row in tx.execute(statement, [*arguments, batch])]
    removed = purge(tx, ids, recursive=recursive)
    return removed, replace(criteria, after=ids[-1]) if len(ids) == batch else None


def purge_older_than(tx: Transaction, cutoff: Micros, batch: int) -> int:
    """Delete one batch of runs that ended before ``cutoff``, with their children."""
    ids = [row[0] for row in tx.execute(_EXPIRED, (cutoff, batch))]
    return purge(tx, ids, recursive=True)


class Retention:
    """Purges what ended longer ago than ``keep``, now and then every hour."""

    def __init__(self, writer: Writer, clock: Clock, keep: timedelta) -> None:
        self._writer = writer
        self._clock = clock
        self._keep = keep

    async def run(self) -> None:
        """Purge and sleep, until cancelled."""
        while True:
            try:
                await self.purge_expired()
            except DataDirectoryError as error:
                _log.warning("old runs were not purged: %s", error)
            await asyncio.sleep(_EVERY)

    async def purge_expired(self) -> int:
        """Purge all that is due, batch by batch; returns how many instances went."""
        cutoff = self._clock() - int(self._keep.total_seconds() * SECOND)
        total = 0
        while removed := await self._writer.apply(lambda tx: purge_older_than(tx, cutoff, BATCH)):
            total += removed
        return total
