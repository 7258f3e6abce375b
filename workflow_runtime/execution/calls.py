"""
The calls that one attempt of a sub-agent makes: each has a key of its own, as a step has.

A redelivery runs the sub-agent anew, and its model may say something else; where it makes the same
call, that has the same key. So the key is made of what is called, not of when: of the step's key,
the tool, the arguments, and how many times that same call was made before in the attempt. A call
that failed was not made: the same one again is another try at it, and has its key.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import count

from ..plan.encoding import canonical
from ..plan.types import Json
from .arguments import InvalidArgumentsError
from .context import TaskContext
from .failures import AlreadyBegunError
from .markers import Markers
from .signals import Signal
from .tools import Tool


class StepCalls:
    """The calls of one attempt at ``step``, a sub-agent's; belongs to one loop."""

    def __init__(self, step: TaskContext, markers: Markers) -> None:
        self.step = step
        self.markers = markers
        self._made: dict[str, set[int]] = {}

    def made(self) -> dict[str, int]:
        """Return how many times each call was made, for the attempt that goes on from here."""
        return {call: max(numbers) + 1 for call, numbers in self._made.items() if numbers}

    def go_on(self, made: Mapping[str, int]) -> None:
        """Count what :meth:`made` gave in the attempt from which this one goes on."""
        self._made = {call: set(range(times)) for call, times in made.items()}

    def signal(self) -> Signal:
        """Return a flag for one call, which is raised with the step's, but not the other way."""
        signal = Signal()
        self.step.signal.on_set(signal.set)
        return signal

    @contextmanager
    def making(self, tool: Tool, arguments: Json, signal: Signal) -> Iterator[TaskContext]:
        """Give what the call has for a step; it counts as made unless the block raises.

        Raises InvalidArgumentsError for arguments that are not JSON.
        """
        try:
            call = hashlib.sha256(canonical([tool.name, arguments]).encode()).hexdigest()
        except ValueError as error:
            raise InvalidArgumentsError(str(error)) from None
        numbers = self._made.setdefault(call, set())
        number = next(each for each in count() if each not in numbers)
        numbers.add(number)
        key = hashlib.sha256(f"{call} {number} {self.step.idempotency_key}".encode()).hexdigest()
        try:
            yield replace(self.step, idempotency_key=f"wf-{key}", signal=signal)
        except BaseException:
            numbers.discard(number)
            raise


def mark_for(tool: Tool, step: TaskContext, markers: Markers) -> Callable[[], None] | None:
    """Return what is done right before the call of a tool that acts once, None for any other.

    It makes the mark, and raises AlreadyBegunError where there is one.
    """
    if tool.policy.side_effects != "once":
        return None

    def mark() -> None:
        if not markers.create(step.idempotency_key):
            raise AlreadyBegunError

    return mark
