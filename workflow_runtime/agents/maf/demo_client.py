"""
A chat client whose answers are made by a function of ours: the demo model, and what tests script.

It goes through the same function-calling loop as every provider's client, streamed or plain.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from itertools import batched
from typing import Any, override
from uuid import uuid4

from agent_framework import (
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    FunctionTool,
    Message,
    ResponseStream,
    UsageDetails,
)

from ..demo.messages import DemoCall, DemoMessage, DemoReply, DemoRequest

type Reply = Callable[[DemoRequest], DemoReply]

_PIECE = 12
_CHARACTERS_PER_TOKEN = 4


class DemoChatClient(FunctionInvocationLayer[Any], ChatMiddlewareLayer[Any], BaseChatClient[Any]):
    """Answers by *reply*; *pause* seconds lie between two pieces of a streamed answer."""

    def __init__(self, reply: Reply, *, pause: float = 0.008) -> None:
        super().__init__()
        self._reply = reply
        self._pause = pause

    @override
    def _inner_get_response(
        self,
        *,
        messages: Sequence[Message],
        stream: bool,
        options: Mapping[str, Any],
        **_kwargs: Any,
    ) -> Awaitable[ChatResponse] | ResponseStream[ChatResponseUpdate, ChatResponse]:
        request = _request(messages, options)
        if stream:
            return self._build_response_stream(self._stream(request))
        return self._plain(request)

    async def _plain(self, request: DemoRequest) -> ChatResponse:
        reply = self._reply(request)
        contents = [Content.from_text(reply.text)] if reply.text else []
        contents += [
            Content.from_function_call(_new_id(), call.name, arguments=call.arguments)
            for call in reply.calls
        ]
        return ChatResponse(
            messages=[Message(role="assistant", contents=contents)],
            usage_details=_usage(request, reply),
        )

    async def _stream(self, request: DemoRequest) -> AsyncIterator[ChatResponseUpdate]:
        reply = self._reply(request)
        for piece in _pieces(reply.text):
            yield _update(Content.from_text(piece, merge_mode="append"))
            await asyncio.sleep(self._pause)
        for call in reply.calls:
            call_id = _new_id()
            yield _update(_fragment(call_id, call, ""))
            for piece in _pieces(call.arguments, 400):
                yield _update(_fragment(call_id, call, piece))
                await asyncio.sleep(0)
        yield _update(Content.from_usage(_usage(request, reply), merge_mode="replace"))


def _request(messages: Sequence[Message], options: Mapping[str, Any]) -> DemoRequest:
    tools = options.get("tools") or []
    return DemoRequest(
        instructions=str(options.get("instructions") or ""),
        messages=tuple(_message(message) for message in messages),
        tools=tuple(tool.name for tool in tools if isinstance(tool, FunctionTool)),
    )


def _message(message: Message) -> DemoMessage:
    contents = message.contents
    return DemoMessage(
        role=str(message.role),
        text=message.text,
        calls=tuple(
            DemoCall(str(c.name), str(c.arguments)) for c in contents if c.type == "function_call"
        ),
        results=tuple(str(c.result) for c in contents if c.type == "function_result"),
    )


def _pieces(text: str, size: int = _PIECE) -> list[str]:
    return ["".join(characters) for characters in batched(text, size, strict=False)]


def _update(content: Content) -> ChatResponseUpdate:
    return ChatResponseUpdate(contents=[content], role="assistant")


def _fragment(call_id: str, call: DemoCall, arguments: str) -> Content:
    return Content.from_function_call(call_id, call.name, arguments=arguments, merge_mode="append")


def _new_id() -> str:
    return f"call_{uuid4().hex}"


def _usage(request: DemoRequest, reply: DemoReply) -> UsageDetails:
    read = len(request.instructions) + sum(
        len(m.text) + sum(map(len, m.results)) for m in request.messages
    )
    written = len(reply.text) + sum(len(call.arguments) for call in reply.calls)
    return UsageDetails(
        input_token_count=read // _CHARACTERS_PER_TOKEN,
        output_token_count=written // _CHARACTERS_PER_TOKEN,
    )
