"""What is to happen at a time: one heap, from which entries that went stale are left out."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from datetime import datetime

from .state import Step


class Deadlines:
    """The deadlines of waiting steps. An entry is stale when its step waits no longer for it."""

    def __init__(self) -> None:
        self._heap: list[tuple[datetime, int, Step]] = []
        self._added = 0
        self.waiting: dict[str, Step] = {}

    def add(self, step: Step) -> None:
        """Wake the step at its ``until``; a step without one only counts as waiting."""
        self.waiting[step.id] = step
        if step.until is not None:
            self._added += 1
            heapq.heappush(self._heap, (step.until, self._added, step))

    def drop(self, step: Step) -> None:
        """Take note that the step waits no longer."""
        self.waiting.pop(step.id, None)

    def earliest(self) -> datetime | None:
        """Return when the next step is to be woken."""
        self._drop_stale()
        return self._heap[0][0] if self._heap else None

    def due(self, now: datetime) -> Iterator[Step]:
        """Yield, and forget, the steps whose time has come, in order.

        Each is looked for when it is asked for, so that one that an earlier one put an end to is
        left out.
        """
        while (soonest := self.earliest()) is not None and soonest <= now:
            step = heapq.heappop(self._heap)[2]
            self.drop(step)
            yield step

    def _drop_stale(self) -> None:
        while self._heap and not self._holds(*self._heap[0]):
            heapq.heappop(self._heap)

    def _holds(self, until: datetime, _: int, step: Step) -> bool:
        return self.waiting.get(step.id) is step and step.until == until
