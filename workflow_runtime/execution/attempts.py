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
from dataclasses import asdict, dataclass
from typing import Any, Literal, Protocol, Self, cast

from ..plan.encoding import dumps
from ..plan.types import Json
from .context import TaskContext, entered
from .failures import Place, ToolMissingError, failure_of
from .pool import ToolPool
from .results import to_json
from .tools import Tool, ToolBox

type Outcome = dict[str, Any]
"""``{"value", "usage"?}`` or ``{"failure": {"code", "message", "kind", "correlation_id", …}}``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptRequest:
    """One attempt at one step; ``task_id`` is the step's key, such as ``inspect[12]``.

    ``payload`` is a tool's arguments object or a sub-agent's task text.
    """

    workflow_id: str
    task_id: str
    attempt: int
    kind: Literal["tool", "sub_agent"]
    target: str
    payload: Json
    context: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Give the fields as JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        """Read what :meth:`to_json` gave."""
        return cls(**value)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRequest:
    """What a sub-agent is asked: one task, the run's context, nothing else."""

    agent: str
    task: str
    context: str | None
    workflow_id: str
    task_id: str
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentAnswer:
    """What a sub-agent answered."""

    agent: str
    text: str
    input_tokens: int = 0
    output_tokens: int = 0


class SubAgents(Protocol):
    """Runs sub-agents.

    Raises AgentMissingError for an unknown agent and ModelError for a provider's trouble; anything
    else becomes a plain failure.
    """

    async def run(self, request: AgentRequest) -> AgentAnswer:
        """Run one agent with a fresh context to its answer."""
        ...


async def carry_out(
    request: AttemptRequest, *, tools: ToolBox, agents: SubAgents, pool: ToolPool
) -> Outcome:
    """Run the attempt; raises nothing but CancelledError when the caller is cancelled."""
    if request.kind == "sub_agent":
        return await _outcome(lambda: _run_agent(request, agents), _place(request))
    step = TaskContext(
        workflow_id=request.workflow_id, task_id=request.task_id, attempt=request.attempt
    )

    async def run_tool() -> Outcome:
        tool = tools.get(request.target)
        if tool is None:
            raise ToolMissingError
        return {"value": await _run_tool(tool, request.payload, pool=pool, step=step)}

    return await _outcome(run_tool, _place(request))


async def call_tool(tool: Tool, arguments: Json, *, pool: ToolPool) -> Outcome:
    """Call a tool for an agent: checked, converted and made safe as for a plan.

    ``task_context()`` has no answer inside it.
    """

    async def run_tool() -> Outcome:
        return {"value": await _run_tool(tool, arguments, pool=pool, step=None)}

    return await _outcome(run_tool, Place(kind="tool", target=tool.name))


def _place(request: AttemptRequest) -> Place:
    return Place(
        kind=request.kind,
        target=request.target,
        workflow_id=request.workflow_id,
        task_id=request.task_id,
        attempt=request.attempt,
    )


async def _outcome(run: Callable[[], Awaitable[Outcome]], place: Place) -> Outcome:
    try:
        return await run()
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        # Nobody cancelled us: the tool itself raised it, or awaited something that was cancelled.
        return {"failure": failure_of(error, place)}
    except (Exception, SystemExit, KeyboardInterrupt) as error:  # noqa: BLE001 - a tool may raise anything
        # sys.exit() in a tool must not end the worker.
        return {"failure": failure_of(error, place)}


async def _run_tool(tool: Tool, payload: Json, *, pool: ToolPool, step: TaskContext | None) -> Json:
    def begin() -> Any:
        tool.check(payload)
        return tool.call(cast("dict[str, Json]", payload))

    def call() -> Any:
        value = begin()
        return value if inspect.isawaitable(value) else _Converted(to_json(value))

    with entered(step):
        if tool.is_async:
            return to_json(await begin())

        value = await pool.run(call)
        return value.value if isinstance(value, _Converted) else to_json(await value)


@dataclass(frozen=True, slots=True)
class _Converted:
    """A sync tool's result, made JSON in its thread so that a large one does not hold the loop."""

    value: Json


async def _run_agent(request: AttemptRequest, agents: SubAgents) -> Outcome:
    payload = request.payload
    answer = await agents.run(
        AgentRequest(
            agent=request.target,
            task=payload if isinstance(payload, str) else dumps(payload),
            context=request.context,
            workflow_id=request.workflow_id,
            task_id=request.task_id,
            attempt=request.attempt,
        )
    )
    return {
        "value": to_json({"agent": answer.agent, "text": answer.text}),
        "usage": {"input_tokens": answer.input_tokens, "output_tokens": answer.output_tokens},
    }
