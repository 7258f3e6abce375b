"""durabletask's in-memory backend as a source of work, over its own gRPC service."""

import socket
from contextlib import asynccontextmanager

import durabletask.internal.orchestrator_service_pb2 as pb
import durabletask.internal.orchestrator_service_pb2_grpc as stubs
import grpc
from durabletask.testing import create_test_backend


class GrpcWork:
    """Implements the local host's WorkSource over a hub's gRPC address."""

    def __init__(self, channel):
        self._stub = stubs.TaskHubSidecarServiceStub(channel)

    async def work(self, *, orchestrators, activities):
        request = pb.GetWorkItemsRequest(
            maxConcurrentOrchestrationWorkItems=orchestrators,
            maxConcurrentActivityWorkItems=activities,
        )
        async for item in self._stub.GetWorkItems(request):
            yield item

    async def complete_orchestrator(self, response):
        await self._stub.CompleteOrchestratorTask(response)

    async def complete_activity(self, response):
        await self._stub.CompleteActivityTask(response)

    async def abandon_orchestrator(self, completion_token):
        await self._stub.AbandonTaskOrchestratorWorkItem(
            pb.AbandonOrchestrationTaskRequest(completionToken=completion_token)
        )

    async def abandon_activity(self, completion_token):
        await self._stub.AbandonTaskActivityWorkItem(
            pb.AbandonActivityTaskRequest(completionToken=completion_token)
        )


@asynccontextmanager
async def memory_work():
    """Give a work source and the address of its gRPC service."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    backend = create_test_backend(port=port)
    try:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            yield GrpcWork(channel), f"127.0.0.1:{port}"
    finally:
        backend.stop()
