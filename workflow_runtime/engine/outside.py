"""What comes from outside a run: each message once, and events for whoever waits for them."""

from __future__ import annotations

from collections import deque

from ..plan.types import Json
from .state import Step


class Inbox:
    """Events that came before anybody waited, waits by name, and the ids that were seen."""

    def __init__(self) -> None:
        self._early: dict[str, deque[Json]] = {}
        self._waits: dict[str, deque[Step]] = {}
        self._seen: set[tuple[str, ...]] = set()

    def is_new(self, *message_id: str) -> bool:
        """Whether no message with this id came before."""
        if message_id in self._seen:
            return False
        self._seen.add(message_id)
        return True

    def wait(self, name: str, step: Step) -> bool:
        """Have the step wait for an event; return False where one has come already."""
        if self._early.get(name):
            return False
        self._waits.setdefault(name, deque()).append(step)
        return True

    def early(self, name: str) -> Json:
        """Take the event that came before anybody waited."""
        return self._early[name].popleft()

    def arrive(self, name: str, payload: Json) -> Step | None:
        """Return the step whose wait the event ends, or keep the event for a later one."""
        waits = self._waits.get(name)
        if waits:
            return waits.popleft()
        self._early.setdefault(name, deque()).append(payload)
        return None

    def give_up(self, name: str, step: Step) -> None:
        """Wait no longer."""
        if step in self._waits.get(name, ()):
            self._waits[name].remove(step)
