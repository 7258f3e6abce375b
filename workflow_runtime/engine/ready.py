"""
Who runs next: ready steps, longest remaining path first, within every limit on how many at once.

Slots are held by running attempts alone. A task that has reached its own ``concurrency`` leaves
the queue and comes back when one of its attempts ends. One whose tool or agent has reached its
limit is parked; each place that gets free brings one of the parked tasks back, so that an event
costs the same however many of them wait.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping

from .state import Step, TaskState

type _Place = tuple[tuple[int, int], str]


class ReadyQueue:
    """The ready steps of one run; every operation costs at most log(tasks)."""

    def __init__(self, tasks: Mapping[str, TaskState], slots: int) -> None:
        self._tasks = tasks
        self._slots = slots
        self._heap: list[_Place] = []
        self._running: dict[str, int] = {}
        self._parked: dict[str, list[_Place]] = {}
        self.in_use = 0

    def add(self, state: TaskState) -> None:
        """Have the task's queued steps started when there is room."""
        if state.queue and state.has_room and not state.queued:
            state.queued = True
            heapq.heappush(self._heap, (state.priority, state.id))

    def take(self) -> tuple[TaskState, Step] | None:
        """Return the next step that may start, or None."""
        while self._heap and self.in_use < self._slots:
            place = self._heap[0]
            state = self._tasks[place[1]]
            target = state.target or ""
            is_ready = (
                bool(state.queue)
                and state.has_room
                and state.may_start(state.queue[0], self._slots)
            )
            is_full = self._running.get(target, 0) >= (state.policy.concurrency or self._slots)
            if is_ready and not is_full:
                return state, state.queue.popleft()
            heapq.heappop(self._heap)
            if is_ready:
                heapq.heappush(self._parked.setdefault(target, []), place)
            else:
                state.queued = False
                self._bring_back(target)
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
        self._bring_back(target)
        self.add(state)

    def _bring_back(self, target: str) -> None:
        """Put the first parked task of a tool or agent, which may have room now, back in line."""
        parked = self._parked.get(target)
        if parked:
            heapq.heappush(self._heap, heapq.heappop(parked))
