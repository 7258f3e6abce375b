"""A worker made by hand: it takes work items one by one and answers with chosen actions."""

import asyncio
from contextlib import asynccontextmanager

from durabletask import client as dt_client
from durabletask import worker as dt_worker
from durabletask.internal import helpers
from durabletask.internal import orchestrator_service_pb2 as pb

PATIENCE = 10


class HandWorker:
    """Takes work through the seam in process."""

    def __init__(self, hub, **limits):
        self.hub = hub
        self._items = hub.work(**({"orchestrators": 8, "activities": 8} | limits))
        self._next = None

    async def turn(self):
        item = await self._take()
        assert item.HasField("orchestratorRequest"), item
        return item

    async def task(self):
        item = await self._take()
        assert item.HasField("activityRequest"), item
        return item

    async def nothing(self):
        """Assert that the hub has no work: it looked, and sleeps."""
        if self._next is None:
            self._next = asyncio.ensure_future(anext(self._items))
        # Whatever is committed and due has been looked at once the loop has gone round.
        await self.hub.purge([], recursive=False)
        for _ in range(5):
            await asyncio.sleep(0)
        assert not self._next.done(), self._next.result()

    async def answer(self, item, *actions, status=None):
        await self.hub.complete_orchestrator(
            pb.OrchestratorResponse(
                instanceId=item.orchestratorRequest.instanceId,
                actions=actions,
                customStatus=helpers.get_string_value(status),
                completionToken=item.completionToken,
            )
        )

    async def result(self, item, value='"done"'):
        await self.hub.complete_activity(
            pb.ActivityResponse(
                instanceId=item.activityRequest.orchestrationInstance.instanceId,
                taskId=item.activityRequest.taskId,
                result=helpers.get_string_value(value),
                completionToken=item.completionToken,
            )
        )

    async def close(self):
        if self._next is not None:
            self._next.cancel()
            await asyncio.gather(self._next, return_exceptions=True)
        await self._items.aclose()

    async def _take(self):
        waiting, self._next = self._next or asyncio.ensure_future(anext(self._items)), None
        return await asyncio.wait_for(waiting, PATIENCE)


def activity(task_id, name="step", given="1"):
    return helpers.new_schedule_task_action(task_id, name, given, None)


def timer(task_id, moment):
    return helpers.new_create_timer_action(task_id, moment)


def child(task_id, name="child", instance_id="child", given="1"):
    return helpers.new_create_sub_orchestration_action(task_id, name, instance_id, given, None)


def completed(result='"ok"', task_id=99):
    return helpers.new_complete_orchestration_action(
        task_id, pb.ORCHESTRATION_STATUS_COMPLETED, result
    )


def again(given, carried=(), task_id=99):
    return helpers.new_complete_orchestration_action(
        task_id, pb.ORCHESTRATION_STATUS_CONTINUED_AS_NEW, given, carryover_events=list(carried)
    )


def started(instance_id="one", name="flow", given='"in"', **fields):
    return pb.CreateInstanceRequest(
        instanceId=instance_id, name=name, input=helpers.get_string_value(given), **fields
    )


def kinds(events):
    return [event.WhichOneof("eventType") for event in events]


async def status_of(hub, instance_id):
    state = await hub.get(instance_id, payloads=True)
    return None if state is None else pb.OrchestrationStatus.Name(state.orchestrationStatus)[21:]


@asynccontextmanager
async def sdk_worker(hub, *, orchestrators=(), activities=()):
    """Durabletask's own worker on the hub's gRPC service."""
    worker = dt_worker.TaskHubGrpcWorker(host_address=hub.address)
    for orchestrator in orchestrators:
        worker.add_orchestrator(orchestrator)
    for function in activities:
        worker.add_activity(function)
    worker.start()
    try:
        yield worker
    finally:
        await asyncio.to_thread(worker.stop)


def sdk_client(hub):
    return dt_client.AsyncTaskHubGrpcClient(host_address=hub.address)
