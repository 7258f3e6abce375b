"""
Waiting for an instance to start or to end: callers sleep until a commit touches it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from workflow_runtime.errors import HubUnavailableError

from .transaction import Effects


class Waiters:
    """Who waits for which instance."""

    def __init__(self) -> None:
        self._events: dict[str, set[asyncio.Event]] = {}
        self._closed = False

    async def until(self, instance_id: str, reached: Callable[[], bool]) -> None:
        """Return once ``reached`` is true; it is asked now and after each change.

        Raises HubUnavailableError if the hub closes first.
        """
        event = asyncio.Event()
        self._events.setdefault(instance_id, set()).add(event)
        try:
            while not reached():
                await event.wait()
                event.clear()
                if self._closed:
                    raise HubUnavailableError("the local task hub was closed")
        finally:
            events = self._events[instance_id]
            events.discard(event)
            if not events:
                del self._events[instance_id]

    def close(self) -> None:
        """Nothing will happen any more."""
        self._closed = True
        for events in self._events.values():
            for event in events:
                event.set()

    def heard(self, effects: Effects) -> None:
        """A commit changed these instances."""
        for instance_id in effects.changed & self._events.keys():
            for event in self._events[instance_id]:
                event.set()
