"""Durabletask's own worker and clients, and the Azure one, unchanged, on the gRPC service."""

import asyncio
import json
from datetime import UTC, datetime, timedelta

import grpc
import pytest
from azure.durable_functions import DurableFunctionsClient
from durabletask import task
from durabletask.client import OrchestrationQuery, OrchestrationStatus, TaskHubGrpcClient
from durabletask.internal import orchestrator_service_pb2 as pb
from durabletask.internal import orchestrator_service_pb2_grpc as pb_grpc

from tests.hub.support import sdk_client, sdk_worker
from workflow_runtime.hosts.local.hub import HubOptions, SqliteTaskHub


def double(ctx, value):
    return value * 2


def refuse(ctx, value):
    raise ValueError(f"no {value}")


def fan(ctx, width):
    results = yield task.when_all([ctx.call_activity(double, input=n) for n in range(width)])
    return sum(results)


def nested(ctx, _):
    first = yield ctx.call_sub_orchestrator(fan, input=3)
    yield ctx.create_timer(timedelta(milliseconds=20))
    return first


def listens(ctx, _):
    ctx.set_custom_status({"waiting": True})
    given = yield ctx.wait_for_external_event("go")
    return given


def retries(ctx, _):
    policy = task.RetryPolicy(
        first_retry_interval=timedelta(milliseconds=10), max_number_of_attempts=3
    )
    yield ctx.call_activity(refuse, input=1, retry_policy=policy)


def counts(ctx, so_far):
    if so_far < 5:
        yield ctx.call_activity(double, input=so_far)
        ctx.continue_as_new(so_far + 1)
        return None
    return so_far


def parent_of_listener(ctx, _):
    yield ctx.call_sub_orchestrator(listens, instance_id="below")


@pytest.fixture
async def worker(hub):
    orchestrators = (fan, nested, listens, retries, counts, parent_of_listener)
    async with sdk_worker(hub, orchestrators=orchestrators, activities=(double, refuse)) as opened:
        yield opened


async def finished(client, orchestrator, given=None):
    instance_id = await client.schedule_new_orchestration(orchestrator, input=given)
    return await client.wait_for_orchestration_completion(instance_id, timeout=20)


@pytest.mark.parametrize(
    ("orchestrator", "given", "output"),
    [(fan, 40, "1560"), (nested, None, "6"), (counts, 0, "5")],
)
async def test_the_sdk_worker_carries_out(client, worker, orchestrator, given, output):
    state = await finished(client, orchestrator, given)
    assert (state.runtime_status, state.serialized_output) == (
        OrchestrationStatus.COMPLETED,
        output,
    )


async def test_retries_of_the_sdk_run_the_activity_again_and_then_fail(client, worker):
    state = await finished(client, retries)
    assert state.runtime_status is OrchestrationStatus.FAILED
    assert "no 1" in str(state.failure_details)
    events = await client.get_orchestration_history(state.instance_id)
    assert sum(type(event).__name__ == "TaskFailedEvent" for event in events) == 3


async def test_events_and_waits_wake_without_polling(client, worker):
    instance_id = await client.schedule_new_orchestration(listens)
    state = await client.wait_for_orchestration_start(instance_id, timeout=10)
    assert json.loads(state.serialized_custom_status) == {"waiting": True}
    waiting = asyncio.create_task(client.wait_for_orchestration_completion(instance_id))
    await client.raise_orchestration_event(instance_id, "GO", data={"a": 1})
    assert json.loads((await waiting).serialized_output) == {"a": 1}


async def test_a_wait_that_takes_too_long_is_a_timeout(client, worker):
    instance_id = await client.schedule_new_orchestration(listens)
    with pytest.raises(TimeoutError):
        await client.wait_for_orchestration_completion(instance_id, timeout=0.2)


async def test_what_is_not_there_is_said_so(client):
    assert await client.get_orchestration_state("nobody") is None
    assert await client.wait_for_orchestration_completion("nobody") is None
    for call in (
        client.raise_orchestration_event("nobody", "go"),
        client.terminate_orchestration("nobody"),
        client.get_orchestration_history("nobody"),
    ):
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await call
        assert refused.value.code() is grpc.StatusCode.NOT_FOUND


async def test_a_second_start_of_an_id_is_refused(client):
    await client.schedule_new_orchestration(fan, instance_id="one")
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await client.schedule_new_orchestration(fan, instance_id="one")
    assert refused.value.code() is grpc.StatusCode.ALREADY_EXISTS


async def test_what_is_not_built_says_so(client):
    await client.schedule_new_orchestration(fan, instance_id="one")
    for call in (
        client.suspend_orchestration("one"),
        client.resume_orchestration("one"),
        client.rewind_orchestration("one"),
        client.restart_orchestration("one"),
    ):
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await call
        assert refused.value.code() is grpc.StatusCode.UNIMPLEMENTED
        assert "local task hub does not implement" in refused.value.details()


async def test_terminate_and_purge_go_down_to_children(client, worker):
    instance_id = await client.schedule_new_orchestration(parent_of_listener)
    while await client.wait_for_orchestration_start("below") is None:
        await client.wait_for_orchestration_start(instance_id)
    await client.terminate_orchestration(instance_id, output="enough")
    for each in (instance_id, "below"):
        state = await client.get_orchestration_state(each)
        assert state.runtime_status is OrchestrationStatus.TERMINATED
        assert state.serialized_output == '"enough"'
    result = await client.purge_orchestration(instance_id, recursive=True)
    assert result.deleted_instance_count == 2
    assert await client.get_orchestration_state("below") is None


async def test_a_running_instance_is_not_purged(client, worker):
    instance_id = await client.schedule_new_orchestration(listens)
    await client.wait_for_orchestration_start(instance_id)
    assert (await client.purge_orchestration(instance_id)).deleted_instance_count == 0
    assert await client.get_orchestration_state(instance_id) is not None


async def test_purge_by_filter_takes_what_matches_and_has_ended(client, worker):
    ended = [(await finished(client, fan, 1)).instance_id for _ in range(3)]
    running = await client.schedule_new_orchestration(listens)
    await client.wait_for_orchestration_start(running)
    hour = timedelta(hours=1)
    none = await client.purge_orchestrations_by(created_time_to=datetime.now(UTC) - hour)
    assert none.deleted_instance_count == 0
    result = await client.purge_orchestrations_by(
        created_time_from=datetime.now(UTC) - hour, timeout=timedelta(seconds=10)
    )
    assert (result.deleted_instance_count, result.is_complete) == (len(ended), True)
    assert [s.instance_id for s in await client.get_all_orchestration_states()] == [running]


async def test_pages_by_prefix_are_stable_while_instances_come_and_go(hub, client):
    for n in range(7):
        await client.schedule_new_orchestration(fan, input=n, instance_id=f"a/{n}")
        await client.schedule_new_orchestration(fan, input=n, instance_id=f"b/{n}")
    query = pb.InstanceQuery(maxInstanceCount=3)
    query.instanceIdPrefix.value = "a/"
    seen = []
    while True:
        page = await client._stub.QueryInstances(pb.QueryInstancesRequest(query=query))
        seen += [state.instanceId for state in page.orchestrationState]
        assert not any(state.HasField("input") for state in page.orchestrationState)
        if not page.HasField("continuationToken"):
            break
        query.continuationToken.CopyFrom(page.continuationToken)
        await client.schedule_new_orchestration(fan, instance_id=f"a/0{len(seen)}")
        await hub.terminate(seen[-1], None, recurse=False)
        await hub.purge([seen[-1]], recursive=False)
    assert seen == [f"a/{n}" for n in range(7)]


async def test_queries_filter_by_status_and_time(client, worker):
    done = await finished(client, fan, 2)
    running = await client.schedule_new_orchestration(listens)
    await client.wait_for_orchestration_start(running)
    now = datetime.now(UTC)
    for query, wanted in (
        (OrchestrationQuery(runtime_status=[OrchestrationStatus.RUNNING]), [running]),
        (
            OrchestrationQuery(
                runtime_status=[OrchestrationStatus.COMPLETED], fetch_inputs_and_outputs=True
            ),
            [done.instance_id],
        ),
        (OrchestrationQuery(created_time_from=now), []),
        (OrchestrationQuery(created_time_to=now - timedelta(hours=1)), []),
    ):
        states = await client.get_all_orchestration_states(query)
        assert [state.instance_id for state in states] == wanted
    page = await client.list_instance_ids(page_size=1)
    assert (page.items, page.continuation_token) == ([done.instance_id], None)


async def test_big_outputs_come_in_pages_that_a_client_accepts(hub, client):
    for n in range(12):
        await client.schedule_new_orchestration(fan, input="x" * 900_000, instance_id=f"big{n:02}")
    states = await client.get_all_orchestration_states(
        OrchestrationQuery(instance_id_prefix="big", fetch_inputs_and_outputs=True)
    )
    assert len(states) == 12


async def test_history_has_every_event_in_order(client, worker):
    state = await finished(client, fan, 300)
    events = await client.get_orchestration_history(state.instance_id)
    names = [type(event).__name__ for event in events]
    assert names[:2] == ["OrchestratorStartedEvent", "ExecutionStartedEvent"]
    assert names[-1] == "ExecutionCompletedEvent"
    assert names.count("TaskScheduledEvent") == names.count("TaskCompletedEvent") == 300


async def test_a_worker_with_filters_gets_only_what_it_asked_for(hub, client, worker):
    def only(ctx, _):
        return "mine"

    async with sdk_worker(hub, orchestrators=[only]) as second:
        second.stop()
        second.use_work_item_filters()
        second.start()
        state = await finished(client, fan, 10)
        assert state.serialized_output == "90"


async def test_the_sync_client_works_beside_the_loop(hub, worker):
    def run():
        with TaskHubGrpcClient(host_address=hub.address) as client:
            instance_id = client.schedule_new_orchestration(fan, input=5)
            return client.wait_for_orchestration_completion(instance_id, timeout=20)

    assert (await asyncio.to_thread(run)).serialized_output == "20"


async def test_the_azure_client_works_with_its_metadata_and_its_prefix_queries(hub, worker):
    client = DurableFunctionsClient(
        json.dumps(
            {
                "taskHubName": "local",
                "rpcBaseUrl": f"http://{hub.address}",
                "requiredQueryStringParameters": "code=secret",
            }
        )
    )
    async with client:
        instance_id = await client.schedule_new_orchestration("fan", input=4, instance_id="mine/1")
        state = await client.wait_for_orchestration_completion(instance_id, timeout=20)
        assert state is not None
        assert (state.serialized_input, state.serialized_output) == ("4", "12")
        query = OrchestrationQuery(instance_id_prefix="mine/1", fetch_inputs_and_outputs=False)
        (found,) = await client.get_all_orchestration_states(query)
        assert (found.instance_id, found.serialized_input) == ("mine/1", None)


async def test_work_goes_on_after_the_hub_was_closed_and_opened(tmp_path):
    async with await SqliteTaskHub.open(tmp_path) as hub, sdk_client(hub) as client:
        async with sdk_worker(hub, orchestrators=[listens]):
            instance_id = await client.schedule_new_orchestration(listens)
            await client.wait_for_orchestration_start(instance_id)
        await client.raise_orchestration_event(instance_id, "go", data=1)
    async with (
        await SqliteTaskHub.open(tmp_path) as hub,
        sdk_client(hub) as client,
        sdk_worker(hub, orchestrators=[listens]),
    ):
        state = await client.wait_for_orchestration_completion(instance_id, timeout=10)
    assert state.serialized_output == "1"


async def test_an_idle_stream_is_told_that_the_hub_lives(tmp_path):
    options = HubOptions(ping_every=0.01)
    async with (
        await SqliteTaskHub.open(tmp_path, options=options) as hub,
        grpc.aio.insecure_channel(hub.address) as channel,
    ):
        stub = pb_grpc.TaskHubSidecarServiceStub(channel)
        stream = stub.GetWorkItems(pb.GetWorkItemsRequest())
        item = await asyncio.wait_for(stream.read(), 10)
        assert item.HasField("healthPing")
        stream.cancel()
