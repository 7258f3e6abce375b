"""A chat and a workflow service without a model and a hub, and a server around the real routes."""

import asyncio
import socket
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.routing import Route as StarletteRoute

from workflow_runtime.agents.events import TextDelta, TurnDone
from workflow_runtime.errors import ConflictError, WorkflowNotFoundError
from workflow_runtime.skills import Catalog, Endpoints, Skill
from workflow_runtime.web import routes

NOW = datetime(2026, 3, 4, 14, 10, tzinfo=UTC)


def skill(slug="triage", *, auth="function", page=True, chat=True, **metadata):
    """Return a skill with these endpoints."""
    return Skill(
        slug=slug,
        name="Incident triage",
        description="Gathers evidence in parallel and writes a report.",
        instructions="Triage.",
        path=Path(f"{slug}.agent.md"),
        endpoints=Endpoints(chat=chat, page=page, auth=auth),
        metadata=metadata,
    )


def catalog_of(*skills):
    """Return a catalog of *skills* without tools."""
    return Catalog(skills={made.slug: made for made in skills})


async def hello(_turn):
    """Answer in two pieces."""
    yield TextDelta(text="Hello")
    yield TextDelta(text=", world")
    yield TurnDone(response="Hello, world", usage={"input_tokens": 3, "output_tokens": 2})


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One turn as the chat was asked for it."""

    owner: Any
    message: str
    context: str | None
    workflows: Any


class FakeChat:
    """Plays ``turn``, an async generator function, and keeps the messages like the real chat."""

    def __init__(self, turn=hello) -> None:
        self.turn = turn
        self.asked: list[Asked] = []
        self.messages: dict[Any, list[dict[str, Any]]] = {}
        self.stored = asyncio.Event()

    async def stream(self, owner, message, *, context, workflows):
        asked = Asked(owner=owner, message=message, context=context, workflows=workflows)
        self.asked.append(asked)
        self.say(owner, "user", message)
        async for event in self.turn(asked):
            if isinstance(event, TurnDone):
                self.say(owner, "assistant", event.response)
                self.stored.set()
            yield event

    def say(self, owner, role, text) -> None:
        messages = self.messages.setdefault(owner, [])
        messages.append({"role": role, "text": text, "at": datetime.now(UTC).isoformat()})

    async def history(self, owner):
        return {
            "session_id": owner.session,
            "messages": self.messages.get(owner, []),
            "truncated": False,
        }


class FakeWorkflows:
    """Runs are envelopes that a test puts in and changes."""

    def __init__(self) -> None:
        self.runs: dict[Any, dict[str, dict[str, Any]]] = {}
        self.calls: list[tuple[Any, ...]] = []

    def put(self, owner, envelope) -> None:
        self.runs.setdefault(owner, {})[envelope["workflow_id"]] = envelope

    def _find(self, owner, workflow_id):
        try:
            return self.runs[owner][workflow_id]
        except KeyError:
            message = f"no workflow {workflow_id!r} in this session"
            raise WorkflowNotFoundError(message) from None

    async def status(self, owner, workflow_id, *, task_id=None, path=None, max_bytes=8192):
        self.calls.append(("status", workflow_id, task_id, path))
        return self._find(owner, workflow_id)

    async def list(self, owner, *, limit=20, status=None):
        self.calls.append(("list", limit, status))
        return list(self.runs.get(owner, {}).values())[:limit]

    async def cancel(self, owner, workflow_id, reason=""):
        self.calls.append(("cancel", workflow_id, reason))
        self._find(owner, workflow_id)["status"] = "Canceling"
        return {"workflow_id": workflow_id, "status": "Canceling"}

    async def approve(self, owner, workflow_id, task, **answer):
        self.calls.append(("approve", workflow_id, task, *answer.values()))
        run = self._find(owner, workflow_id)
        asked = [one for one in run.get("waiting_for", ()) if one["task"] == task]
        if not asked or asked[0]["digest"] != answer["digest"]:
            message = "what the task asks has changed"
            raise ConflictError(message)
        run["waiting_for"] = []
        return {"workflow_id": workflow_id, "task": task, "approved": answer["approved"]}

    async def send_event(self, owner, workflow_id, name, payload=None, *, event_id=None):
        self.calls.append(("event", workflow_id, name, payload, event_id))
        self._find(owner, workflow_id)
        return {"workflow_id": workflow_id, "event": name, "id": event_id or "new"}

    async def rerun(self, owner, workflow_id, plan=None):
        self.calls.append(("rerun", workflow_id, plan))
        self._find(owner, workflow_id)
        if plan is not None and "tasks" not in plan:
            return {"error": "invalid_plan", "problems": [{"code": "missing_field"}]}
        again = {"workflow_id": f"{workflow_id}-again", "status": "Pending"}
        self.put(owner, {**again, "name": "Again"})
        return {**again, "rerun_of": workflow_id}

    async def terminate(self, owner, workflow_id, reason=""):
        self.calls.append(("terminate", workflow_id, reason))
        self._find(owner, workflow_id)["status"] = "Terminated"
        return {"workflow_id": workflow_id, "status": "Terminated"}


def app(skills, *, chat=None, workflows=None, clock=lambda: NOW, **options) -> Starlette:
    """Return the real routes on a host as simple as one can be."""
    talker: Any = chat or FakeChat()
    made = routes(catalog=catalog_of(*skills), chat=talker, clock=clock, **options)
    service = workflows or FakeWorkflows()
    mounted = []
    for route in made:
        endpoint = _endpoint(route, service)
        mounted += [
            StarletteRoute(f"/{route.path}{slash}", endpoint, methods=[route.method])
            for slash in ("", "/")
        ]
    return Starlette(routes=mounted)


def _endpoint(route, service):
    async def endpoint(request):
        return await route.handler(request, service if route.uses_workflows else None)

    return endpoint


@asynccontextmanager
async def served(application):
    """Serve *application* on a loopback port; gives its base URL."""
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        application, log_level="critical", lifespan="off", ws="none", timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        await task
        listening.close()
