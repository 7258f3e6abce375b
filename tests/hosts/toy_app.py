"""A small function app, made with the product's own `register`, that the host tests carry."""

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

import azure.functions as func
from azure.durable_functions import DFApp
from durabletask import task
from starlette.responses import JSONResponse, StreamingResponse

from workflow_runtime.hosts.client import DurableTaskHub
from workflow_runtime.hosts.functions import Activity, register

ORCHESTRATOR = "toy_workflow"


@dataclass(frozen=True)
class Route:
    name: str
    path: str
    handler: Any
    method: str = "GET"
    auth: str = "anonymous"
    uses_workflows: bool = False


@dataclass
class Hubs:
    """What the app composes for `services`: one hub per binding JSON."""

    made: dict[str, DurableTaskHub] = field(default_factory=dict)

    def __call__(self, client_json: str) -> DurableTaskHub:
        if client_json not in self.made:
            self.made[client_json] = DurableTaskHub(client_json)
        return self.made[client_json]

    async def close(self):
        for hub in self.made.values():
            await hub.close()


def orchestrate(context, payload):
    """Run each step the input lists and return what came of them, as one JSON string."""
    results = []
    for step in json.loads(payload):
        context.set_custom_status(json.dumps({"at": step[0]}))
        try:
            results.append((yield from _step(context, *step)))
        except task.TaskFailedError as error:
            results.append({"failed": error.details.message})
    return json.dumps(results)


def _step(context, kind, argument):
    if kind == "wait":
        return json.loads((yield context.wait_for_external_event(argument)))
    return json.loads((yield context.call_activity(kind, input=json.dumps(argument))))


async def shout(payload, _service):
    return json.dumps(json.loads(payload).upper())


async def fail(payload, _service):
    raise ValueError(f"no luck: {json.loads(payload)}")


async def look(payload, hub):
    """An activity that uses the client binding: how is the instance named in the payload?"""
    state = await hub.state(json.loads(payload), payloads=False)
    return json.dumps(state.native_status if state else None)


class Gate:
    """An activity that says when it began and ends when it is told to."""

    def __init__(self):
        self.entered = asyncio.Event()
        self.open = asyncio.Event()
        self.left = False

    async def __call__(self, payload, _service):
        self.entered.set()
        await self.open.wait()
        self.left = True
        return payload


async def start(request, hub):
    """POST {"id", "steps"}: start an instance through the client binding."""
    body = await request.json()
    await hub.start(body["id"], ORCHESTRATOR, json.dumps(body["steps"]))
    return JSONResponse({"started": body["id"]}, status_code=202)


async def echo(request, _hub):
    return JSONResponse({"path": request.url.path, "parameters": dict(request.path_params)})


async def boom(_request, _hub):
    raise RuntimeError("the secret is 42")


async def tick(_request, _hub):
    return StreamingResponse(_ticks(), media_type="text/event-stream")


async def _ticks():
    for number in range(3):
        yield f"data: {number}\n\n"


ROUTES = (
    Route("start", "toy/start", start, method="POST", uses_workflows=True),
    Route("echo", "toy/items/{id}", echo),
    Route("assets", "toy/assets/{*rest}", echo),
    Route("boom", "toy/boom", boom),
    Route("tick", "toy/tick", tick),
)
ACTIVITIES = (
    Activity(name="shout", run=shout),
    Activity(name="fail", run=fail),
    Activity(name="look", run=look, uses_client=True),
)


def toy_app(*, activities=(), routes=(), hubs=None):
    app = DFApp(http_auth_level=func.AuthLevel.FUNCTION)
    register(
        app,
        orchestrator_name=ORCHESTRATOR,
        orchestrator=orchestrate,
        activities=(*ACTIVITIES, *activities),
        routes=(*ROUTES, *routes),
        services=hubs or Hubs(),
    )
    return app
