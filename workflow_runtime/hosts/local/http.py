"""
The HTTP side: routes of the app's functions, served as the Functions host serves them.

The Starlette request is handed to the function as it came, with the route's parameters in
``path_params``; the function's response goes out as it is, streamed or not. As under
``func start``, function keys are not asked for: the host is bound to this machine.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ...logs import get_logger
from .calls import Caller
from .functions_app import METHODS, HttpFunction
from .origins import stranger
from .routes import compile_route, joined, precedence

_LOG = get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    pattern: re.Pattern[str]
    target: HttpFunction


class HttpSide:
    """Finds the function for a request and calls it; ``app`` is the ASGI application."""

    def __init__(self, functions: Sequence[HttpFunction], caller: Caller, *, prefix: str) -> None:
        self._caller = caller
        self._entries = tuple(
            _Entry(pattern=compile_route(joined(prefix, function.route)), target=function)
            for function in sorted(functions, key=lambda function: precedence(function.route))
        )
        everything = Route("/{path:path}", self._answer, methods=sorted(METHODS))
        self.app = Starlette(routes=[everything], exception_handlers={HTTPException: _refused})

    async def _answer(self, request: Request) -> Response:
        refusal = stranger(request.headers)
        if refusal is not None:
            return problem(403, refusal)
        path = request.scope["path"]  # decoded; that of the URL has some characters encoded again
        matching = [
            (entry.target, found)
            for entry in self._entries
            if (found := entry.pattern.fullmatch(path))
        ]
        for target, found in matching:
            if request.method in target.methods:
                parameters = {k: v for k, v in found.groupdict().items() if v is not None}
                return await self._call(target, request, parameters)
        if not matching:
            return problem(404, f"no function answers at {path!r}")
        allowed = sorted({method for target, _ in matching for method in target.methods})
        detail = f"{request.method} is not allowed here; use {' or '.join(allowed)}"
        return problem(405, detail, headers={"Allow": ", ".join(allowed)})

    async def _call(
        self, target: HttpFunction, request: Request, parameters: dict[str, str]
    ) -> Response:
        request.scope["path_params"] = parameters
        try:
            return _response(await self._caller.call(target.function, request), target)
        except HTTPException:
            raise
        except Exception:  # noqa: BLE001 whatever it is, the caller gets a problem and no traceback
            correlation_id = uuid.uuid4().hex
            name = target.function.name
            _LOG.exception("function %s failed (correlation_id=%s)", name, correlation_id)
            detail = "the function failed; the log has the details under this correlation id"
            return problem(500, detail, correlation_id=correlation_id)


def problem(
    status: int, detail: str, *, headers: Mapping[str, str] | None = None, **members: Any
) -> JSONResponse:
    """Return an RFC 9457 problem."""
    title = HTTPStatus(status).phrase
    body = {"type": "about:blank", "title": title, "status": status, "detail": detail, **members}
    return JSONResponse(body, status, headers, media_type="application/problem+json")


async def _refused(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return problem(error.status_code, str(error.detail), headers=error.headers)


def _response(value: Any, target: HttpFunction) -> Response:
    """Read a result as the FastAPI extension does; None fails there, so it fails here."""
    if isinstance(value, Response):
        return value
    if isinstance(value, BaseModel):
        return JSONResponse(value.model_dump(mode="json"))
    if isinstance(value, str | int | float | bool | list | dict):
        return JSONResponse(value)
    message = f"function {target.function.name!r} returned {type(value).__name__}, not a response"
    raise TypeError(message)
