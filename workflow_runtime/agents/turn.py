"""
One turn of one skill: from the conversation to an answer, telling what happens as it happens.

Knows models and tools, and nothing of where sessions are kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..errors import ModelError, WorkflowRuntimeError
from ..logs import get_logger
from ..plan.encoding import dumps, scrub
from ..plan.types import Json
from ..skills import Skill
from .conversation import Entry, kept
from .events import TextDelta, ToolEnded, ToolStarted, TurnDone, TurnEvent, TurnFailed
from .models import Models
from .sessions import ToolCall
from .tool_calls import Answer, ModelTool

logger = get_logger(__name__)

type Emit = Callable[[TurnEvent], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRequest:
    """What a turn needs; ``timeout`` is in seconds, ``correlation_id`` finds it in the log."""

    skill: Skill
    instructions: str
    entries: Sequence[Entry]
    tools: Sequence[ModelTool]
    timeout: float
    correlation_id: str


@dataclass(slots=True, kw_only=True)
class TurnLog:
    """What a turn has done so far; it outlives a turn that fails."""

    text: list[str] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    workflows: dict[str, dict[str, Json]] = field(default_factory=dict)
    usage: dict[str, Json] = field(default_factory=dict)

    def note(self, envelope: dict[str, Json]) -> None:
        """Keep the newest status of a run that the turn touched."""
        workflow_id = str(envelope.get("workflow_id"))
        self.workflows[workflow_id] = {
            "workflow_id": workflow_id,
            "status": envelope.get("status"),
        }


async def run_turn(
    request: TurnRequest, *, models: Models, log: TurnLog, emit: Emit
) -> TurnDone | TurnFailed:
    """Run the turn to its end; raises nothing but CancelledError."""
    limit = asyncio.timeout(request.timeout)
    try:
        async with limit:
            await _exchange(request, models=models, log=log, emit=emit)
    except ModelError as error:
        return TurnFailed(code=error.code, message=str(error), status=error.status)
    except WorkflowRuntimeError as error:
        logger.exception("a turn of skill %r failed", request.skill.slug)
        return TurnFailed(code="turn_failed", message=str(error), status=500)
    except Exception:
        if limit.expired():
            message = (
                f"The turn took longer than {request.timeout:g} s, the 'timeout' of the skill "
                f"{request.skill.slug!r}; long work belongs into a workflow."
            )
            return TurnFailed(code="turn_timed_out", message=message, status=504)
        logger.exception("a turn of skill %r failed", request.skill.slug)
        return unexpected(request.correlation_id)
    return _done(log)


def unexpected(correlation_id: str) -> TurnFailed:
    """Return how a turn failed about which a person is told no more."""
    message = f"The turn failed; the log has the details under {correlation_id}."
    return TurnFailed(code="turn_failed", message=message, status=500)


def _done(log: TurnLog) -> TurnDone | TurnFailed:
    response = scrub("".join(log.text)).strip()
    if not response and not log.workflows:
        message = "The model gave an empty answer."
        return TurnFailed(code="model_failed", message=message, status=502)
    return TurnDone(
        response=response or "The workflow is going; its result will follow here.",
        tool_calls=tuple({"name": call.name, "status": call.status} for call in log.calls),
        workflows=tuple(log.workflows.values()),
        usage=log.usage,
    )


async def _exchange(request: TurnRequest, *, models: Models, log: TurnLog, emit: Emit) -> None:
    await models.ready()
    from .maf import loop

    exchange = loop.Exchange(
        client=models.client_for(request.skill),
        provider=models.provider,
        request_timeout=models.request_timeout,
        instructions=request.instructions,
        entries=request.entries,
        tools=[_observed(tool, log, emit) for tool in request.tools],
        options=models.options_for(request.skill),
    )
    between = False
    async for piece in loop.stream(exchange):
        match piece:
            case loop.Piece(text):
                if between and log.text:  # what follows a tool begins a paragraph
                    text = f"\n\n{text}"
                between = False
                log.text.append(text)
                emit(TextDelta(text=scrub(text)))
            case loop.CallBegan(name, known):
                between = True
                emit(ToolStarted(name=name))
                if not known:
                    # The framework answers for a tool that does not exist.
                    log.calls.append(ToolCall(name=name, arguments="", result="", status="error"))
                    emit(ToolEnded(name=name, status="error"))
            case loop.Usage(read, written):
                log.usage = {"input_tokens": read, "output_tokens": written}


def _observed(tool: ModelTool, log: TurnLog, emit: Emit) -> ModelTool:
    async def call(arguments: Any) -> Answer:
        answer = await tool.call(arguments)
        status: Any = "ok" if answer.ok else "error"
        sent = arguments if isinstance(arguments, dict) else {}
        log.calls.append(
            kept(ToolCall(name=tool.name, arguments=_text(sent), result=answer.text, status=status))
        )
        emit(ToolEnded(name=tool.name, status=status))
        return answer

    return replace(tool, call=call)


def _text(arguments: dict[str, Any]) -> str:
    try:
        return dumps(arguments)
    except ValueError:
        return "{}"
