"""
An exception as a failure: a stable code, a safe message, whether trying again may help.

``kind`` is ``retryable`` or ``terminal`` where somebody knows, ``unknown`` otherwise: that is tried
again only where a retry policy says so.
"""

from __future__ import annotations

import logging
import traceback
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Any, Literal

from ..errors import DataDirectoryError, ModelError, RetryableError, ToolError
from ..logs import get_logger
from .arguments import InvalidArgumentsError
from .pool import Ended
from .redaction import redact
from .results import ResultNotJsonError, ResultTooLargeError
from .supervision import NoThreadError, RunCanceledError, StillRunningError, TimeOverError

_LOG = get_logger(__name__)
_PASSING = frozenset({"model_rate_limited", "model_timed_out", "model_unreachable"})
_LOGGED = 20_000
_LONGEST_DELAY = 1e9


class AgentMissingError(Exception):
    """Raised by a :class:`SubAgents` that has no agent of the name."""


class ToolMissingError(Exception):
    """The tool box has no tool of the name."""


class AlreadyBegunError(Exception):
    """A tool that must act only once was begun before, by a delivery that reported no end."""


class OutcomeUnknownError(Exception):
    """Something was called and did not report its end; the text is safe to show."""


# The first row that fits counts; what no row names shows nothing but its type.
_TABLE: tuple[tuple[type[BaseException], str, str, str], ...] = (
    (InvalidArgumentsError, "invalid_arguments", "terminal", "{place}: {error}"),
    (ResultNotJsonError, "result_not_json", "terminal", "{place}: {error}"),
    (ResultTooLargeError, "result_too_large", "terminal", "{place}: {error}"),
    (ToolMissingError, "tool_missing", "terminal", "{place}: this app has no such tool any more"),
    (
        AgentMissingError,
        "agent_missing",
        "terminal",
        "{place}: this app has no such agent any more",
    ),
    (RunCanceledError, "canceled", "terminal", "{place}: stopped, as its run is being canceled"),
    (
        AlreadyBegunError,
        "outcome_unknown",
        "terminal",
        "{place}: it may act only once and was begun before; nobody knows how that ended",
    ),
    (OutcomeUnknownError, "outcome_unknown", "unknown", "{place}: {error}"),
    (
        StillRunningError,
        "outcome_unknown",
        "retryable",
        "{place}: its time ({error}) is over, and it may still be running: it cannot be stopped",
    ),
    (
        NoThreadError,
        "timed_out",
        "retryable",
        "{place}: not called: none of WORKFLOW_RUNTIME_TOOL_THREADS was free for {error}",
    ),
    (TimeOverError, "timed_out", "retryable", "{place}: it did not finish in its time ({error})"),
    (RetryableError, "failed", "retryable", "{error}"),
    (ToolError, "failed", "terminal", "{error}"),
    (TimeoutError, "timed_out", "retryable", "{place}: it did not finish in its time"),
)


_DECIDED = (
    RetryableError, ToolError,
    InvalidArgumentsError, ResultNotJsonError, ResultTooLargeError, ToolMissingError,
    AgentMissingError, RunCanceledError, AlreadyBegunError, NoThreadError, StillRunningError,
    TimeOverError,
)  # fmt: skip
_BEFORE_THE_CALL = (NoThreadError, DataDirectoryError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a failure happened, and the id under which the log has it.

    A call outside a workflow has no other ids. ``once``: the tool must not be called again.
    """

    kind: Literal["tool", "sub_agent"]
    target: str
    workflow_id: str | None = None
    task_id: str | None = None
    attempt: int | None = None
    once: bool = False
    correlation_id: str = field(default_factory=lambda: token_hex(8))

    def __str__(self) -> str:
        what = f"{'tool' if self.kind == 'tool' else 'sub-agent'} {self.target!r}"
        return what if self.task_id is None else f"task {self.task_id!r}, {what}"


def failure_of(error: BaseException, place: Place) -> dict[str, Any]:
    """Log *error* in full and return what may be shown of it."""
    code, kind, message = _classify(error, place)
    if place.once and not isinstance(error, _BEFORE_THE_CALL):
        kind = "terminal"
    # What somebody decided says all in its text; elsewhere the way to the error matters too.
    is_told = isinstance(error, _DECIDED) and error.__cause__ is None
    told = redact(message) if is_told else _traceback(error)
    level = logging.INFO if code == "canceled" else logging.WARNING
    _LOG.log(level, "%s ended with %s: %s", place, code, told, extra=_ids(place))
    failure: dict[str, Any] = {
        "code": code,
        "message": redact(message),
        "kind": kind,
        "correlation_id": place.correlation_id,
    }
    if isinstance(error, RetryableError) and _is_delay(error.retry_after):
        failure["retry_after"] = error.retry_after
    return failure


def log_late_end(place: Place, ended: Ended[Any]) -> None:
    """Log how a call ended that had been given up; nobody else hears of it."""
    how = "returned" if ended.error is None else f"raised\n{_traceback(ended.error)}"
    _LOG.warning(
        "%s has ended after it was given up as outcome_unknown: it %s",
        place,
        how,
        extra=_ids(place),
    )


def _classify(error: BaseException, place: Place) -> tuple[str, str, str]:
    if isinstance(error, ModelError):
        return error.code, "retryable" if error.code in _PASSING else "terminal", _text(error)
    for kind_of_error, code, kind, message in _TABLE:
        if isinstance(error, kind_of_error):
            return code, kind, message.format(place=place, error=_text(error))
    name = type(error).__qualname__
    return "failed", "unknown", f"{place}: it raised {name}; the log has the details"


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - an author's own class may break in __str__
        return type(error).__qualname__


def _is_delay(seconds: object) -> bool:
    return (
        isinstance(seconds, int | float)
        and not isinstance(seconds, bool)
        and 0 <= seconds < _LONGEST_DELAY
    )


def _traceback(error: BaseException) -> str:
    return redact("".join(traceback.format_exception(error)), limit=_LOGGED)


def _ids(place: Place) -> dict[str, object]:
    return {
        "workflow_id": place.workflow_id,
        "task_id": place.task_id,
        "attempt": place.attempt,
        "correlation_id": place.correlation_id,
    }
