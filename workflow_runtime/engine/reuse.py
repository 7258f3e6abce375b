"""Results of an earlier run that hold for this one: same task, same resolved inputs."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..plan.types import Json
from .state import Status, TaskState


@dataclass(frozen=True, slots=True)
class Found:
    """A result that may itself be null."""

    result: Json


class Reuse:
    """Gives each earlier result once; ``earlier`` maps ``task:digest`` to results."""

    def __init__(self, earlier: Mapping[str, Sequence[Json]]) -> None:
        self._earlier = {key: deque(results) for key, results in earlier.items()}

    def take(self, task_id: str, digest: str) -> Found | None:
        """Return a result of the same task with the same inputs, if one is left."""
        results = self._earlier.get(f"{task_id}:{digest}")
        return Found(results.popleft()) if results else None


def reusable(tasks: Mapping[str, TaskState]) -> dict[str, list[Json]]:
    """Return the completed results of a run, for its re-run."""
    earlier: dict[str, list[Json]] = {}
    for state in tasks.values():
        for step in state.steps:
            if step.status is Status.COMPLETED and step.digest is not None:
                earlier.setdefault(f"{state.id}:{step.digest}", []).append(step.result)
    return earlier
