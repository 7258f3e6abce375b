"""One at a time, per key: what looks first and acts then must not be overtaken in its process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager


class InUseError(Exception):
    """Somebody uses the key for longer than one was ready to wait."""


class KeyedLocks[K: Hashable]:
    """A lock for each key that is in use; belongs to one event loop."""

    def __init__(self) -> None:
        self._locks: dict[K, tuple[asyncio.Lock, int]] = {}

    @asynccontextmanager
    async def alone(self, key: K, *, patience: float | None = None) -> AsyncIterator[None]:
        """Wait for the others with this key, first come, first served.

        Raises InUseError when that takes more than *patience* seconds.
        """
        lock, users = self._locks.get(key, (asyncio.Lock(), 0))
        self._locks[key] = (lock, users + 1)
        try:
            try:
                async with asyncio.timeout(patience):
                    await lock.acquire()
            except TimeoutError:
                raise InUseError from None
            try:
                yield
            finally:
                lock.release()
        finally:
            _, users = self._locks.pop(key)
            if users > 1:
                self._locks[key] = (lock, users - 1)
