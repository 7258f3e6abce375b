"""
Who runs next: ready steps, longest remaining path first, within every limit on how many at once.

Slots are held by running attempts alone. A task that has reached its own ``concurrency``, or whose
tool or agent has, leaves the queue and comes back when an attempt ends.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping

from .state import Step, TaskState


class ReadyQueue:
    """The ready steps of one run; every operation costs at most log(tasks)."""

    def __init__(self, tasks: Mapping[str, TaskState], slots: int) -> None:
        self._tasks = tasks
        self._slots = slots
        self._heap: list[tuple[tuple[int, int], str]] = []
        self._running: dict[str, int] = {}
        self._parked: dict[str, list[TaskState]] = {}
        self.in_use = 0

    def add(self, state: TaskState) -> None:
        """Have the task's queued steps started when there is room."""
        if state.queue and state.has_room and not state.queued:
            state.queued = True
            heapq.heappush(self._heap, (state.priority, state.id))

    def take(self) -> tuple[TaskState, Step] | None:
        """Return the next step that may start, or None."""
        while self._heap and self.in_use < self._slots:
            state = self._tasks[self._heap[0][1]]
            target = state.target or ""
            limit = state.policy.concurrency
            if limit is not None and self._running.get(target, 0) >= limit:
                self._parked.setdefault(target, []).append(state)
            elif state.queue and state.has_room:
                return state, state.queue.popleft()
            heapq.heappop(self._heap)
            state.queued = False
        return None

    def started(self, state: TaskState) -> None:
        """Count an attempt that holds a slot now."""
        self.in_use += 1
        state.running += 1
        target = state.target or ""
        self._running[target] = self._running.get(target, 0) + 1

    def ended(self, state: TaskState) -> None:
        """Give the slot back."""
        self.in_use -= 1
        state.running -= 1
        target = state.target or ""
        self._running[target] -= 1
        for parked in self._parked.pop(target, ()):
            self.add(parked)
        self.add(state)
