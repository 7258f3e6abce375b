"""What the local host promises of any function app: its functions run as they are registered."""

import asyncio
import json
import threading

import azure.functions as func
import pytest
from azure.durable_functions import DFApp
from azurefunctions.extensions.http.fastapi import Request, Response

from tests.hosts.conftest import local_host
from tests.hosts.toy_app import Gate
from workflow_runtime.errors import ConfigurationError
from workflow_runtime.hosts.functions import Activity

SECONDS = 20


async def test_a_start_over_http_runs_the_orchestration_with_its_activities(running):
    await running.start("a", ["shout", "hé"], ["look", "a"])
    state = await running.hub.wait("a", SECONDS)
    assert (state.native_status, state.failure) == ("COMPLETED", None)
    assert json.loads(state.output) == ["HÉ", "RUNNING"]
    assert json.loads(state.custom_status) == {"at": "look"}


async def test_an_activity_that_raises_fails_where_the_orchestrator_awaits_it(running):
    await running.start("a", ["fail", "x"], ["shout", "on"])
    state = await running.hub.wait("a", SECONDS)
    failed, after = json.loads(state.output)
    assert failed["failed"].endswith("no luck: x")
    assert after == "ON"


async def test_an_activity_nobody_registered_fails_and_says_so(running):
    await running.start("a", ["missing", "x"])
    state = await running.hub.wait("a", SECONDS)
    assert "no activity 'missing' is registered" in state.output


async def test_an_orchestrator_nobody_registered_fails_its_instance(running):
    await running.hub.start("a", "missing", "[]")
    state = await running.hub.wait("a", SECONDS)
    assert state.native_status == "FAILED"
    assert "no orchestrator 'missing' is registered" in state.failure


async def test_an_event_reaches_the_orchestration_that_waits_for_it(running):
    await running.start("a", ["wait", "inbox"])
    await running.hub.raise_event("a", "inbox", json.dumps({"kind": "go"}))
    state = await running.hub.wait("a", SECONDS)
    assert json.loads(state.output) == [{"kind": "go"}]


async def test_a_terminated_instance_ends_with_the_reason(running):
    await running.start("a", ["wait", "inbox"])
    await running.hub.terminate("a", "enough")
    state = await running.hub.wait("a", SECONDS)
    assert (state.native_status, state.output) == ("TERMINATED", "enough")


async def test_activities_run_at_the_same_time_and_http_beside_them():
    gate = Gate()
    async with local_host(activities=[Activity(name="gate", run=gate)]) as running:
        await running.start("a", ["gate", "x"])
        await gate.entered.wait()
        answer = await running.http.get("/toy/items/7")
        assert answer.status_code == 200
        gate.open.set()
        assert (await running.hub.wait("a", SECONDS)).native_status == "COMPLETED"


class Crowd:
    """An activity that counts how many of it run at once, over a few turns of the loop."""

    def __init__(self):
        self.inside = self.peak = 0

    async def __call__(self, payload, _service):
        self.inside += 1
        self.peak = max(self.peak, self.inside)
        for _ in range(50):
            await asyncio.sleep(0)
        self.inside -= 1
        return payload


async def test_no_more_activities_run_at_once_than_the_settings_allow():
    crowd, ids = Crowd(), ["a", "b", "c", "d"]
    app_parts = {"activities": [Activity(name="crowd", run=crowd)]}
    async with local_host(**app_parts, most_activities=1) as running:
        for instance_id in ids:
            await running.start(instance_id, ["crowd", "x"], ["crowd", "y"])
        for instance_id in ids:
            assert (await running.hub.wait(instance_id, SECONDS)).native_status == "COMPLETED"
    assert crowd.peak == 1


async def test_stopping_waits_for_an_activity_that_ends_in_time():
    gate = Gate()
    async with local_host(activities=[Activity(name="gate", run=gate)]) as running:
        await running.start("a", ["gate", "x"])
        await gate.entered.wait()
        stopping = asyncio.create_task(running.host.stop(drain=SECONDS))
        await asyncio.sleep(0)
        assert not stopping.done()
        gate.open.set()
        await stopping
        assert gate.left


async def test_stopping_cancels_what_does_not_end_in_time():
    gate, cancelled = Gate(), asyncio.Event()

    async def stubborn(payload, _service):
        try:
            return await gate(payload, _service)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    async with local_host(activities=[Activity(name="gate", run=stubborn)]) as running:
        await running.start("a", ["gate", "x"])
        await gate.entered.wait()
        await running.host.stop(drain=0.01)
        assert cancelled.is_set()


async def test_what_a_stop_cut_off_is_done_after_the_next_start(tmp_path):
    gate = Gate()
    parts = {"activities": [Activity(name="gate", run=gate)], "directory": tmp_path}
    async with local_host(**parts) as running:
        await running.start("a", ["gate", "x"], ["shout", "y"])
        await gate.entered.wait()
    assert not gate.left
    gate.open.set()
    async with local_host(**parts) as running:
        state = await running.hub.wait("a", SECONDS)
    assert json.loads(state.output) == ["x", "Y"]


async def test_an_activity_that_outlives_its_instance_does_no_harm(caplog):
    gate = Gate()
    async with local_host(activities=[Activity(name="gate", run=gate)]) as running:
        await running.start("a", ["gate", "x"])
        await gate.entered.wait()
        await running.hub.terminate("a", "enough")
        assert (await running.hub.wait("a", SECONDS)).native_status == "TERMINATED"
        gate.open.set()
        await running.start("b", ["shout", "x"])
        assert (await running.hub.wait("b", SECONDS)).native_status == "COMPLETED"
        await running.host.stop()
    assert "Traceback" not in caplog.text


def sync_app():
    app = DFApp(http_auth_level=func.AuthLevel.ANONYMOUS)
    blocked, release = threading.Event(), threading.Event()

    @app.route(route="blocked")
    def block(req: Request) -> Response:
        blocked.set()
        release.wait(SECONDS)
        return Response(threading.current_thread().name)

    @app.route(route="free", methods=["GET"])
    async def free(req: Request, context: func.Context) -> str:
        return context.function_name

    return app, blocked, release


async def test_a_blocking_function_does_not_hold_up_others():
    app, blocked, release = sync_app()
    async with local_host(app) as running:
        slow = asyncio.create_task(running.http.get("/blocked"))
        await asyncio.to_thread(blocked.wait, SECONDS)
        assert (await running.http.get("/free")).json() == "free"
        release.set()
        assert (await slow).text.startswith("function")


def test_a_binding_this_host_does_not_have_is_refused_by_name():
    from workflow_runtime.hosts.local.functions_app import read_app

    app = func.FunctionApp()

    @app.route(route="x")
    @app.queue_output(arg_name="out", queue_name="q", connection="C")
    def enqueue(req: Request, out: func.Out[str]) -> Response:
        return Response("")

    with pytest.raises(ConfigurationError, match=r"function 'enqueue' .* 'queue'"):
        read_app(app)
