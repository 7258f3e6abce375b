"""A local host that carries an app over a real task hub, and what a test needs to talk to it."""

from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import httpx
import pytest

from tests.hosts.memory_work import memory_work
from tests.hosts.toy_app import Hubs, toy_app
from workflow_runtime.hosts.client import DurableTaskHub
from workflow_runtime.hosts.local.host import LocalHost, client_json
from workflow_runtime.hosts.local.host_json import HostSettings


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
async def local_host(app=None, *, activities=(), routes=(), most_activities=32, start=True):
    """Run *app*, or the toy app with these parts added to it, in this process."""
    hubs = Hubs()
    app = app or toy_app(hubs=hubs, activities=activities, routes=routes)
    settings = HostSettings(route_prefix="", activities=most_activities)
    async with AsyncExitStack() as stack:
        work, address = await stack.enter_async_context(memory_work())
        client = client_json(address)
        host = LocalHost(app, work, client, settings=settings)
        hub = DurableTaskHub(client)
        stack.push_async_callback(hub.close)
        stack.push_async_callback(hubs.close)
        if start:
            host.start()
            stack.push_async_callback(host.stop, drain=0)
        transport = httpx.ASGITransport(app=host.asgi)
        http = httpx.AsyncClient(transport=transport, base_url="http://local")
        yield Running(host, hub, await stack.enter_async_context(http))


@pytest.fixture
async def running():
    async with local_host() as running:
        yield running
