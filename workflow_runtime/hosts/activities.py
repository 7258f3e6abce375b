"""
The activities: one attempt at a tool or a sub-agent, and telling a session that a run has ended.

Each takes and returns one JSON string. What is allowed is what the plan was checked against **and**
what the skill is granted today: a withdrawn tool or specialist stops working at once. A run that is
being canceled is not worked for any more.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

from ..agents.chat import Chat
from ..execution import (
    AttemptRequest,
    CancelSignals,
    Markers,
    SubAgents,
    ToolBox,
    ToolPool,
    carry_out,
    refuse,
)
from ..logs import bound, get_logger
from ..plan.encoding import dumps, loads
from ..service import Owner, WorkflowService
from ..skills import Catalog
from .durable import AGENT_ACTIVITY, TELL_ACTIVITY, TOOL_ACTIVITY
from .functions import Activity
from .watching import CancelWatcher

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempts:
    """Carries out attempts for the runs of any skill.

    ``max_seconds`` bounds every attempt: a function that hits the host's own time-out takes its
    neighbours with it.
    """

    catalog: Catalog
    agents: SubAgents
    pool: ToolPool
    signals: CancelSignals
    markers: Markers
    watcher: CancelWatcher
    max_seconds: float | None = None

    async def run(self, payload: str, service: WorkflowService) -> str:
        """Run one attempt; a failure is a result too."""
        value = loads(payload)
        request = AttemptRequest.from_json(value["attempt"])
        with bound(
            workflow_id=request.workflow_id, task_id=request.task_id, attempt=request.attempt
        ):
            return dumps(await self._outcome(value["skill"], request, service))

    async def _outcome(
        self, skill: str, request: AttemptRequest, service: WorkflowService
    ) -> dict[str, Any]:
        tools = self._tools(skill)
        refused = self._refusal(skill, tools, request)
        if refused is not None:
            return {"failure": refused}
        if await service.is_stopping(request.workflow_id):
            return await refuse(request, tools=tools, markers=self.markers)
        _log.info("attempt started")
        self.watcher.watch(service)
        outcome = await carry_out(
            replace(request, timeout=self._seconds(request.timeout)),
            tools=tools,
            agents=self.agents,
            pool=self.pool,
            signals=self.signals,
            markers=self.markers,
        )
        _log.info("attempt ended")
        return outcome

    def _seconds(self, given: float | None) -> float | None:
        known = [seconds for seconds in (given, self.max_seconds) if seconds is not None]
        return min(known, default=None)

    def _tools(self, skill: str) -> ToolBox:
        """Return what plans may call, and what a chat may call only after a person's approval."""
        if skill not in self.catalog.skills:
            return {}
        asking = self.catalog.chat_tools_of(skill)
        granted = self.catalog.grants(skill).tools
        return {
            **{name: tool for name, tool in asking.items() if tool.policy.approval},
            **{n: tool for n, tool in self.catalog.workflow_tools.items() if n in granted},
        }

    def _refusal(
        self, skill: str, tools: ToolBox, request: AttemptRequest
    ) -> dict[str, Any] | None:
        is_tool = request.kind == "tool"
        if skill in self.catalog.skills:
            grants = self.catalog.grants(skill)
            if request.target in (tools if is_tool else grants.agents):
                return None
            reason = grants.why_unloaded(request.target) if is_tool else None
            if reason is not None:
                return _failure("tool_missing", f"tool {request.target!r} failed to load: {reason}")
        what = "tool" if is_tool else "sub-agent"
        message = (
            f"{what} {request.target!r} is not granted to skill {skill!r} by the app that runs now;"
            " an app whose files were changed is started again to see them"
        )
        return _failure("not_granted_any_more", message)


def _failure(code: str, message: str) -> dict[str, Any]:
    return {"code": code, "message": message, "kind": "terminal"}


def tell_session(chat: Chat) -> Callable[[str, Any], Awaitable[str]]:
    """Return the activity that has a session's skill answer to the end of a run."""

    async def run(payload: str, service: WorkflowService) -> str:
        value = loads(payload)
        with bound(workflow_id=value["workflow_id"]):
            owner = Owner(**value["owner"])
            told = await chat.notify(owner, value["workflow_id"], workflows=service)
        return dumps({"told": told})

    return run


def activities(attempts: Attempts, chat: Chat) -> tuple[Activity, ...]:
    """Return everything the orchestrator calls."""
    return (
        Activity(name=TOOL_ACTIVITY, run=attempts.run, uses_client=True),
        Activity(name=AGENT_ACTIVITY, run=attempts.run, uses_client=True),
        Activity(name=TELL_ACTIVITY, run=tell_session(chat), uses_client=True),
    )
