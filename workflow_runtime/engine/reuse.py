"""Results of an earlier run that hold for this one: same task, same resolved inputs."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

from ..plan.types import Json
from . import retrying
from .book import Book
from .state import Status, Step, TaskState


class Reuse:
    """Gives each earlier result once; ``earlier`` maps ``task:digest`` to results."""

    def __init__(self, earlier: Mapping[str, Sequence[Json]]) -> None:
        self._earlier = {key: deque(results) for key, results in earlier.items()}

    def closes(self, book: Book, state: TaskState, step: Step) -> bool:
        """End the step with an earlier result, if one is left that holds."""
        if not self._earlier or step.attempts:
            return False
        results = self._earlier.get(f"{state.id}:{step.digest}")
        if not results:
            return False
        result = results.popleft()
        if retrying.unmet_condition(state, result) is not None:
            return False
        step.is_reused = True
        step.started_at = book.now
        book.close(state, step, Status.COMPLETED, result)
        return True


def reusable(tasks: Mapping[str, TaskState]) -> dict[str, list[Json]]:
    """Return the completed results of a run, for its re-run."""
    earlier: dict[str, list[Json]] = {}
    for state in tasks.values():
        for step in state.steps:
            if step.status is Status.COMPLETED and step.digest is not None:
                earlier.setdefault(f"{state.id}:{step.digest}", []).append(step.result)
    return earlier
