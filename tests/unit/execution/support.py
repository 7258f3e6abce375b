"""One attempt in one call."""

import asyncio
from dataclasses import dataclass, field

from workflow_runtime.execution import (
    AttemptRequest,
    CancelSignals,
    FileMarkers,
    SubAgents,
    Tool,
    ToolPool,
    carry_out,
)


class Agents:
    """Sub-agents that all do the same."""

    def __init__(self, answer=None, error=None):
        self.answer, self.error, self.requests = answer, error, []

    async def run(self, request):
        self.requests.append(request)
        if self.error is not None:
            raise self.error
        return self.answer


@dataclass
class World:
    """What attempts share in one process."""

    pool: ToolPool
    markers: FileMarkers
    signals: CancelSignals = field(default_factory=CancelSignals)
    agents: SubAgents = field(default_factory=Agents)

    async def carry_out(self, request, tools):
        return await carry_out(
            request,
            tools=tools,
            agents=self.agents,
            pool=self.pool,
            signals=self.signals,
            markers=self.markers,
        )

    async def call(self, function, payload=None, *, request=None, **options):
        """Attempt the tool `t`, which is *function*; `request` holds more fields of the attempt."""
        tool = Tool(
            name="t", call=function, is_async=asyncio.iscoroutinefunction(function), **options
        )
        return await self.carry_out(attempt(payload, **request or {}), {"t": tool})

    async def ask(self, agents, payload="x", **fields):
        """Attempt the sub-agent `writer`."""
        self.agents = agents
        return await self.carry_out(
            attempt(payload, kind="sub_agent", target="writer", **fields), {}
        )


def attempt(payload=None, **fields):
    return AttemptRequest(
        **{
            "workflow_id": "wf",
            "task_id": "a",
            "attempt": 1,
            "kind": "tool",
            "target": "t",
            "payload": {} if payload is None else payload,
            "idempotency_key": "wf-a",
            **fields,
        }
    )
