"""
Errors as RFC 9457 problem details: ``application/problem+json``.

Every error that leaves over HTTP is made here. A problem says what is wrong (``detail``), where
(``where``) and how to put it right (``fix``); ``code`` is stable. The text of an exception that the
runtime did not raise on purpose never leaves: it is logged beside a correlation id, and the id is
what the caller sees.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus

from starlette.responses import Response

from ..errors import (
    ConflictError,
    DataDirectoryError,
    HubUnavailableError,
    InvalidRequestError,
    ModelError,
    TooManyActiveError,
    WorkflowNotFoundError,
    WorkflowRuntimeError,
)
from ..logs import get_logger
from ..plan.types import Json
from .encoding import json_response

logger = get_logger(__name__)

# These two ask the caller for credentials: a provider's refusal of *our* key must not look like it.
_CREDENTIAL_STATUSES = frozenset({401, 403})

_KNOWN: tuple[tuple[type[WorkflowRuntimeError], int, str, int | None], ...] = (
    (InvalidRequestError, 400, "invalid_request", None),
    (WorkflowNotFoundError, 404, "workflow_not_found", None),
    (ConflictError, 409, "conflict", None),
    (TooManyActiveError, 429, "too_many_active", 30),
    (HubUnavailableError, 503, "hub_unavailable", 5),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One problem; ``retry_after`` is in seconds and becomes the header too."""

    status: int
    code: str
    detail: str
    where: str | None = None
    fix: str | None = None
    correlation_id: str | None = None
    retry_after: int | None = None

    def to_json(self) -> dict[str, Json]:
        """Return the members of the problem object, the absent ones left out."""
        members: dict[str, Json] = {
            "type": f"urn:workflow-runtime:problem:{self.code}",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "code": self.code,
            "detail": self.detail,
            "where": self.where,
            "fix": self.fix,
            "correlation_id": self.correlation_id,
            "retry_after": self.retry_after,
        }
        return {name: value for name, value in members.items() if value is not None}

    def to_response(self, headers: Mapping[str, str] | None = None) -> Response:
        """Return the response that carries this problem."""
        retry = {} if self.retry_after is None else {"retry-after": str(self.retry_after)}
        return json_response(
            self.to_json(),
            status=self.status,
            headers={**retry, **(headers or {})},
            media_type="application/problem+json",
        )


class RefusedRequestError(InvalidRequestError):
    """An HTTP request that is refused with this very problem."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.detail)
        self.problem = problem


def bad_request(detail: str, *, where: str, fix: str, status: int = 400) -> RefusedRequestError:
    """Return the error for a request that its caller must change."""
    return RefusedRequestError(
        Problem(status=status, code="invalid_request", detail=detail, where=where, fix=fix)
    )


def model_problem(code: str, message: str, status: int) -> Problem:
    """Return the problem for a model provider's failure or a failed turn."""
    fitting = 502 if status in _CREDENTIAL_STATUSES else status
    return Problem(
        status=fitting, code=code, detail=message, retry_after=30 if fitting == 429 else None
    )


def problem_of(error: Exception) -> Problem:
    """Return the problem for *error*; an unexpected one is logged with its correlation id."""
    match error:
        case RefusedRequestError():
            return error.problem
        case ModelError():
            return model_problem(error.code, str(error), error.status)
        case DataDirectoryError():
            logger.error("the data directory cannot be used", exc_info=error)
            return Problem(
                status=503,
                code="data_directory_unusable",
                detail="The app cannot use its data directory now; its log says why.",
            )
    for kind, status, code, retry_after in _KNOWN:
        if isinstance(error, kind):
            return Problem(status=status, code=code, detail=str(error), retry_after=retry_after)
    return _unexpected(error)


def _unexpected(error: Exception) -> Problem:
    correlation_id = secrets.token_hex(8)
    logger.error(
        "A request failed unexpectedly", exc_info=error, extra={"correlation_id": correlation_id}
    )
    return Problem(
        status=500,
        code="internal_error",
        detail="The server failed on this request.",
        fix="Look for the correlation id in the server's log.",
        correlation_id=correlation_id,
    )
