"""
Run one attempt and say, as plain data, how it went.

Nothing but a cancellation leaves :func:`carry_out`: a failure is data from here on, so that every
host sees the same thing. What a failure says is safe for a model and a history to keep; the full
error goes to the log under the failure's correlation id.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from ..logs import bound
from ..plan.encoding import dumps
from ..plan.types import Json
from .calls import StepCalls, mark_for
from .context import TaskContext, entered
from .failures import AlreadyBegunError, Place, ToolMissingError, failure_of, log_late_end
from .markers import Markers
from .pool import ToolPool
from .requests import AgentAnswer, AgentRequest, AttemptRequest, SubAgents
from .results import MAX_RESULT_BYTES, ResultTooLargeError, to_json
from .signals import CancelSignals, Signal
from .supervision import RunCanceledError, Watch
from .tools import Tool, ToolBox

type Outcome = dict[str, Any]
"""One of ``value``, ``failure`` and ``ask``, and ``usage`` of a sub-agent.

``failure`` is ``{"code", "message", "kind", "correlation_id", "retry_after"?}``, ``ask`` is
``{"tool", "args", "transcript"}``.
"""


async def carry_out(
    request: AttemptRequest,
    *,
    tools: ToolBox,
    agents: SubAgents,
    pool: ToolPool,
    signals: CancelSignals,
    markers: Markers,
) -> Outcome:
    """Run the attempt; raises nothing but CancelledError when the caller is cancelled."""
    tool = tools.get(request.target) if request.kind == "tool" else None
    place = _place(request, tool)
    with signals.attempt(request.workflow_id) as signal, _logged(place):
        watch = _watch(request.timeout, signal, place)
        step = _step(request, signal)
        if request.kind == "sub_agent":
            calls = StepCalls(step, markers)

            async def run_agent() -> Outcome:
                return _bounded(await _run_agent(request, calls, agents, watch))

            return await _outcome(run_agent, place, signal)

        async def run_step() -> Outcome:
            if tool is None:
                raise ToolMissingError
            with entered(step):
                call = _Call(tool=tool, payload=request.payload, pool=pool, watch=watch)
                return _bounded({"value": await call.run(before=mark_for(tool, step, markers))})

        return await _outcome(run_step, place, signal)


async def refuse(request: AttemptRequest, *, tools: ToolBox, markers: Markers) -> Outcome:
    """Say how an attempt went that is not made, since its run is being canceled.

    An earlier delivery of it may have called the tool; for one that acts once the mark tells.
    """
    tool = tools.get(request.target) if request.kind == "tool" else None
    place = _place(request, tool)
    begun = place.once and await asyncio.to_thread(markers.exists, request.idempotency_key)
    with _logged(place):
        return {"failure": failure_of(AlreadyBegunError() if begun else RunCanceledError(), place)}


async def call_tool(
    tool: Tool, arguments: Json, *, pool: ToolPool, calls: StepCalls | None = None
) -> Outcome:
    """Call a tool for an agent: checked, bounded in time, converted and made safe as for a plan.

    *calls* are those of the step that the agent works for; ``task_context()`` has no answer where
    there is none, and nothing marks a call of a tool that acts once.
    """
    place = _place_of_call(tool, None if calls is None else calls.step)
    signal = Signal() if calls is None else calls.signal()

    async def run_tool() -> Outcome:
        timeout = tool.policy.timeout
        seconds = None if timeout is None else timeout.total_seconds()
        watch = _watch(seconds, signal, place)
        call = _Call(tool=tool, payload=arguments, pool=pool, watch=watch)
        if calls is None:
            with entered(None):
                return {"value": await call.run()}
        with calls.making(tool, arguments, signal) as step, entered(step):
            return {"value": await call.run(before=mark_for(tool, step, calls.markers))}

    with _logged(place):
        return await _outcome(run_tool, place, signal)


def _place(request: AttemptRequest, tool: Tool | None) -> Place:
    return Place(
        kind=request.kind,
        target=request.target,
        workflow_id=request.workflow_id,
        task_id=request.task_id,
        attempt=request.attempt,
        once=_acts_once(tool),
    )


def _place_of_call(tool: Tool, step: TaskContext | None) -> Place:
    if step is None:
        return Place(kind="tool", target=tool.name)
    return Place(
        kind="tool",
        target=tool.name,
        workflow_id=step.workflow_id,
        task_id=step.task_id,
        attempt=step.attempt,
        once=_acts_once(tool),
    )


def _acts_once(tool: Tool | None) -> bool:
    return tool is not None and tool.policy.side_effects == "once"


def _step(request: AttemptRequest, signal: Signal) -> TaskContext:
    return TaskContext(
        workflow_id=request.workflow_id,
        task_id=request.task_id,
        attempt=request.attempt,
        idempotency_key=request.idempotency_key,
        signal=signal,
    )


def _watch(timeout: float | None, signal: Signal, place: Place) -> Watch:
    return Watch(timeout=timeout, signal=signal, on_late=partial(log_late_end, place))


def _logged(place: Place) -> AbstractContextManager[None]:
    return bound(
        workflow_id=place.workflow_id,
        task_id=place.task_id,
        attempt=place.attempt,
        correlation_id=place.correlation_id,
    )


async def _outcome(run: Callable[[], Awaitable[Outcome]], place: Place, signal: Signal) -> Outcome:
    try:
        return await run()
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        # Nobody cancelled us: the tool itself raised it, perhaps since it was told to stop.
        return {"failure": failure_of(RunCanceledError() if signal.is_set() else error, place)}
    except BaseException as error:  # noqa: BLE001 - a tool may raise anything
        # sys.exit() in a tool must not end the worker.
        return {"failure": failure_of(error, place)}


def _bounded(outcome: Outcome) -> Outcome:
    """Refuse what is too large for a history: one event of it that cannot be read hides the run."""
    size = len(dumps(outcome).encode())
    if size > MAX_RESULT_BYTES:
        raise ResultTooLargeError(size)
    return outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    """One call of a tool: where it runs, what is checked before it, what its result becomes."""

    tool: Tool
    payload: Json
    pool: ToolPool
    watch: Watch

    async def run(self, *, before: Callable[[], None] | None = None) -> Json:
        """Call the tool; *before* may block, and is the last thing that is done before it."""
        if self.tool.is_async:
            if before is not None:
                await self.watch.in_thread(self.pool, partial(self._prepare, before))
            begin = partial(self._begin, None)
            return to_json(await self.watch.on_loop(begin, is_marked=before is not None))
        value = await self.watch.in_thread(self.pool, partial(self._in_thread, before))
        if isinstance(value, _Converted):
            return value.value
        return to_json(await self.watch.on_loop(lambda: value))

    def _prepare(self, before: Callable[[], None] | None) -> None:
        self.tool.check(self.payload)
        if before is not None:
            before()

    def _begin(self, before: Callable[[], None] | None) -> Any:
        self._prepare(before)
        return self.tool.call(cast("dict[str, Json]", self.payload))

    def _in_thread(self, before: Callable[[], None] | None) -> Any:
        value = self._begin(before)
        return value if inspect.isawaitable(value) else _Converted(to_json(value))


@dataclass(frozen=True, slots=True)
class _Converted:
    """A sync tool's result, made JSON in its thread so that a large one does not hold the loop."""

    value: Json


async def _run_agent(
    request: AttemptRequest, calls: StepCalls, agents: SubAgents, watch: Watch
) -> Outcome:
    payload = request.payload
    asked = AgentRequest(
        agent=request.target,
        task=payload if isinstance(payload, str) else dumps(payload),
        context=request.context,
        calls=calls,
        decision=request.decision,
    )
    answer = await watch.on_loop(lambda: agents.run(asked))
    usage = {"input_tokens": answer.input_tokens, "output_tokens": answer.output_tokens}
    if isinstance(answer, AgentAnswer):
        return {"value": to_json({"agent": answer.agent, "text": answer.text}), "usage": usage}
    ask = {
        "tool": answer.tool,
        "args": answer.args,
        "transcript": answer.transcript,
    }
    return {"ask": to_json(ask, "ask"), "usage": usage}
