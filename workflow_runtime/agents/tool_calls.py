"""
What a model may call in a turn, and what it is answered: our words, no vendor's.

Arguments come in raw: whatever the model sent, decoded where it was JSON. Answers are text for the
model, always, also when the call made no sense.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from secrets import token_hex
from typing import Any

from ..errors import (
    ConflictError,
    HubUnavailableError,
    InvalidRequestError,
    TooManyActiveError,
    WorkflowNotFoundError,
)
from ..logs import get_logger
from ..plan.encoding import dumps, loads
from ..plan.types import Json, JsonSchema

logger = get_logger(__name__)

_ERRORS: tuple[tuple[type[Exception], str], ...] = (
    (WorkflowNotFoundError, "workflow_not_found"),
    (InvalidRequestError, "invalid_request"),
    (ConflictError, "conflict"),
    (TooManyActiveError, "too_many_active"),
    (HubUnavailableError, "hub_unavailable"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A tool's answer to the model; ``ok`` is false where it tells of a problem."""

    text: str
    ok: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTool:
    """One tool as a model sees it, and what is called with its raw arguments.

    ``call`` never raises but on cancellation.
    """

    name: str
    description: str
    schema: JsonSchema
    call: Callable[[Any], Awaitable[Answer]]


def answer(value: Json, *, ok: bool = True) -> Answer:
    """Make an answer of JSON."""
    return Answer(text=dumps(value), ok=ok)


def refusal(code: str, message: str, **more: Json) -> Answer:
    """Make the answer ``{"error", "message", …}``."""
    return answer({"error": code, "message": message, **more}, ok=False)


def problem(name: str, error: Exception) -> Answer:
    """Say what is wrong with a call of *name*: in its own words where they are meant to be seen."""
    for kind, code in _ERRORS:
        if isinstance(error, kind):
            return refusal(code, str(error))
    correlation_id = token_hex(8)
    logger.error("%s failed", name, exc_info=error, extra={"correlation_id": correlation_id})
    return refusal(
        "failed", f"{name} failed; the log has the details.", correlation_id=correlation_id
    )


def decoded(arguments: Any) -> Any:
    """Return what the model meant to send.

    ``{"raw": x}``, which the Agent Framework makes of arguments that are not a JSON object, is
    opened, and a text that holds JSON is decoded, also where it was encoded twice; a text that does
    not is returned as it is.
    """
    if isinstance(arguments, dict) and arguments.keys() == {"raw"}:
        arguments = arguments["raw"]
    for _ in range(2):
        if not isinstance(arguments, str):
            break
        try:
            arguments = loads(arguments)
        except ValueError:
            break
    return arguments
