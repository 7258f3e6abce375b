"""What the production Python worker makes of the app: it indexes it, and each function runs."""

import base64
import json
from datetime import UTC, datetime

import durabletask.internal.helpers as ph
import durabletask.internal.orchestrator_service_pb2 as pb
import pytest

from tests.hosts.toy_app import ORCHESTRATOR
from tests.worker_engine import Protocol, worker_engine

FUNCTION_APP = "from tests.hosts.toy_app import toy_app\n\napp = toy_app()\n"


@pytest.fixture(scope="module")
def function_app_directory(tmp_path_factory):
    directory = tmp_path_factory.mktemp("app")
    (directory / "function_app.py").write_text(FUNCTION_APP)
    return directory


@pytest.fixture(scope="module")
def worker(function_app_directory):
    with worker_engine(function_app_directory) as engine:
        yield engine


CLIENT = json.dumps({"taskHubName": "toy", "rpcBaseUrl": "http://127.0.0.1:1"})


def bindings(worker, name):
    return {b["name"]: b for b in map(json.loads, worker.functions[name].raw_bindings)}


def test_the_worker_indexes_every_function(worker):
    assert {ORCHESTRATOR, "shout", "fail", "look", "start", "echo", "tick"} <= set(worker.functions)


def test_a_client_binding_tells_the_extension_to_speak_grpc(worker):
    assert bindings(worker, "start")["client"] == {
        "direction": "IN",
        "type": "durableClient",
        "name": "client",
        "durableRequiresGrpc": True,
    }


def test_triggers_carry_the_names_the_orchestrator_calls(worker):
    assert bindings(worker, ORCHESTRATOR)["_durable_input"]["orchestration"] == ORCHESTRATOR
    assert bindings(worker, "shout")["payload"]["activity"] == "shout"


def test_an_http_function_answers(worker):
    answer = worker.http("echo", "GET", "/toy/items/7", parameters={"id": "7"})
    assert answer.json() == {"path": "/toy/items/7", "parameters": {"id": "7"}}


def test_a_stream_arrives_whole(worker):
    answer = worker.http("tick", "GET", "/toy/tick")
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.text == "data: 0\n\ndata: 1\n\ndata: 2\n\n"


def test_an_http_function_gets_the_service_of_its_client_binding(worker):
    body = {"id": "i", "steps": []}
    answer = worker.http("start", "POST", "/toy/start", client=CLIENT, json=body)
    assert answer.status_code == 500  # nobody listens at the binding's address: it was called


def test_an_activity_takes_and_returns_one_json_string(worker):
    answer = worker.trigger("shout", trigger=("payload", json.dumps(json.dumps("hé"))))
    assert answer.result.status == Protocol.StatusResult.Success, answer.result.exception
    assert json.loads(json.loads(answer.return_value.json)) == "HÉ"


def test_an_activity_that_raises_fails_its_invocation(worker):
    answer = worker.trigger("fail", trigger=("payload", json.dumps(json.dumps("x"))))
    assert answer.result.status == Protocol.StatusResult.Failure
    assert "no luck: x" in answer.result.exception.message


def test_an_activity_gets_the_service_of_its_client_binding(worker):
    payload = json.dumps(json.dumps("i"))
    answer = worker.trigger("look", trigger=("payload", payload), client=CLIENT)
    assert "http://127.0.0.1:1" in answer.result.exception.message


def test_an_orchestrator_turn_schedules_the_first_activity(worker):
    steps = json.dumps(json.dumps([["shout", "a"]]))
    request = pb.OrchestratorRequest(
        instanceId="i",
        newEvents=[
            ph.new_orchestrator_started_event(datetime(2026, 1, 1, tzinfo=UTC)),
            ph.new_execution_started_event(ORCHESTRATOR, "i", steps),
        ],
    )
    body = base64.b64encode(request.SerializeToString()).decode()
    answer = worker.trigger(ORCHESTRATOR, trigger=("_durable_input", body))
    response = pb.OrchestratorResponse.FromString(base64.b64decode(answer.return_value.string))
    (action,) = response.actions
    assert action.scheduleTask.name == "shout"
    assert json.loads(json.loads(action.scheduleTask.input.value)) == "a"
