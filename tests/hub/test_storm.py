"""Many workers that give up, vanish and come back, and a hub that is restarted: all ends right."""

import asyncio
import random
from collections import Counter
from contextlib import aclosing
from datetime import UTC, datetime, timedelta

import pytest
from durabletask.internal import helpers
from durabletask.internal import orchestrator_service_pb2 as pb

from tests.hub.support import activity, completed, started, timer
from workflow_runtime.errors import HubUnavailableError
from workflow_runtime.hosts.local.hub import HubOptions, RefusedError, SqliteTaskHub

INSTANCES, ACTIVITIES, EVENTS, TIMERS = 25, 5, 3, 2
WANTED = Counter(taskCompleted=ACTIVITIES, eventRaised=EVENTS, timerFired=TIMERS)
OPTIONS = HubOptions(lease_grace=0.01)


def next_actions(request):
    """Ask for everything in the first turn; end when everything has come."""
    events = [*request.pastEvents, *request.newEvents]
    if not request.pastEvents:
        soon = datetime.now(UTC) + timedelta(milliseconds=20)
        tasks = [activity(n) for n in range(1, ACTIVITIES + 1)]
        return [*tasks, *(timer(100 + n, soon) for n in range(TIMERS))]
    came = Counter(event.WhichOneof("eventType") for event in events)
    return [completed()] if all(came[kind] >= count for kind, count in WANTED.items()) else []


async def work(hub, chance):
    """Take work until the hub closes, and be unreliable."""
    while True:
        items = hub.work(orchestrators=chance.randint(1, 3), activities=chance.randint(1, 4))
        async with aclosing(items):
            async for item in items:
                luck = chance.random()
                if luck < 0.05:
                    break
                await asyncio.sleep(chance.choice((0, 0, 0.001)))
                await handle(hub, item, abandon=luck < 0.15)
            else:
                return


async def handle(hub, item, *, abandon):
    token = item.completionToken
    if item.HasField("orchestratorRequest"):
        request = item.orchestratorRequest
        response = pb.OrchestratorResponse(
            instanceId=request.instanceId, actions=next_actions(request), completionToken=token
        )
        done = hub.abandon_orchestrator(token) if abandon else hub.complete_orchestrator(response)
    else:
        response = pb.ActivityResponse(
            taskId=item.activityRequest.taskId,
            result=helpers.get_string_value("1"),
            completionToken=token,
        )
        done = hub.abandon_activity(token) if abandon else hub.complete_activity(response)
    try:
        await done
    except RefusedError:
        return


async def outside(hub, names, chance):
    """Start what is new and raise all events, in any order of instances."""
    for name in names:
        await hub.start(started(name))
    events = [name for name in names for _ in range(EVENTS)]
    chance.shuffle(events)
    for name in events:
        await hub.raise_event(name, "go", None)
        await asyncio.sleep(0)


@pytest.mark.parametrize("seed", range(4))
async def test_everything_asked_for_happens_once_and_nothing_is_passed_over(tmp_path, seed):
    chance = random.Random(seed)
    names = []
    for life in range(3):
        async with await SqliteTaskHub.open(tmp_path, options=OPTIONS) as hub:
            workers = [asyncio.create_task(work(hub, chance)) for _ in range(3)]
            new = [f"{life}-{n}" for n in range(INSTANCES)]
            names += new
            await outside(hub, new, chance)
            if life == 2:
                async with asyncio.timeout(20):
                    for name in names:
                        await hub.wait(name, for_end=True)
                await check(hub, names)
        outcomes = await asyncio.gather(*workers, return_exceptions=True)
        assert all(o is None or isinstance(o, HubUnavailableError) for o in outcomes), outcomes


async def check(hub, names):
    for name in names:
        (key,) = hub._reader.execute("SELECT key FROM instances WHERE id = ?", (name,)).fetchone()
        rows = hub._reader.execute("SELECT event FROM history WHERE key = ?", (key,))
        events = [pb.HistoryEvent.FromString(row[0]) for row in rows]
        came = Counter(event.WhichOneof("eventType") for event in events)
        assert {kind: came[kind] for kind in WANTED} == dict(WANTED), name
        assert came["executionCompleted"] == 1
    for table in ("ready", "inbox", "tasks", "timers"):
        assert hub._reader.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,), table
