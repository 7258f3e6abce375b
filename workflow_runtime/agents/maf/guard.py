"""
What stands between the framework's loop and a provider, at every request of a turn.

It bounds the wait for each piece of an answer, gives trouble its name, and makes arguments safe
that the framework would stumble over: JSON nested too deeply, or with integers of thousands of
digits, raises inside its loop and would end the turn.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from typing import Any, override

from agent_framework import (
    ChatContext,
    ChatMiddleware,
    ChatResponse,
    ChatResponseUpdate,
    Message,
    ResponseStream,
)

from ..provider_errors import model_error, timed_out


class Guard(ChatMiddleware):
    """Watches the requests of one turn; raises ModelError and nothing else of a provider's.

    A plain request is not sent while *paused* says so: an empty answer ends the framework's loop.
    """

    def __init__(self, *, provider: str, seconds: float, paused: Callable[[], bool]) -> None:
        self._provider = provider
        self._seconds = seconds
        self._paused = paused

    @override
    async def process(self, context: ChatContext, call_next: Callable[[], Awaitable[None]]) -> None:
        """Send one request."""
        if context.stream:
            await call_next()
            inner = context.result
            assert isinstance(inner, ResponseStream)
            context.result = ResponseStream(self._watched(inner), finalizer=_finalize)
            return
        if self._paused():
            context.result = ChatResponse(messages=[])
            return
        limit = asyncio.timeout(self._seconds)
        try:
            async with limit:
                await call_next()
        except Exception as error:
            if limit.expired():
                raise timed_out(self._provider, self._seconds) from error
            raise model_error(error, self._provider) from error
        if isinstance(context.result, ChatResponse):
            _make_safe(context.result.messages)

    async def _watched(
        self, inner: ResponseStream[ChatResponseUpdate, ChatResponse[Any]]
    ) -> AsyncIterator[ChatResponseUpdate]:
        async with inner:
            updates = aiter(inner)
            while True:
                limit = asyncio.timeout(self._seconds)
                try:
                    async with limit:
                        update = await anext(updates)
                except StopAsyncIteration:
                    return
                except Exception as error:
                    if limit.expired():
                        raise timed_out(self._provider, self._seconds) from error
                    raise model_error(error, self._provider) from error
                yield update


def _finalize(updates: Sequence[ChatResponseUpdate]) -> ChatResponse[Any]:
    response: ChatResponse[Any] = ChatResponse.from_updates(updates)
    _make_safe(response.messages)
    return response


def _make_safe(messages: Iterable[Message]) -> None:
    """Put ``{"raw": text}`` in the place of arguments that are not a JSON object.

    The framework does the same for its tools, but sends the model's own text back in the next
    request, where a strict provider refuses the whole request for it.
    """
    for message in messages:
        for content in message.contents:
            if content.type == "function_call" and isinstance(content.arguments, str):
                text = content.arguments
                if text and not _is_object(text):
                    content.arguments = {"raw": text}


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False
