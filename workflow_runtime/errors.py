"""
Every exception the runtime raises on purpose:

* WorkflowRuntimeError
  - ConfigurationError        start-up: a setting, a skill or a tool file is wrong
  - InvalidPlanError          the model must rewrite the plan; carries the problems
  - InvalidRequestError       an argument of a management tool or an HTTP request is wrong
  - WorkflowNotFoundError     no such run, or a run of somebody else
  - ConflictError             what is asked does not fit where the run stands now
  - TooManyActiveError        the session has as many unfinished runs as it may have
  - TemplateError             a reference or an expression has no value at run time
  - HistoryMismatchError      a stored history or input does not fit this code
  - HubUnavailableError       the task hub does not answer
  - DataDirectoryError        the data directory is held, damaged, full or read-only
  - ModelError                a model provider refused, failed or did not answer
  - ToolError                 raised by tool authors
    - RetryableError          trying again may help
    - TerminalError           trying again will not help

Messages say what is wrong, where, and how to put it right; they quote with ``{name!r}``.
This module imports nothing of the package.
"""

from __future__ import annotations


class WorkflowRuntimeError(Exception):
    """Base class; catch this to catch only what the runtime raises."""


class ConfigurationError(WorkflowRuntimeError):
    """The app cannot start: one line that names the file or setting, the key and the fix."""


class InvalidPlanError(WorkflowRuntimeError):
    """The plan broke at least one rule; ``problems`` holds all of them, JSON-ready."""

    def __init__(self, problems: tuple[dict[str, object], ...]) -> None:
        super().__init__("; ".join(f"{p['path']}: {p['message']}" for p in problems))
        self.problems = problems


class InvalidRequestError(WorkflowRuntimeError):
    """An argument has the wrong type or value."""


class WorkflowNotFoundError(WorkflowRuntimeError):
    """No run of this owner has this id."""


class ConflictError(WorkflowRuntimeError):
    """The run is not in the state that the request was made for: ask for its status again."""


class TooManyActiveError(WorkflowRuntimeError):
    """The session has ``max_active`` unfinished runs."""


class TemplateError(WorkflowRuntimeError):
    """A template cannot be rendered; ``code`` is the stable code of the task's failure."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class HistoryMismatchError(WorkflowRuntimeError):
    """An event arrived that this run could not have asked for, or a format is unknown."""


class HubUnavailableError(WorkflowRuntimeError):
    """The task hub cannot be reached or refused the call."""


class DataDirectoryError(WorkflowRuntimeError):
    """The data directory cannot be used: held by another process, damaged, full, read-only."""


class ModelError(WorkflowRuntimeError):
    """A model provider's failure.

    ``code`` is one of ``model_unauthorized``, ``model_not_found``, ``model_rate_limited``,
    ``model_timed_out``, ``model_unreachable``, ``model_failed``; ``status`` is the HTTP status
    that fits the caller of the runtime.
    """

    def __init__(self, code: str, message: str, *, status: int = 502) -> None:
        super().__init__(message)
        self.code = code
        self.status = status


class ToolError(WorkflowRuntimeError):
    """Raised by a tool; its text is shown to the model."""


class RetryableError(ToolError):
    """The attempt failed and trying again may help; ``retry_after`` is in seconds."""

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class TerminalError(ToolError):
    """The attempt failed and trying again will not help."""
