"""
One connection to one MCP server, held open by a task of its own.

The SDK's cancel scopes belong to the task that entered them, so one task enters a session and
leaves it again; calls may come from any task of the same loop. Cancelling the task closes the
session, which is also what the end of the loop does: a server that is a process of ours ends then.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from contextvars import Context
from types import TracebackType
from typing import Any, Self

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, Implementation, Tool

from ...execution import redact
from ...logs import get_logger
from .config import HttpServer, Server
from .http import http_client
from .tools import Offer

_LOG = get_logger(__name__)
OPEN_SECONDS = 10.0
"""How long a server may take to start and to name its tools."""
_MAX_PAGES = 100
_WE = Implementation(name="workflow-runtime", version="1")


class NotOpenError(Exception):
    """The session could not be opened, or is over; the text says why."""


class Session:
    """A session that opens at once; make it in the loop that uses it.

    ``offers`` are the server's tools, once it is open.
    """

    def __init__(self, server: Server, *, seconds: float = OPEN_SECONDS) -> None:
        self.loop = asyncio.get_running_loop()
        self.offers: tuple[Offer, ...] = ()
        self._server = server
        self._client: Client | None = None
        self._why = "its session was closed"
        self._settled = asyncio.Event()
        self._over = asyncio.Event()
        self._bound = self.loop.call_later(seconds, self._give_up, seconds)
        # In a context of its own: its log lines are not about the task that was the first to call.
        self._task = self.loop.create_task(
            self._hold(), name=f"MCP server {server.name}", context=Context()
        )

    @property
    def is_over(self) -> bool:
        """Whether it ended, or the server did."""
        return self._over.is_set()

    async def opened(self) -> None:
        """Return when it is open; raises NotOpenError."""
        await self._settled.wait()
        if self._client is None:
            raise NotOpenError(self._why)

    async def call(self, tool: str, arguments: dict[str, Any]) -> CallToolResult:
        """Call a tool; raises NotOpenError before anything is sent, and what the SDK raises.

        A cancelled call is told to the server, and leaves the session as it is.
        """
        if self._client is None or self.is_over:
            raise NotOpenError(self._why)
        return await self._client.call_tool(tool, arguments)

    def end(self) -> None:
        """Close it, without waiting for that."""
        self._task.cancel()

    async def close(self) -> None:
        """Close it and wait for the end of a server that is a process of ours."""
        self.end()
        await asyncio.wait({self._task})

    def _give_up(self, seconds: float) -> None:
        self._why = f"it did not answer within {seconds:g} s"
        self._settled.set()
        self._task.cancel()

    async def _hold(self) -> None:
        transport = _watched(_transport(self._server), self._over.set)
        try:
            async with Client(transport, cache=None, client_info=_WE) as client:
                self.offers = await _offers(client)
                self._client = client
                self._bound.cancel()
                self._settled.set()
                await self._over.wait()
        except Exception as error:  # noqa: BLE001 - a server may do anything
            if not self._settled.is_set():
                self._why = reason(error)
        finally:
            was_open, self._client = self._client is not None, None
            self._bound.cancel()
            self._over.set()
            self._settled.set()
        if was_open:
            _LOG.warning("the connection to the MCP server %r has ended", self._server.name)


def reason(error: BaseException) -> str:
    """Say in one line why a server could not be reached."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, MCPError):
        closed = error.message == "Connection closed"
        said = "it ended before it had answered" if closed else error.message
    elif isinstance(error, OSError):
        said = f"it cannot be started: {error.strerror or type(error).__name__}"
    else:
        said = f"{type(error).__name__}: {error}"
    return redact(" ".join(said.split()), limit=200)


async def _offers(client: Client) -> tuple[Offer, ...]:
    found: list[Tool] = []
    cursor: str | None = None
    for _ in range(_MAX_PAGES):
        page = await client.list_tools(cursor=cursor)
        found += page.tools
        cursor = page.next_cursor
        if not cursor:
            break
    return tuple(_offer(tool) for tool in found)


def _offer(tool: Tool) -> Offer:
    hints = tool.annotations
    return Offer(
        name=tool.name,
        description=tool.description or tool.title or "",
        arguments=tool.input_schema,
        output=tool.output_schema,
        read_only=hints is not None and hints.read_only_hint is True,
        idempotent=hints is not None and hints.idempotent_hint is True,
    )


type _Streams = tuple[Any, Any]


@asynccontextmanager
async def _transport(server: Server) -> AsyncIterator[_Streams]:
    if isinstance(server, HttpServer):
        async with (
            http_client(server.headers) as client,
            streamable_http_client(server.url, http_client=client) as streams,
        ):
            yield streams
        return
    given = StdioServerParameters(
        command=server.command, args=list(server.args), env=dict(server.env), cwd=server.cwd
    )
    # What a server writes to its standard error belongs to what this process writes there.
    async with stdio_client(given, errlog=sys.__stderr__ or sys.stderr) as streams:
        yield streams


@asynccontextmanager
async def _watched(
    transport: AbstractAsyncContextManager[_Streams], on_end: Callable[[], None]
) -> AsyncIterator[_Streams]:
    """Have *on_end* called when nothing can come from the server any more."""
    async with transport as (read, write):
        yield _Watched(read, on_end), write


class _Watched:
    """The reading side of a transport; the SDK tells nobody when it has ended."""

    def __init__(self, stream: Any, on_end: Callable[[], None]) -> None:
        self._stream = stream
        self._on_end = on_end

    @property
    def last_context(self) -> Any:
        """The sender's context of what was read last, where the transport has it."""
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> Any:
        return await self._stream.receive()

    async def aclose(self) -> None:
        await self._stream.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self._stream.__anext__()
        except BaseException:
            self._on_end()
            raise

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        ended: bool | None = await self._stream.__aexit__(kind, error, trace)
        return ended
