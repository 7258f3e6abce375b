"""
Encoded histories of instances that live, so that a turn reads only what is new.

A bounded mirror of committed rows: what it does not hold is read from the file. Least recently
used histories go first.
"""

from __future__ import annotations

import sqlite3
from collections import OrderedDict
from collections.abc import Iterable

from . import wire


class HistoryCache:
    """``pastEvents`` by instance key, ready to be joined into a work item."""

    def __init__(self, reader: sqlite3.Connection, max_bytes: int) -> None:
        self._reader = reader
        self._max_bytes = max_bytes
        self._bytes = 0
        self._entries: OrderedDict[int, bytearray] = OrderedDict()

    def get(self, key: int) -> bytearray:
        """The committed history of an instance."""
        entry = self._entries.get(key)
        if entry is None:
            rows = self._reader.execute(
                "SELECT event FROM history WHERE key = ? ORDER BY seq", (key,)
            )
            entry = bytearray(wire.past_events(row[0] for row in rows))
            self._entries[key] = entry
            self._bytes += len(entry)
            self._shrink(keep=key)
        self._entries.move_to_end(key)
        return entry

    def append(self, key: int, events: Iterable[bytes]) -> None:
        """Follow a commit that appended to an instance's history."""
        entry = self._entries.get(key)
        if entry is None:
            return
        more = wire.past_events(events)
        entry += more
        self._bytes += len(more)
        self._shrink(keep=key)

    def forget(self, key: int) -> None:
        """Drop an instance that has ended or begun anew."""
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._bytes -= len(entry)

    def _shrink(self, *, keep: int) -> None:
        """Make room; what is in hand stays, even if it alone is too big."""
        while self._bytes > self._max_bytes and len(self._entries) > 1:
            oldest = next(iter(self._entries))
            if oldest == keep:
                self._entries.move_to_end(oldest)
                continue
            self.forget(oldest)
