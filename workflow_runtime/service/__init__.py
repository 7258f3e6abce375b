"""Start, look at and stop runs; the same for model tools, HTTP and the command line."""

from .envelope import STATUSES, has_ended, known_status
from .fold import INBOX, attempt_ended, attempt_lost, inbox_event
from .help_topics import TOPICS
from .locks import InUseError, KeyedLocks
from .owners import Owner, OwnerKeys
from .run_input import RunInput, read_run_input
from .starting import ORCHESTRATOR
from .summary import Summary
from .workflows import WorkflowService

__all__ = [
    "INBOX",
    "ORCHESTRATOR",
    "STATUSES",
    "TOPICS",
    "InUseError",
    "KeyedLocks",
    "Owner",
    "OwnerKeys",
    "RunInput",
    "Summary",
    "WorkflowService",
    "attempt_ended",
    "attempt_lost",
    "has_ended",
    "inbox_event",
    "known_status",
    "read_run_input",
]
