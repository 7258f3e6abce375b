"""What a running tool may ask about the step it works for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from .signals import Signal

_CURRENT: ContextVar[TaskContext | None] = ContextVar("workflow_runtime_task", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskContext:
    """The step a tool works for; ``attempt`` counts from 1.

    ``idempotency_key`` is for other systems, so that they do the same thing only once: equal over
    all deliveries and attempts of one step and over re-runs that leave it unchanged, different from
    any other step's. In a tool that a sub-agent called it is that of the call, see
    :class:`~workflow_runtime.execution.calls.StepCalls`; all else is the sub-agent's step.
    """

    workflow_id: str
    task_id: str
    attempt: int
    idempotency_key: str
    signal: Signal = field(default_factory=Signal, repr=False, compare=False)

    def cancelled(self) -> bool:
        """Tell whether to stop: the run is being canceled, or the attempt's time is over."""
        return self.signal.is_set()


def task_context() -> TaskContext:
    """Return the step the calling tool works for.

    Raises RuntimeError where there is none: outside a tool, or in a tool that a chat turn called.
    """
    current = _CURRENT.get()
    if current is None:
        message = (
            "task_context() has an answer only inside a tool that a workflow's task or its"
            " sub-agent called; a chat turn calls tools without one"
        )
        raise RuntimeError(message)
    return current


@contextmanager
def entered[Context: TaskContext | None](context: Context) -> Iterator[Context]:
    """Make *context* the answer of :func:`task_context` for the block."""
    token = _CURRENT.set(context)
    try:
        yield context
    finally:
        _CURRENT.reset(token)
