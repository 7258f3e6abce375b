"""What the local host promises of a process that serves: streams, ports, Ctrl-C."""

import asyncio
import signal
import socket
import subprocess
import sys
import threading
from contextlib import asynccontextmanager

import httpx
import pytest
from starlette.responses import StreamingResponse

from tests.hosts.conftest import local_host
from tests.hosts.toy_app import ORCHESTRATOR, Gate, Route, toy_app
from workflow_runtime.errors import ConfigurationError
from workflow_runtime.hosts.client import DurableTaskHub
from workflow_runtime.hosts.functions import Activity
from workflow_runtime.hosts.local.host import listen
from workflow_runtime.hosts.local.serve import serve, working

SECONDS = 20


class Stream:
    """A stream whose second event is made only when the test has seen the first."""

    def __init__(self):
        self.more = asyncio.Event()

    async def __call__(self, _request, _hub):
        return StreamingResponse(self._events(), media_type="text/event-stream")

    async def _events(self):
        yield "data: first\n\n"
        await self.more.wait()
        yield "data: second\n\n"


@asynccontextmanager
async def serving(running):
    """Serve on a free port; gives the client and the task that ends with the exit code."""
    listener, ready = listen(0), asyncio.Event()
    said = []
    task = asyncio.create_task(running.host.serve(listener, ready=ready.set, say=said.append))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    async with httpx.AsyncClient(base_url=url, timeout=SECONDS) as client:
        await ready.wait()
        yield client, task
        if not said:
            signal.raise_signal(signal.SIGINT)
        assert await task == 0
    assert len(said) == 1


@pytest.fixture
def stream():
    return Stream()


@pytest.fixture
async def streaming(stream):
    async with local_host(routes=[Route("stream", "toy/stream", stream)], start=False) as running:
        yield running


async def test_a_stream_is_sent_as_it_is_made(streaming, stream):
    async with serving(streaming) as (http, _), http.stream("GET", "/toy/stream") as answer:
        chunks = answer.aiter_text()
        assert await anext(chunks) == "data: first\n\n"
        stream.more.set()
        assert await anext(chunks) == "data: second\n\n"


async def test_ctrl_c_ends_the_host_in_time_although_a_stream_is_open(streaming, stream):
    async with serving(streaming) as (http, task), http.stream("GET", "/toy/stream") as answer:
        await anext(answer.aiter_raw())
        signal.raise_signal(signal.SIGINT)
        assert await asyncio.wait_for(task, 5) == 0


async def test_ctrl_c_lets_an_activity_end_first():
    gate = Gate()
    async with local_host(activities=[Activity(name="gate", run=gate)], start=False) as running:
        async with serving(running):
            await running.start("a", ["gate", "x"])
            await gate.entered.wait()
            signal.raise_signal(signal.SIGINT)
            gate.open.set()
        assert gate.left


async def test_an_app_is_served_from_its_directory(tmp_path):
    (tmp_path / "host.json").write_text('{"extensions": {"http": {"routePrefix": "x"}}}')
    listed = asyncio.get_running_loop().create_future()
    parts = {"app_root": tmp_path, "data": tmp_path / "data", "port": 0, "say": lambda _: None}
    task = asyncio.create_task(serve(toy_app(), **parts, ready=listed.set_result))
    url = next(row["url"] for row in await listed if row["name"] == "tick")
    assert url.endswith("/x/toy/tick")
    async with httpx.AsyncClient() as client:
        assert (await client.get(url)).text.startswith("data: 0")
    signal.raise_signal(signal.SIGINT)
    assert await task == 0


async def test_an_apps_work_runs_without_http(tmp_path):
    async with working(toy_app(), app_root=tmp_path, data=tmp_path / "data") as client:
        hub = DurableTaskHub(client)
        await hub.start("a", ORCHESTRATOR, '[["shout", "x"]]')
        state = await hub.wait("a", SECONDS)
        await hub.close()
    assert state is not None
    assert state.output == '["X"]'


def test_a_port_in_use_is_one_clear_line():
    with listen(0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigurationError) as caught:
            listen(port)
    assert str(caught.value) == (
        f"cannot listen on 127.0.0.1:{port}: address already in use; choose another --port"
    )


def test_the_host_listens_on_this_machine_only():
    with listen(0) as listener:
        assert listener.getsockname()[0] == "127.0.0.1"


def test_a_second_ctrl_c_ends_the_process_at_once():
    command = [sys.executable, "-m", "tests.hosts.test_serving"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline().startswith("stopping")
        process.send_signal(signal.SIGINT)
        assert process.wait(SECONDS) == 130


async def _never_stops():
    """Serve with a loop that hangs as soon as it is asked to stop."""

    def say(line):
        print(line, flush=True)
        threading.Event().wait()

    async with local_host(start=False) as running:
        await running.host.serve(listen(0), ready=lambda: print("ready", flush=True), say=say)


if __name__ == "__main__":
    asyncio.run(_never_stops())


async def test_an_answer_does_not_wait_for_the_other_sides_acknowledgement():
    delays = []

    async def answer(_reader, writer):
        connection = writer.get_extra_info("socket")
        delays.append(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    with listen(0) as listener:
        server = await asyncio.start_server(answer, sock=listener)
        async with server:
            reader, writer = await asyncio.open_connection(*listener.getsockname())
            await reader.read()
            writer.close()
            await writer.wait_closed()
    assert delays == [1]
