"""What a running tool may ask about the step it works for."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from ..plan.encoding import dumps

_CURRENT: ContextVar[TaskContext | None] = ContextVar("workflow_runtime_task", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskContext:
    """The step a tool works for; ``attempt`` counts from 1."""

    workflow_id: str
    task_id: str
    attempt: int

    @property
    def idempotency_key(self) -> str:
        """A key to hand to other systems so that they do the same thing only once.

        Equal over all deliveries and attempts of one step, different from any other step's.
        It is ``wf-`` and the first 32 hexadecimal digits of the SHA-256 of the two ids.
        """
        step = dumps([self.workflow_id, self.task_id]).encode()
        return "wf-" + hashlib.sha256(step).hexdigest()[:32]


def task_context() -> TaskContext:
    """Return the step the calling tool works for.

    Raises RuntimeError where there is none: outside a tool, or in a tool that a chat turn or a
    sub-agent called.
    """
    current = _CURRENT.get()
    if current is None:
        message = (
            "task_context() has an answer only inside a tool that a workflow's task called;"
            " a chat turn or a sub-agent calls tools without one"
        )
        raise RuntimeError(message)
    return current


@contextmanager
def entered(context: TaskContext | None) -> Iterator[None]:
    """Make *context* the answer of :func:`task_context` for the block."""
    token = _CURRENT.set(context)
    try:
        yield
    finally:
        _CURRENT.reset(token)
