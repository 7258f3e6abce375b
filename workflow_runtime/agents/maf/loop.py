"""
One exchange with a model through the framework's function-calling loop, streamed or plain.

Takes our messages and tools, gives our pieces back; nothing of the framework leaves this package.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from agent_framework import ChatResponse, Content, Message

from ...plan.encoding import dumps, scrub
from ..conversation import Entry
from ..sessions import ToolCall
from ..tool_calls import ModelTool
from .guard import Guard
from .providers import ChatClient
from .tools import RawTool


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """All that one exchange needs; ``options`` are the framework's (``max_tokens``, …).

    A plain exchange ends after the calls of an answer when ``paused`` says so: it is asked before
    each request.
    """

    client: ChatClient
    provider: str
    request_timeout: float
    instructions: str
    entries: Sequence[Entry]
    tools: Sequence[ModelTool] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    paused: Callable[[], bool] = field(default=lambda: False)


@dataclass(frozen=True, slots=True)
class Piece:
    """The next text of an answer."""

    text: str


@dataclass(frozen=True, slots=True)
class CallBegan:
    """The model has begun to call a tool; ``known`` is false for a tool that does not exist."""

    name: str
    known: bool


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of the exchange so far, all its requests together."""

    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Ended:
    """How a plain exchange ended.

    ``text`` is that of its last message; ``added`` is what the conversation has grown by, words and
    calls in the order in which they came.
    """

    text: str
    usage: Usage
    added: tuple[Entry, ...]


async def stream(exchange: Exchange) -> AsyncIterator[Piece | CallBegan | Usage]:
    """Run the exchange and give its pieces as they come; raises ModelError."""
    names = {tool.name for tool in exchange.tools}
    begun: set[str] = set()
    async with _request(exchange, stream=True) as response:
        async for update in response:
            for content in update.contents:
                if content.type == "text" and content.text:
                    yield Piece(content.text)
                elif content.type == "function_call" and content.name:
                    key = content.id or content.call_id or ""
                    if key not in begun:
                        begun.add(key)
                        yield CallBegan(content.name, content.name in names)
                elif content.type == "usage" and content.usage_details:
                    yield _usage(content.usage_details)


async def run(exchange: Exchange) -> Ended:
    """Run the exchange until it ends or is paused; raises ModelError."""
    response: ChatResponse[Any] = await _request(exchange, stream=False)
    said = [m.text for m in response.messages if m.role == "assistant" and m.text]
    return Ended(
        scrub(said[-1]) if said else "",
        _usage(response.usage_details or {}),
        tuple(_entries(response.messages)),
    )


def _request(exchange: Exchange, *, stream: bool) -> Any:
    options: dict[str, Any] = {**exchange.options, "instructions": exchange.instructions}
    if exchange.tools:
        options["tools"] = [RawTool(tool) for tool in exchange.tools]
    guard = Guard(
        provider=exchange.provider, seconds=exchange.request_timeout, paused=exchange.paused
    )
    client: Any = exchange.client
    return client.get_response(
        _messages(exchange.entries), stream=stream, options=options, middleware=[guard]
    )


def _messages(entries: Sequence[Entry]) -> list[Message]:
    messages = []
    ids = count(1)
    for entry in entries:
        numbered = [(f"call_{next(ids)}", call) for call in entry.calls]
        if numbered:
            calls = [
                Content.from_function_call(call_id, call.name, arguments=call.arguments)
                for call_id, call in numbered
            ]
            results = [
                Content.from_function_result(call_id, result=call.result)
                for call_id, call in numbered
            ]
            messages.append(Message(role="assistant", contents=calls))
            messages.append(Message(role="tool", contents=results))
        if entry.text:
            messages.append(Message(role=entry.role, contents=[entry.text]))
    return messages


def _entries(messages: Sequence[Message]) -> Iterator[Entry]:
    """Read the framework's messages, in which answers to calls stand in messages of their own."""
    results = {
        content.call_id: str(content.result or "")
        for message in messages
        for content in message.contents
        if content.type == "function_result"
    }
    for message in messages:
        if message.role != "assistant":
            continue
        if message.text:
            yield Entry(role="assistant", text=scrub(message.text))
        calls = tuple(
            ToolCall(
                name=str(content.name),
                arguments=_text(content.arguments),
                result=results.get(content.call_id, ""),
            )
            for content in message.contents
            if content.type == "function_call"
        )
        if calls:
            yield Entry(role="assistant", text="", calls=calls)


def _text(arguments: Any) -> str:
    return scrub(arguments) if isinstance(arguments, str) else dumps(arguments or {})


def _usage(details: Mapping[str, Any]) -> Usage:
    return Usage(
        int(details.get("input_token_count") or 0), int(details.get("output_token_count") or 0)
    )
