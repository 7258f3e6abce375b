"""Timers are rows; one scheduler fires them, also those that came due in the meantime."""

import asyncio
from datetime import UTC, datetime, timedelta

from durabletask.internal import helpers

from tests.hub.support import HandWorker, completed, started, timer
from workflow_runtime.hosts.local.hub import HubOptions, SqliteTaskHub
from workflow_runtime.hosts.local.hub.clock import SECOND, system_clock


def within(**duration):
    return datetime.now(UTC) + timedelta(**duration)


async def test_timers_fire_in_order_and_never_early(hub, worker):
    await hub.start(started())
    moments = {1: within(milliseconds=120), 2: within(milliseconds=40)}
    await worker.answer(await worker.turn(), *(timer(n, at) for n, at in moments.items()))
    for timer_id in (2, 1):
        turn = await worker.turn()
        assert datetime.now(UTC) >= moments[timer_id]
        event = turn.orchestratorRequest.newEvents[1].timerFired
        assert event.timerId == timer_id
        assert event.fireAt.ToDatetime(UTC) == moments[timer_id]
        assert turn.orchestratorRequest.newEvents[0].timestamp.ToDatetime(UTC) >= moments[timer_id]
        await worker.answer(turn)


async def test_a_timer_in_the_past_fires_at_once(hub, worker):
    await hub.start(started())
    await worker.answer(await worker.turn(), timer(1, within(hours=-1)))
    assert (await worker.turn()).orchestratorRequest.newEvents[1].HasField("timerFired")


async def test_a_timer_that_came_due_while_the_hub_was_down_fires_at_start(tmp_path):
    due = within(milliseconds=200)
    async with await SqliteTaskHub.open(tmp_path) as hub:
        worker = HandWorker(hub)
        await hub.start(started())
        await worker.answer(await worker.turn(), timer(1, due), timer(2, within(hours=1)))
        await worker.close()
    await asyncio.sleep((due - datetime.now(UTC)).total_seconds())
    async with await SqliteTaskHub.open(tmp_path) as hub:
        worker = HandWorker(hub)
        turn = await worker.turn()
        assert turn.orchestratorRequest.newEvents[1].timerFired.timerId == 1
        await worker.answer(turn)
        await worker.nothing()
        await worker.close()


async def test_the_timers_of_an_ended_instance_are_gone(hub, worker):
    await hub.start(started())
    await worker.answer(await worker.turn(), timer(1, within(milliseconds=30)), completed())
    await asyncio.sleep(0.06)
    await worker.nothing()
    assert hub._reader.execute("SELECT count(*) FROM timers").fetchone() == (0,)


async def test_many_timers_of_one_moment_all_fire(hub, worker):
    await hub.start(started())
    at = within(milliseconds=20)
    await worker.answer(await worker.turn(), *(timer(n, at) for n in range(1, 451)))
    fired = set()
    while len(fired) < 450:
        turn = await worker.turn()
        fired |= {e.timerFired.timerId for e in turn.orchestratorRequest.newEvents[1:]}
        await worker.answer(turn)
    assert fired == set(range(1, 451))


async def test_a_start_timer_that_fires_after_the_first_turn_loses_no_later_event(tmp_path):
    """An event may come between the moment of a scheduled start and the firing of its timer."""
    now = system_clock()
    options = HubOptions(clock=lambda: now)
    async with await SqliteTaskHub.open(tmp_path, options=options) as hub:
        worker = HandWorker(hub)
        later = datetime.fromtimestamp((now + 10 * SECOND) / SECOND, UTC)
        await hub.start(started(scheduledStartTimestamp=helpers.new_timestamp(later)))
        now += 11 * SECOND
        await hub.raise_event("one", "early", None)
        await worker.answer(await worker.turn())
        await hub._timers._fire()
        await worker.nothing()
        await hub.raise_event("one", "late", None)
        event = (await worker.turn()).orchestratorRequest.newEvents[1]
        assert event.eventRaised.name == "late"
        await worker.close()
