"""
A turn as server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html).

``session``, then ``delta``, ``tool_start``, ``tool_end`` and ``workflow`` as they happen, then
exactly one ``done`` or ``error``. Each event has one line of JSON. A comment line in quiet times
keeps proxies from closing the connection.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import assert_never

from starlette.responses import StreamingResponse

from ..agents.events import (
    TextDelta,
    ToolEnded,
    ToolStarted,
    TurnDone,
    TurnEvent,
    TurnFailed,
    WorkflowChanged,
)
from ..plan.encoding import dumps
from ..plan.types import Json
from .encoding import NO_STORE
from .problems import Problem, model_problem
from .sessions import session_headers
from .turns import Turn

COMMENT = b": still here\n\n"
_LINE_BREAKS = {code: f"\\u{code:04x}" for code in (0x85, 0x2028, 0x2029)}


def answer(session_id: str, done: TurnDone) -> dict[str, Json]:
    """Return the body of a finished chat answer: of ``/chat`` and of the event ``done``."""
    return {
        "session_id": session_id,
        "response": done.response,
        "tool_calls": list(done.tool_calls),
        "workflows": list(done.workflows),
        "usage": done.usage,
    }


def stream_response(session_id: str, turn: Turn, *, heartbeat: float) -> StreamingResponse:
    """Return the response that tells *turn* while it happens."""
    return StreamingResponse(
        _frames(session_id, turn, heartbeat=heartbeat),
        headers={**NO_STORE, "x-accel-buffering": "no", **session_headers(session_id)},
        media_type="text/event-stream",
    )


async def _frames(session_id: str, turn: Turn, *, heartbeat: float) -> AsyncIterator[bytes]:
    yield frame("session", {"session_id": session_id})
    async for event in turn.events(heartbeat=heartbeat):
        yield COMMENT if event is None else _event_frame(session_id, event)


def frame(event: str, data: Json) -> bytes:
    """Return one event in the wire format, whose data is one line for every reader.

    JSON holds no raw CR or LF. The other characters that Unicode counts as line breaks do not end a
    line in this format, but many clients split at them, so they are written as JSON escapes.
    """
    return f"event: {event}\ndata: {dumps(data).translate(_LINE_BREAKS)}\n\n".encode()


def _event_frame(session_id: str, event: TurnEvent | Problem) -> bytes:
    data: dict[str, Json]
    match event:
        case TextDelta():
            name, data = "delta", {"text": event.text}
        case ToolStarted():
            name, data = "tool_start", {"name": event.name}
        case ToolEnded():
            name, data = "tool_end", {"name": event.name, "status": event.status}
        case WorkflowChanged():
            name, data = "workflow", event.envelope
        case TurnDone():
            name, data = "done", answer(session_id, event)
        case TurnFailed():
            problem = model_problem(event.code, event.message, event.status)
            name, data = "error", problem.to_json()
        case Problem():
            name, data = "error", event.to_json()
        case _:
            assert_never(event)
    return frame(name, data)
