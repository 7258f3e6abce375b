"""A local host that carries an app over the SQLite task hub, and what talks to it in tests."""

from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import pytest

from tests.hosts.toy_app import Hubs, toy_app
from workflow_runtime.hosts.client import DurableTaskHub
from workflow_runtime.hosts.host_json import HostSettings
from workflow_runtime.hosts.local.host import LocalHost, client_json
from workflow_runtime.hosts.local.hub import SqliteTaskHub


@dataclass
class Running:
    host: LocalHost
    hub: DurableTaskHub
    http: httpx.AsyncClient

    async def start(self, instance_id, *steps):
        body = {"id": instance_id, "steps": steps}
        answer = await self.http.post("/toy/start", json=body)
        assert answer.status_code == 202, answer.text


@asynccontextmanager
async def local_host(
    app=None, *, activities=(), routes=(), most_activities=32, start=True, directory=None
):
    """Run *app*, or the toy app with these parts added to it, in this process."""
    hubs = Hubs()
    app = app or toy_app(hubs=hubs, activities=activities, routes=routes)
    settings = HostSettings(route_prefix="", activities=most_activities)
    async with AsyncExitStack() as stack:
        directory = directory or Path(stack.enter_context(TemporaryDirectory()))
        task_hub = await stack.enter_async_context(await SqliteTaskHub.open(directory))
        client = client_json(task_hub.address)
        host = LocalHost(app, task_hub, client, settings=settings)
        hub = DurableTaskHub(client)
        stack.push_async_callback(hub.close)
        stack.push_async_callback(hubs.close)
        if start:
            host.start()
            stack.push_async_callback(host.stop, drain=0)
        transport = httpx.ASGITransport(app=host.asgi)
        http = httpx.AsyncClient(transport=transport, base_url="http://localhost")
        yield Running(host, hub, await stack.enter_async_context(http))


@pytest.fixture
async def running():
    async with local_host() as running:
        yield running
