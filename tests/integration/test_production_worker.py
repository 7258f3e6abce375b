"""What the production Python worker makes of the app: it indexes it, and carries whole runs of it.

The task hub is the SQLite one, playing the Durable extension: it hands out the same work items, and
each goes to the worker as an invocation.
"""

import asyncio
import base64
import json
from contextlib import aclosing, asynccontextmanager

import durabletask.internal.orchestrator_service_pb2 as pb
import pytest

from tests.worker_engine import Protocol, worker_engine
from workflow_runtime.hosts.local.host import client_json
from workflow_runtime.hosts.local.hub import SqliteTaskHub

APP = """
from workflow_runtime.app import create_function_app

app = create_function_app({root!r})
"""
ROOT = __file__.rsplit("/tests/", 1)[0]
QUESTION = "checkout is returning 5xx since 14:10, what happened?"


@pytest.fixture(scope="module")
def worker(tmp_path_factory):
    directory = tmp_path_factory.mktemp("app")
    (directory / "function_app.py").write_text(APP.format(root=ROOT))
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("WORKFLOW_RUNTIME_DATA", str(directory / "data"))
        with worker_engine(directory) as engine:
            yield engine


def bindings(worker, name):
    return {b["name"]: b for b in map(json.loads, worker.functions[name].raw_bindings)}


def test_the_worker_indexes_every_function(worker):
    assert {
        "workflow", "workflow_tool", "workflow_agent", "workflow_tell", "healthz",
        "chat_incident_triage", "stream_incident_triage", "history_incident_triage",
        "workflows_incident_triage", "status_incident_triage", "page_pr_portfolio",
    } <= set(worker.functions)  # fmt: skip


def test_a_client_binding_tells_the_extension_to_speak_grpc(worker):
    for name in ("chat_incident_triage", "workflow_tool", "workflow_tell"):
        assert bindings(worker, name)["client"] == {
            "direction": "IN",
            "type": "durableClient",
            "name": "client",
            "durableRequiresGrpc": True,
        }


def test_triggers_carry_the_names_the_orchestrator_calls(worker):
    assert bindings(worker, "workflow")["_durable_input"]["orchestration"] == "workflow"
    for name in ("workflow_tool", "workflow_agent", "workflow_tell"):
        assert bindings(worker, name)["payload"]["activity"] == name


def test_an_http_function_answers(worker):
    answer = worker.http("healthz", "GET", "/healthz")
    assert answer.json()["status"] == "ok"


def test_the_page_and_its_assets_arrive(worker):
    path = "/skills/incident_triage"
    page = worker.http("page_incident_triage", "GET", f"{path}/")
    assert page.headers["content-type"].startswith("text/html")
    script = worker.http(
        "asset_incident_triage", "GET", f"{path}/assets/chat.js", parameters={"file": "chat.js"}
    )
    assert script.status_code == 200


def test_a_hub_that_does_not_answer_is_a_problem_and_not_a_traceback(worker):
    nobody = json.dumps({"taskHubName": "none", "rpcBaseUrl": "http://127.0.0.1:1"})
    answer = worker.http(
        "workflows_incident_triage",
        "GET",
        "/skills/incident_triage/workflows",
        client=nobody,
        headers={"x-ms-session-id": "s"},
    )
    assert answer.status_code == 503
    assert answer.json()["code"] == "hub_unavailable"


class Extension:
    """Gives the hub's work items to the worker, as the Durable extension does."""

    def __init__(self, hub, worker):
        self.hub = hub
        self.worker = worker
        self.client = client_json(hub.address)
        self.carried = []

    async def run(self):
        work = self.hub.work(orchestrators=4, activities=4)
        async with aclosing(work) as items, asyncio.TaskGroup() as group:
            async for item in items:
                group.create_task(self.carry(item))

    async def carry(self, item):
        if item.HasField("orchestratorRequest"):
            request = item.orchestratorRequest
            body = base64.b64encode(request.SerializeToString()).decode()
            answer = await self.trigger("workflow", ("_durable_input", body))
            turn = pb.OrchestratorResponse.FromString(base64.b64decode(answer.return_value.string))
            turn.completionToken = item.completionToken
            await self.hub.complete_orchestrator(turn)
        else:
            request = item.activityRequest
            answer = await self.trigger(request.name, ("payload", request.input.value))
            ended = pb.ActivityResponse(
                instanceId=request.orchestrationInstance.instanceId,
                taskId=request.taskId,
                completionToken=item.completionToken,
            )
            ended.result.value = answer.return_value.json
            await self.hub.complete_activity(ended)

    async def trigger(self, name, trigger):
        self.carried.append(name)
        client = None if name == "workflow" else self.client
        answer = await asyncio.to_thread(self.worker.trigger, name, trigger=trigger, client=client)
        assert answer.result.status == Protocol.StatusResult.Success, answer.result.exception
        return answer

    async def http(self, name, method, path, **request):
        client = self.client if "client" in bindings(self.worker, name) else None
        return await asyncio.to_thread(
            self.worker.http, name, method, path, client=client, **request
        )


@asynccontextmanager
async def extension(worker, directory):
    async with await SqliteTaskHub.open(directory) as hub:
        carrier = Extension(hub, worker)
        carrying = asyncio.create_task(carrier.run())
        try:
            yield carrier
        finally:
            carrying.cancel()
            await asyncio.gather(carrying, return_exceptions=True)


async def told(host, skill, session):
    """Return the session's messages once the end of its run was answered."""
    path = f"/skills/{skill}/history"
    headers = {"x-ms-session-id": session}
    async with asyncio.timeout(40):
        while True:
            answer = await host.http(f"history_{skill}", "GET", path, headers=headers)
            messages = answer.json()["messages"]
            if len(messages) > 2:
                return messages
            await asyncio.sleep(0.1)


async def test_a_chat_turn_its_run_and_the_answer_are_carried_by_the_worker(worker, tmp_path):
    async with extension(worker, tmp_path) as host:
        path = "/skills/incident_triage/chat"
        answer = await host.http("chat_incident_triage", "POST", path, json={"message": QUESTION})
        assert answer.status_code == 200
        started = answer.json()
        assert started["workflows"][0]["status"] == "Pending"
        messages = await told(host, "incident_triage", started["session_id"])
        assert "checkout" in messages[-1]["text"]
        assert {"workflow", "workflow_tool", "workflow_tell"} <= set(host.carried)


async def test_a_streamed_turn_and_sub_agents_are_carried_by_the_worker(worker, tmp_path):
    async with extension(worker, tmp_path) as host:
        path = "/skills/pr_portfolio/chat/stream"
        body = {"message": "Report on all open pull requests"}
        answer = await host.http("stream_pr_portfolio", "POST", path, json=body)
        assert answer.headers["content-type"].startswith("text/event-stream")
        events = [line for line in answer.text.splitlines() if line.startswith("event: ")]
        assert events[0] == "event: session"
        assert events[-1] == "event: done"
        await told(host, "pr_portfolio", answer.headers["x-ms-session-id"])
        assert "workflow_agent" in host.carried
