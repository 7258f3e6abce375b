"""What happens next. Pure: events in, commands out."""

from .messages import (
    CallTool,
    CancelRequested,
    Command,
    Event,
    Failed,
    Failure,
    Outcome,
    RunAgent,
    RunStatus,
    Started,
    Succeeded,
)
from .run import CANCEL_GRACE, Run
from .state import Status, Step, TaskState

__all__ = [
    "CANCEL_GRACE",
    "CallTool",
    "CancelRequested",
    "Command",
    "Event",
    "Failed",
    "Failure",
    "Outcome",
    "Run",
    "RunAgent",
    "RunStatus",
    "Started",
    "Status",
    "Step",
    "Succeeded",
    "TaskState",
]
