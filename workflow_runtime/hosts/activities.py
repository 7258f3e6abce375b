"""
The activities: one attempt at a tool or a sub-agent, and telling a session that a run has ended.

Each takes and returns one JSON string. What is allowed is what the plan was checked against **and**
what the skill is granted today: a withdrawn tool or specialist stops working at once.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from ..agents.chat import Chat
from ..execution import AttemptRequest, SubAgents, ToolPool, carry_out
from ..plan.encoding import dumps, loads
from ..service import Owner, WorkflowService
from ..skills import Catalog
from .durable import AGENT_ACTIVITY, TELL_ACTIVITY, TOOL_ACTIVITY
from .functions import Activity

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempts:
    """Carries out attempts for the runs of any skill."""

    catalog: Catalog
    agents: SubAgents
    pool: ToolPool

    async def run(self, payload: str, _service: object = None) -> str:
        """Run one attempt; a failure is a result too."""
        value = loads(payload)
        request = AttemptRequest.from_json(value["attempt"])
        refused = self._refusal(value["skill"], request)
        if refused is not None:
            return dumps({"failure": refused})
        _log.info("attempt started", extra=_ids(request))
        outcome = await carry_out(
            request, tools=self.catalog.workflow_tools, agents=self.agents, pool=self.pool
        )
        _log.info("attempt ended", extra=_ids(request))
        return dumps(outcome)

    def _refusal(self, skill: str, request: AttemptRequest) -> dict[str, Any] | None:
        is_tool = request.kind == "tool"
        if skill in self.catalog.skills:
            grants = self.catalog.grants(skill)
            if request.target in (grants.tools if is_tool else grants.agents):
                return None
            if is_tool and request.target in grants.unloaded:
                reason = grants.unloaded[request.target]
                return _failure("tool_missing", f"tool {request.target!r} failed to load: {reason}")
        what = "tool" if is_tool else "sub-agent"
        message = f"{what} {request.target!r} is not granted to skill {skill!r} any more"
        return _failure("not_granted_any_more", message)


def _failure(code: str, message: str) -> dict[str, Any]:
    return {"code": code, "message": message, "kind": "terminal"}


def _ids(request: AttemptRequest) -> dict[str, Any]:
    return {
        "workflow_id": request.workflow_id,
        "task_id": request.task_id,
        "attempt": request.attempt,
    }


def tell_session(chat: Chat) -> Callable[[str, Any], Awaitable[str]]:
    """Return the activity that has a session's skill answer to the end of a run."""

    async def run(payload: str, service: WorkflowService) -> str:
        value = loads(payload)
        await chat.notify(Owner(**value["owner"]), value["workflow_id"], workflows=service)
        return dumps({"told": True})

    return run


def activities(attempts: Attempts, chat: Chat) -> tuple[Activity, ...]:
    """Return everything the orchestrator calls."""
    return (
        Activity(name=TOOL_ACTIVITY, run=attempts.run),
        Activity(name=AGENT_ACTIVITY, run=attempts.run),
        Activity(name=TELL_ACTIVITY, run=tell_session(chat), uses_client=True),
    )
