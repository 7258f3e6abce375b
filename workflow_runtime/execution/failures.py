"""An exception as a failure: a stable code, a safe message, whether trying again may help."""

from __future__ import annotations

import logging
import math
import traceback
from dataclasses import dataclass
from secrets import token_hex
from typing import Any, Literal

from ..errors import ModelError, RetryableError, ToolError
from .arguments import InvalidArgumentsError
from .redaction import redact
from .results import ResultNotJsonError

_LOG = logging.getLogger(__name__)
_PASSING = frozenset({"model_rate_limited", "model_timed_out", "model_unreachable"})
_LOGGED = 20_000


class AgentMissingError(Exception):
    """Raised by a :class:`SubAgents` that has no agent of the name."""


class ToolMissingError(Exception):
    """The tool box has no tool of the name."""


# The first row that fits counts; what no row names shows nothing but its type.
_TABLE: tuple[tuple[type[BaseException], str, str, str], ...] = (
    (InvalidArgumentsError, "invalid_arguments", "terminal", "{place}: {error}"),
    (ResultNotJsonError, "result_not_json", "terminal", "{place}: {error}"),
    (ToolMissingError, "tool_missing", "terminal", "{place}: this app has no such tool any more"),
    (
        AgentMissingError,
        "agent_missing",
        "terminal",
        "{place}: this app has no such agent any more",
    ),
    (RetryableError, "failed", "retryable", "{error}"),
    (ToolError, "failed", "terminal", "{error}"),
    (TimeoutError, "timed_out", "retryable", "{place}: it did not finish in its time"),
)


_REFUSALS = (InvalidArgumentsError, ResultNotJsonError, ToolMissingError, AgentMissingError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a failure happened; a call outside a workflow has no ids."""

    kind: Literal["tool", "sub_agent"]
    target: str
    workflow_id: str | None = None
    task_id: str | None = None
    attempt: int | None = None

    def __str__(self) -> str:
        what = f"{'tool' if self.kind == 'tool' else 'sub-agent'} {self.target!r}"
        return what if self.task_id is None else f"task {self.task_id!r}, {what}"


def failure_of(error: BaseException, place: Place) -> dict[str, Any]:
    """Log *error* in full and return what may be shown of it."""
    correlation_id = token_hex(8)
    code, kind, message = _classify(error, place)
    _log(error, place, code, correlation_id)
    failure: dict[str, Any] = {
        "code": code,
        "message": redact(message),
        "kind": kind,
        "correlation_id": correlation_id,
    }
    if isinstance(error, RetryableError) and _is_delay(error.retry_after):
        failure["retry_after"] = error.retry_after
    return failure


def _classify(error: BaseException, place: Place) -> tuple[str, str, str]:
    if isinstance(error, ModelError):
        return error.code, "retryable" if error.code in _PASSING else "terminal", _text(error)
    for kind_of_error, code, kind, message in _TABLE:
        if isinstance(error, kind_of_error):
            return code, kind, message.format(place=place, error=_text(error))
    name = type(error).__qualname__
    return "failed", "terminal", f"{place}: it raised {name}; the log has the details"


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - an author's own class may break in __str__
        return type(error).__qualname__


def _is_delay(seconds: object) -> bool:
    return (
        isinstance(seconds, int | float)
        and not isinstance(seconds, bool)
        and math.isfinite(seconds)
        and seconds >= 0
    )


def _log(error: BaseException, place: Place, code: str, correlation_id: str) -> None:
    ids = {
        "workflow_id": place.workflow_id,
        "task_id": place.task_id,
        "attempt": place.attempt,
        "correlation_id": correlation_id,
    }
    said = " ".join(f"{name}={value}" for name, value in ids.items() if value is not None)
    # What was refused here says all in its text; elsewhere the way to the error matters too.
    told = [str(error)] if isinstance(error, _REFUSALS) else traceback.format_exception(error)
    full = redact("".join(told), limit=_LOGGED)
    _LOG.warning("%s failed with %s (%s)\n%s", place, code, said, full, extra=ids)
