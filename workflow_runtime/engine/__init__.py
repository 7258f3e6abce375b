"""What happens next. Pure: events in, commands out."""

from .messages import (
    Answered,
    Asked,
    CallTool,
    CancelRequested,
    Command,
    Event,
    EventArrived,
    Failed,
    Failure,
    Outcome,
    RunAgent,
    RunStatus,
    Started,
    Succeeded,
)
from .questions import START
from .reuse import reusable
from .run import CANCEL_GRACE, Run
from .state import Question, Status, Step, TaskState, Wait

__all__ = [
    "CANCEL_GRACE",
    "START",
    "Answered",
    "Asked",
    "CallTool",
    "CancelRequested",
    "Command",
    "Event",
    "EventArrived",
    "Failed",
    "Failure",
    "Outcome",
    "Question",
    "Run",
    "RunAgent",
    "RunStatus",
    "Started",
    "Status",
    "Step",
    "Succeeded",
    "TaskState",
    "Wait",
    "reusable",
]
