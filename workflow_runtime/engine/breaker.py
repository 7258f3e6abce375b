"""The circuit breaker of a ``for_each``: what fails alike again and again is given up."""

from __future__ import annotations

from .messages import Failure
from .state import FINAL, Status, Step, TaskState

LIMIT = 5


class Breaker:
    """Opens when LIMIT items in a row, in order of completion, ended with the same code."""

    def after(self, state: TaskState, step: Step) -> list[Step]:
        """Take note of a step that ended; return those that are not to be run any more."""
        if step.index is None:
            return []
        code = step.failure.code if step.failure is not None else ""
        same, count = state.streak
        state.streak = (code, count + 1 if code == same and code else int(bool(code)))
        if state.streak[1] < LIMIT or state.failure is not None:
            return []
        left = [one for one in state.steps if one.status in (Status.PENDING, Status.WAITING)]
        if not left:
            return []
        state.queue.clear()
        not_run = sum(one.status not in FINAL and not one.attempts for one in left)
        message = (
            f"{LIMIT} items in a row failed with {code!r}, so {not_run} were not run;"
            f" the last: {step.failure.message if step.failure else ''}"
        )
        state.failure = Failure(code="breaker_open", message=message, task=state.id)
        return left
