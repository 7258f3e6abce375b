"""What the tests of chats share: a clock, a service that answers by a script, an app on disk."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from workflow_runtime.agents.demo import DemoCall, DemoReply, DemoRequest
from workflow_runtime.agents.maf.demo_client import DemoChatClient
from workflow_runtime.agents.models import Models, ModelSettings
from workflow_runtime.agents.tool_calls import Answer
from workflow_runtime.errors import WorkflowNotFoundError
from workflow_runtime.execution import StepCalls, TaskContext, Tool
from workflow_runtime.plan.encoding import dumps
from workflow_runtime.service import Owner, WorkflowService

NOW = datetime(2026, 5, 4, 14, 30, tzinfo=UTC)
OWNER = Owner(principal="", skill="triage", session="s1")

FILES = {
    "triage": """
        ---
        name: Triage
        description: Looks into incidents.
        endpoints: {chat: true}
        workflows:
          enabled: true
          subagents:
            - agent: writer
              when: Write the report
        ---
        You look into incidents.
        """,
    "writer": """
        ---
        name: Writer
        description: Writes reports.
        timeout: 5
        ---
        You write short reports.
        """,
}


def write_app(root: Path, **files: str) -> Path:
    """Write an app's skills; *files* replace or add some, by slug."""
    (root / "skills").mkdir(parents=True, exist_ok=True)
    for slug, text in {**FILES, **files}.items():
        path = root / "skills" / f"{slug}.agent.md"
        path.write_text(textwrap.dedent(text).lstrip(), encoding="utf-8")
    return root


class ScriptedModels(Models):
    """Models whose one client answers by a function; ``requests`` is what it was asked."""

    def __init__(self, *replies: Callable[[DemoRequest], DemoReply] | DemoReply) -> None:
        super().__init__(ModelSettings(), "demo")
        self.requests: list[DemoRequest] = []
        self._replies = list(replies)
        self._client = DemoChatClient(self._reply, pause=0)

    def client_for(self, skill: Any) -> Any:
        return self._client

    def _reply(self, request: DemoRequest) -> DemoReply:
        self.requests.append(request)
        reply = self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]
        return reply(request) if callable(reply) else reply


def says(text: str) -> DemoReply:
    return DemoReply(text=text)


def calls(name: str, arguments: Any) -> DemoReply:
    """Reply with one call; a text goes out as it is, anything else as JSON."""
    text = arguments if isinstance(arguments, str) else dumps(arguments)
    return DemoReply(calls=(DemoCall(name, text),))


def calls_of_step(markers: Any = None) -> StepCalls:
    """Make the calls of a specialist's attempt; None is enough where no tool acts once."""
    step = TaskContext(workflow_id="w", task_id="t", attempt=1, idempotency_key="wf-t")
    return StepCalls(step, markers)


async def nobody(tool: Tool, _args: Any) -> Answer:
    """Fail where a person would be asked."""
    pytest.fail(f"a person was asked about {tool.name}")


class FakeWorkflows(WorkflowService):
    """A service that keeps what it was given; plans without tasks are refused."""

    def __init__(self) -> None:
        self.started: list[Any] = []
        self.called: list[tuple[str, Any]] = []
        self.contexts: list[str | None] = []
        self.asked: list[dict[str, Any]] = []
        self.status_of: dict[str, str] = {}
        self.output: Any = {"errors": 412}
        self.error: Any = None

    async def start(
        self, owner: Owner, submission: Any, *, context: str | None = None, **_more: Any
    ) -> dict[str, Any]:
        if not isinstance(submission, dict) or not submission.get("tasks"):
            problem = {"code": "missing_field", "path": "/tasks", "message": "no tasks"}
            return {"error": "invalid_plan", "problems": [problem], "next": "Fix all of these."}
        self.started.append(submission)
        self.contexts.append(context)
        workflow_id = f"w{len(self.started)}"
        self.status_of.setdefault(workflow_id, "Running")
        return {
            "workflow_id": workflow_id,
            "status": "Pending",
            "poll_after_seconds": 5,
            "next": "End your turn; you will be told when it ends.",
        }

    async def start_call(self, owner: Owner, tool: str, args: Any, **_more: Any) -> dict[str, Any]:
        self.called.append((tool, args))
        workflow_id = f"c{len(self.called)}"
        self.status_of[workflow_id] = "Running"
        return {
            "workflow_id": workflow_id,
            "status": "Pending",
            "poll_after_seconds": 5,
            "next": "End your turn; you will be told when it ends.",
        }

    async def status(
        self,
        owner: Owner,
        workflow_id: str,
        *,
        task_id: str | None = None,
        path: str | None = None,
        wait_seconds: float = 0,
        **_more: Any,
    ) -> dict[str, Any]:
        self.asked.append({"workflow_id": workflow_id, "wait_seconds": wait_seconds})
        if workflow_id not in self.status_of:
            message = f"there is no workflow {workflow_id!r}"
            raise WorkflowNotFoundError(message)
        return {
            "workflow_id": workflow_id,
            "name": "Checkout triage",
            "status": self.status_of[workflow_id],
            "progress": {"total": 3, "completed": 3, "failed": 0, "now": []},
            "output": self.output,
            **({"error": self.error} if self.error else {}),
        }

    async def list(
        self, owner: Owner, *, limit: int = 20, status: str | None = None
    ) -> list[dict[str, Any]]:
        return [{"workflow_id": w, "status": s} for w, s in self.status_of.items()][:limit]

    async def cancel(self, owner: Owner, workflow_id: str, reason: str = "") -> dict[str, Any]:
        self.status_of[workflow_id] = "Canceling"
        return {"workflow_id": workflow_id, "status": "Canceling"}

    async def terminate(self, owner: Owner, workflow_id: str, reason: str = "") -> dict[str, Any]:
        self.status_of[workflow_id] = "Terminated"
        return {"workflow_id": workflow_id, "status": "Terminated"}
