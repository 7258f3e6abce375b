"""Leases end with their session and its grace, and with the hub's process."""

import asyncio

import pytest

from tests.hub.support import PATIENCE, HandWorker, activity, completed, started, status_of
from workflow_runtime.hosts.local.hub import HubOptions, Reason, RefusedError, SqliteTaskHub
from workflow_runtime.hosts.local.hub.leases import Session


async def hub_with_grace(tmp_path, seconds):
    return await SqliteTaskHub.open(tmp_path, options=HubOptions(lease_grace=seconds))


async def test_what_a_lost_worker_held_goes_to_another_after_the_grace(tmp_path):
    async with await hub_with_grace(tmp_path, 0.05) as hub:
        lost = HandWorker(hub)
        await hub.start(started())
        turn = await lost.turn()
        await lost.close()
        other = HandWorker(hub)
        again = await other.turn()
        with pytest.raises(RefusedError) as refused:
            await other.answer(turn, completed('"late"'))
        assert refused.value.reason is Reason.LEASE_LOST
        await other.answer(again, completed('"in time"'))
        assert (await hub.get("one", payloads=True)).output.value == '"in time"'
        await other.close()


async def test_within_the_grace_what_was_done_counts(tmp_path):
    async with await hub_with_grace(tmp_path, 30) as hub:
        worker = HandWorker(hub)
        await hub.start(started())
        turn = await worker.turn()
        await worker.close()
        other = HandWorker(hub)
        await other.nothing()
        await worker.answer(turn, completed())
        assert await status_of(hub, "one") == "COMPLETED"
        await other.nothing()
        await other.close()


async def test_a_token_of_a_process_before_fits_nothing(tmp_path):
    async with await SqliteTaskHub.open(tmp_path) as hub:
        worker = HandWorker(hub)
        await hub.start(started())
        await worker.answer(await worker.turn(), activity(1))
        old = await worker.task()
        await worker.close()
    async with await SqliteTaskHub.open(tmp_path) as hub:
        worker = HandWorker(hub)
        new = await worker.task()
        with pytest.raises(RefusedError):
            await worker.result(old, '"old"')
        await worker.result(new, '"new"')
        event = (await worker.turn()).orchestratorRequest.newEvents[1]
        assert event.taskCompleted.result.value == '"new"'
        await worker.close()


async def test_a_session_gets_only_what_its_filters_name(hub):
    session = Session(
        turn_limit=4, task_limit=4, turn_filter={"flow": frozenset({"2"})}, task_filter={}
    )
    items = hub.work_encoded(session, ping_every=None)
    await hub.start(started("other", name="other"))
    await hub.start(started("old", name="flow"))
    version = {"value": "2"}
    await hub.start(started("new", name="flow", version=version))
    item = await asyncio.wait_for(anext(items), PATIENCE)
    assert b"new" in item
    unfiltered = HandWorker(hub)
    rest = {(await unfiltered.turn()).orchestratorRequest.instanceId for _ in range(2)}
    assert rest == {"other", "old"}
    await unfiltered.close()
    await items.aclose()


async def test_a_turn_queued_again_before_its_commit_was_heard_is_not_passed_over(hub, worker):
    """The session looks between the commit and the loop's hearing of it."""
    await hub.start(started())
    turn = await worker.turn()
    await hub.raise_event("one", "go", None)
    answering = asyncio.ensure_future(worker.answer(turn))
    await asyncio.sleep(0)
    while hub._reader.execute("SELECT max(seq) FROM ready").fetchone()[0] < 2:
        pass
    (session,) = hub._leases.sessions
    session.look_for_turns = True
    hub._dispatcher._fill(session, [])
    await answering
    assert (await worker.turn()).orchestratorRequest.newEvents[1].HasField("eventRaised")
