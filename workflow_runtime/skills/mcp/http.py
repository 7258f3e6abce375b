"""
HTTP as a session of MCP needs it: what goes wrong with one request is the answer to that request.

Left to itself the SDK ends a session, and all calls on it, when one request cannot be sent, and
hides the status of an answer. Here both become a JSON-RPC error of that one request, whose code
says whether the server can have acted on it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import httpx2

# Outside of what JSON-RPC and MCP take for themselves.
NOT_SENT = 1001
"""The request did not get to the server, or the server did not take it: it may be sent again."""
LOST = 1002
"""The request may have been acted on; its answer did not come."""
GONE = 1003
"""The server does not know the session any more, and did nothing."""
REFUSED = 1004
"""The server refuses the request."""

_CONNECT_SECONDS = 10.0
_FAREWELL_SECONDS = 2.0
_SESSION = "mcp-session-id"
_BUSY = frozenset({429, 503})
_NEVER_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.ProxyError)


def http_client(headers: Mapping[str, str]) -> httpx2.AsyncClient:
    """Return a client whose answers have no time limit: that is the attempt's to say."""
    return _Client(
        headers=dict(headers), timeout=httpx2.Timeout(_CONNECT_SECONDS, read=None, pool=None)
    )


class _Client(httpx2.AsyncClient):
    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        # The farewell to a server that does not answer must not hold up the end of the process.
        seconds = _FAREWELL_SECONDS if request.method == "DELETE" else None
        try:
            async with asyncio.timeout(seconds):
                response = await super().send(request, **options)
            if request.method != "POST" or response.status_code < 400:
                return response
            await response.aread()
        except _NEVER_SENT:
            return _told(request, NOT_SENT, "it cannot be connected to")
        except httpx2.TransportError as error:
            return _told(request, LOST, f"the connection broke ({type(error).__name__})")
        found = _verdict(request, response)
        return response if found is None else _told(request, *found)


def _verdict(request: httpx2.Request, response: httpx2.Response) -> tuple[int, str] | None:
    """Return what a status means; None where the answer itself is an error of JSON-RPC."""
    status = response.status_code
    said = f"it answered with HTTP {status}"
    if _SESSION in request.headers:
        # The protocol says 404; some say 400, and that it is about the session.
        about_it = status == 400 and b"session" in response.content.lower()
        if status == 404 or about_it:
            return GONE, said
    if _is_rpc_error(response.content):
        return None
    if status in _BUSY:
        return NOT_SENT, said
    return (LOST if status >= 500 else REFUSED), said


def _is_rpc_error(body: bytes) -> bool:
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        return False
    return isinstance(answer, dict) and isinstance(answer.get("error"), dict)


def _told(request: httpx2.Request, code: int, message: str) -> httpx2.Response:
    error = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}}
    return httpx2.Response(502, request=request, json=error)
