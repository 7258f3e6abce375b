"""What ended long ago goes, in small batches; what lives stays."""

from datetime import UTC, datetime, timedelta

from tests.hub.support import HandWorker, activity, child, completed, started, status_of
from workflow_runtime.hosts.local.hub import HubOptions, SqliteTaskHub
from workflow_runtime.hosts.local.hub.clock import SECOND, system_clock
from workflow_runtime.hosts.local.hub.retention import BATCH

TABLES = ("instances", "payloads", "history", "inbox", "ready", "tasks", "timers")


def soon():
    return datetime.now(UTC) + timedelta(seconds=1)


async def ended(hub, worker, instance_id):
    await hub.start(started(instance_id))
    await worker.answer(await worker.turn(), completed())


async def test_a_batch_takes_the_oldest_and_no_more_than_asked(hub, worker):
    for n in range(5):
        await ended(hub, worker, f"run{n}")
    assert await hub.purge_older_than(soon(), 2) == 2
    assert [await status_of(hub, f"run{n}") for n in range(3)] == [None, None, "COMPLETED"]
    assert await hub.purge_older_than(datetime.now(UTC) - timedelta(days=1), 10) == 0


async def test_running_instances_and_children_of_running_parents_stay(hub, worker):
    await hub.start(started())
    await worker.answer(await worker.turn(), child(1, instance_id="c"))
    await worker.answer(await worker.turn(), completed())
    assert await hub.purge_older_than(soon(), 10) == 0
    turn = await worker.turn()
    await worker.answer(turn, completed())
    assert await hub.purge_older_than(soon(), 10) == 2
    await hub.purge([], recursive=False)
    for table in TABLES:
        assert hub._reader.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,), table


async def test_a_purged_instance_leaves_no_activity_behind(hub, worker):
    await hub.start(started())
    await worker.answer(await worker.turn(), activity(1), completed())
    task = await worker.task()
    assert await hub.purge(["one"], recursive=True) == 1
    await worker.result(task)
    await worker.nothing()


async def test_a_hub_purges_by_itself_what_is_older_than_its_retention(tmp_path):
    async with await SqliteTaskHub.open(tmp_path) as hub:
        worker = HandWorker(hub)
        for n in range(BATCH + 3):
            await ended(hub, worker, f"run{n}")
        await hub.start(started("lives"))
        await worker.close()
    later = HubOptions(
        retention=timedelta(days=3), clock=lambda: system_clock() + 4 * 24 * 3600 * SECOND
    )
    async with await SqliteTaskHub.open(tmp_path, options=later) as hub:
        await hub._retention.purge_expired()
        left = hub._reader.execute("SELECT id FROM instances").fetchall()
        assert left == [("lives",)]
