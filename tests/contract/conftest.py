"""The hosts that carry the same runs: simulation, durabletask's own backend, the SQLite hub."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from concurrent import futures
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import pytest
from azure.durable_functions import DFApp
from durabletask.internal import orchestrator_service_pb2_grpc as stubs
from durabletask.testing import InMemoryOrchestrationBackend
from durabletask.worker import ConcurrencyOptions, TaskHubGrpcWorker

from tests.fakes import OWNER, PATIENCE, Lab
from workflow_runtime.engine import Run
from workflow_runtime.hosts.activities import activities
from workflow_runtime.hosts.client import DurableTaskHub
from workflow_runtime.hosts.durable import orchestrate
from workflow_runtime.hosts.functions import register
from workflow_runtime.hosts.local.host import client_json
from workflow_runtime.hosts.local.serve import working
from workflow_runtime.plan.types import Json
from workflow_runtime.service import ORCHESTRATOR, WorkflowService, has_ended
from workflow_runtime.service.fold import fold, step_of

ROOT = Path(__file__).parents[2]


@dataclass
class Durable:
    """A lab on a durable host."""

    kind: str
    lab: Lab
    hub: DurableTaskHub
    service: WorkflowService

    @property
    def cast(self):
        return self.lab.cast

    async def start(self, *tasks: dict[str, Any], owner=OWNER, **rest: Any) -> str:
        answer = await self.service.start(owner, {"tasks": list(tasks), **rest})
        assert "workflow_id" in answer, answer
        return str(answer["workflow_id"])

    async def until(self, workflow_id: str, holds, *, seconds: float = PATIENCE):
        """Return the first envelope for which something holds."""
        async with asyncio.timeout(seconds):
            while True:
                envelope = await self.service.status(OWNER, workflow_id)
                if holds(envelope):
                    return envelope
                assert not has_ended(str(envelope["status"])), envelope
                await asyncio.sleep(0.02)

    async def waits(self, workflow_id: str, count: int = 1):
        """Return what the run waits for, when it does."""
        found = await self.until(workflow_id, lambda one: len(one["waiting_for"]) >= count)
        return found["waiting_for"]

    async def ended(self, workflow_id: str) -> dict[str, Json]:
        """Return the last envelope."""
        envelope = await self.service.status(OWNER, workflow_id, wait_seconds=PATIENCE)
        assert has_ended(str(envelope["status"])), envelope
        return envelope

    async def run(self, *tasks: dict[str, Any], **rest: Any) -> dict[str, Json]:
        return await self.ended(await self.start(*tasks, **rest))

    async def folded(self, workflow_id: str) -> Run:
        found = fold(await self.hub.history(workflow_id))
        assert found is not None
        return found[1]

    async def order(self, workflow_id: str) -> list[str]:
        """Return the steps in the order their ends were recorded; a timer counts as one."""
        steps: dict[int, str | None] = {}
        ends: list[str] = []
        for entry in await self.hub.history(workflow_id):
            if entry.kind == "scheduled":
                steps[entry.id] = step_of(entry.payload)
            elif entry.kind == "completed" and steps.get(entry.of):
                ends.append(str(steps[entry.of]))
            elif entry.kind == "timer_fired":
                ends.append("timer")
        return ends


class LoopbackBackend(InMemoryOrchestrationBackend):
    """durabletask's backend, which binds all interfaces, on a free port of the loopback."""

    def start(self) -> str:
        self._server = grpc.server(futures.ThreadPoolExecutor(max_workers=40))
        stubs.add_TaskHubSidecarServiceServicer_to_server(self, self._server)
        port = self._server.add_insecure_port("127.0.0.1:0")
        self._server.start()
        return f"127.0.0.1:{port}"


@asynccontextmanager
async def in_memory(lab: Lab) -> AsyncIterator[str]:
    """Run durabletask's own worker on its in-memory backend; gives the binding's JSON."""
    loop = asyncio.get_running_loop()
    backend = LoopbackBackend()
    address = backend.start()
    binding = client_json(address)
    hub = DurableTaskHub(binding)
    service = lab.service(hub)
    threads = ConcurrencyOptions(maximum_thread_pool_workers=40)
    worker = TaskHubGrpcWorker(host_address=address, concurrency_options=threads)
    orchestrator: Any = orchestrate
    worker._registry.add_named_orchestrator(ORCHESTRATOR, orchestrator)
    for activity in activities(lab.attempts, lab.chat):
        worker._registry.add_named_activity(activity.name, _on_loop(loop, activity.run, service))
    worker.start()
    try:
        yield binding
    finally:
        await asyncio.to_thread(worker.stop)
        await hub.close()
        await asyncio.to_thread(backend.stop)


def _on_loop(loop, run, service):
    def call(_context, payload):
        return asyncio.run_coroutine_threadsafe(run(payload, service), loop).result()

    return call


@asynccontextmanager
async def sqlite(lab: Lab, data: Path) -> AsyncIterator[str]:
    """Run a function app of the lab on the SQLite hub; gives the binding's JSON."""
    hubs: list[DurableTaskHub] = []
    made: dict[str, WorkflowService] = {}

    def services(binding: str) -> WorkflowService:
        if binding not in made:
            hubs.append(DurableTaskHub(binding))
            made[binding] = lab.service(hubs[-1])
        return made[binding]

    app = DFApp()
    register(
        app,
        orchestrator_name=ORCHESTRATOR,
        orchestrator=orchestrate,
        activities=activities(lab.attempts, lab.chat),
        routes=(),
        services=services,
    )
    async with working(app, app_root=ROOT, data=data) as binding:
        yield binding
        for hub in hubs:
            await hub.close()


@asynccontextmanager
async def durable(kind: str, data: Path, **limits: Any) -> AsyncIterator[Durable]:
    """Open one of the durable hosts with a lab of its own."""
    lab = Lab(data, **limits)
    opened = in_memory(lab) if kind == "in_memory" else sqlite(lab, data / "hub")
    async with opened as binding:
        hub = DurableTaskHub(binding)
        try:
            yield Durable(kind, lab, hub, lab.service(hub))
        finally:
            await hub.close()
            lab.pool.close()


@pytest.fixture(params=["in_memory", "sqlite"])
async def host(request, tmp_path):
    async with durable(request.param, tmp_path) as opened:
        yield opened


@pytest.fixture
async def sqlite_host(tmp_path):
    async with durable("sqlite", tmp_path) as opened:
        yield opened
