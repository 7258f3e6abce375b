"""
Calls of tools on an MCP server, and what their ends mean.

* The server did not get the call: :class:`RetryableError`, nothing has happened.
* The server answered, with an error too: that is the end of the call. ``isError`` and errors of
  JSON-RPC are :class:`TerminalError`.
* The call was sent and no answer came: nobody knows. Only where the tool says that it reads, or
  that a second call changes nothing, does calling again do no harm.
"""

from __future__ import annotations

import asyncio

from mcp.shared.exceptions import MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    AudioContent,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from ...errors import RetryableError, TerminalError
from ...execution import OutcomeUnknownError
from ...plan.types import Json
from .config import Server
from .http import GONE, LOST, NOT_SENT
from .session import NotOpenError, Session
from .tools import Offer


class _GoneError(Exception):
    """The session is over on the other side, and the call was not taken."""


class Connection:
    """The calls of one server, over one session of each loop at a time.

    A session is opened by the first call, and another one by the first call after it has ended.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self._sessions: dict[asyncio.AbstractEventLoop, Session] = {}

    async def call(self, offer: Offer, arguments: dict[str, Json]) -> Json:
        """Return the tool's result; raises what the module's docstring says."""
        for _ in range(2):
            session = await self._opened()
            try:
                return result_of(await self._sent(session, offer, arguments))
            except (_GoneError, NotOpenError):
                # Nothing has happened, and another session is worth a try.
                self._forget(session)
        raise RetryableError(f"{self._name} ends each session before a call")

    @property
    def _name(self) -> str:
        return f"MCP server {self._server.name!r}"

    async def _opened(self) -> Session:
        loop = asyncio.get_running_loop()
        session = self._sessions.get(loop)
        if session is None or session.is_over:
            self._sessions = {k: v for k, v in self._sessions.items() if not k.is_closed()}
            session = self._sessions[loop] = Session(self._server)
        try:
            await session.opened()
        except NotOpenError as error:
            self._forget(session)
            raise RetryableError(f"{self._name} cannot be reached: {error}") from error
        return session

    def _forget(self, session: Session) -> None:
        session.end()
        if self._sessions.get(session.loop) is session:
            del self._sessions[session.loop]

    async def _sent(
        self, session: Session, offer: Offer, arguments: dict[str, Json]
    ) -> CallToolResult:
        try:
            return await session.call(offer.name, arguments)
        except MCPError as error:
            if error.code == GONE:
                raise _GoneError from error
            if error.code == NOT_SENT:
                raise RetryableError(f"{self._name} was not called: {error.message}") from error
            if _is_lost(error, session):
                raise self._unknown(offer, error.message) from error
            raise TerminalError(f"{self._name} refused the call: {error.message}") from error
        except NotOpenError:
            raise
        except (RuntimeError, ValueError) as error:
            # The SDK checks what came against the protocol and the tool's own output schema.
            raise TerminalError(
                f"{self._name} was called, and what it answered does not fit its output schema or"
                " the protocol; the log has the details"
            ) from error

    def _unknown(self, offer: Offer, why: str) -> Exception:
        said = f"{self._name} was called and no answer came: {why}"
        if offer.repeatable:
            return RetryableError(said)
        return OutcomeUnknownError(f"{said}; nobody knows whether it did its work")


def _is_lost(error: MCPError, session: Session) -> bool:
    """Whether no answer came; the SDK's code for it is one that servers use for errors as well."""
    if error.code == LOST:
        return True
    told = session.is_over or error.message.startswith("SSE stream")
    return error.code == CONNECTION_CLOSED and told


def result_of(answer: CallToolResult) -> Json:
    """Return the structured content where there is some, else the text; raises TerminalError."""
    if answer.is_error:
        raise TerminalError(_text(answer.content) or "the tool failed and did not say why")
    if answer.structured_content is not None:
        structured: Json = answer.structured_content
        return structured
    return _text(answer.content)


def _text(blocks: list[ContentBlock]) -> str:
    return "\n".join(_text_of(block) for block in blocks)


def _text_of(block: ContentBlock) -> str:
    match block:
        case TextContent(text=text):
            return text
        case EmbeddedResource(resource=TextResourceContents(text=text)):
            return text
        case ResourceLink(uri=uri):
            return str(uri)
        case ImageContent(mime_type=kind) | AudioContent(mime_type=kind):
            return f"[{block.type}: {kind}]"
        case _:
            return f"[{block.type}]"
