"""What a run leaves behind: statuses of what never ran, and its output."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..plan.model import Plan
from ..plan.templates import render
from ..plan.types import Json
from .scope import RunScope
from .state import FINAL, Status, Step, TaskState


def leave(state: TaskState, move: Callable[[Step, Status], None]) -> None:
    """Record what never ran, and what was still running, of a task that did not end."""
    for step in state.steps:
        if step.status is Status.RUNNING:
            move(step, Status.OUTCOME_UNKNOWN)
        elif step.status not in FINAL:
            # A step that was to be attempted again has failed as far as it got.
            move(step, Status.FAILED if step.failure is not None else Status.NOT_RUN)
    left = {step.status for step in state.steps}
    if state.failure is not None:
        state.status = Status.FAILED
    else:
        order = (Status.OUTCOME_UNKNOWN, Status.FAILED, Status.CANCELED)
        state.status = next((one for one in order if one in left), Status.NOT_RUN)


def result_of(plan: Plan, tasks: Mapping[str, TaskState], scope: RunScope) -> Json:
    """Return the output of a run that completed; raises TemplateError."""
    if plan.output is not None:
        return render(plan.output, scope)  # type: ignore[no-any-return]
    return {state.id: state.result() for state in tasks.values() if not state.dependents}


def kept(tasks: Mapping[str, TaskState]) -> Json:
    """Return what an unfinished run shows: the results of the tasks that have any."""
    found = {
        state.id: state.kept()
        for state in tasks.values()
        if any(step.status is Status.COMPLETED for step in state.steps)
    }
    return found or None
