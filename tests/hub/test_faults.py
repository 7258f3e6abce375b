"""One clear line for every way in which a data directory cannot be used; nothing is lost."""

import asyncio
import json
import os
import socket
import sqlite3
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest

from tests.hub.support import HandWorker, activity, completed, started, status_of
from workflow_runtime.errors import DataDirectoryError, HubUnavailableError
from workflow_runtime.hosts.local.hub import HubOptions, SqliteTaskHub, ownership, read_holder
from workflow_runtime.hosts.local.hub.ownership import LOCK_FILE, _try_lock
from workflow_runtime.hosts.local.hub.schema import DATABASE_FILE


async def refused(directory, **options):
    with pytest.raises(DataDirectoryError) as error:
        await SqliteTaskHub.open(directory, **options)
    message = str(error.value)
    assert "\n" not in message
    return message


async def test_a_second_start_says_who_holds_the_directory(tmp_path):
    async with await SqliteTaskHub.open(tmp_path) as hub:
        message = await refused(tmp_path)
        assert f"process {os.getpid()} at {hub.address}" in message
        holder = read_holder(tmp_path)
        assert holder is not None
        assert (holder.pid, holder.address) == (os.getpid(), hub.address)
        assert json.loads((tmp_path / LOCK_FILE).read_text()).keys() == {
            "pid",
            "address",
            "started_at",
        }
    assert read_holder(tmp_path) is None


async def test_what_a_dead_process_left_holds_nothing(tmp_path):
    (tmp_path / LOCK_FILE).write_text('{"pid": 1, "address": "127.0.0.1:1", "started_at": "x"}')
    assert read_holder(tmp_path) is None
    async with await SqliteTaskHub.open(tmp_path):
        holder = read_holder(tmp_path)
        assert holder is not None
        assert holder.pid == os.getpid()


async def test_a_directory_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    assert "--data" in await refused(tmp_path / "file")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc takes no files anywhere")
async def test_a_directory_that_takes_no_files_is_refused():
    assert "--data" in await refused(Path("/proc/self/task"))


async def test_who_only_looks_is_not_found_and_is_waited_for(tmp_path, monkeypatch):
    tried = threading.Event()

    def try_lock(descriptor):
        got = _try_lock(descriptor)
        tried.set()
        return got

    looking = await SqliteTaskHub.open(tmp_path, options=HubOptions(is_announced=False))
    holder = read_holder(tmp_path)
    assert holder is not None
    assert holder.address is None
    monkeypatch.setattr(ownership, "_try_lock", try_lock)
    starting = asyncio.create_task(asyncio.to_thread(asyncio.run, open_and_close(tmp_path)))
    assert await asyncio.to_thread(tried.wait, 20)
    await looking.close()
    await starting


async def open_and_close(directory):
    await (await SqliteTaskHub.open(directory)).close()


async def test_a_damaged_file_is_named_and_left_as_it_is(tmp_path):
    path = tmp_path / DATABASE_FILE
    path.write_bytes(b"this is not a database" * 100)
    assert "damaged" in await refused(tmp_path)
    assert path.read_bytes() == b"this is not a database" * 100
    assert read_holder(tmp_path) is None


async def test_a_file_of_a_newer_version_is_left_alone(tmp_path):
    async with await SqliteTaskHub.open(tmp_path):
        pass
    with closing(sqlite3.connect(tmp_path / DATABASE_FILE)) as connection:
        connection.execute("PRAGMA user_version = 7")
    assert "newer version (schema 7" in await refused(tmp_path)


async def test_a_database_of_another_program_is_refused(tmp_path):
    with closing(sqlite3.connect(tmp_path / DATABASE_FILE)) as connection:
        connection.execute("CREATE TABLE theirs (x)")
    assert "other program" in await refused(tmp_path)


async def test_a_port_in_use_is_said_so_and_the_directory_is_free_again(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(HubUnavailableError, match=f"port {port} .* in use"):
            await SqliteTaskHub.open(tmp_path, port=port)
    async with await SqliteTaskHub.open(tmp_path):
        pass


async def test_a_full_disk_refuses_what_does_not_fit_and_keeps_the_rest(tmp_path):
    async with await SqliteTaskHub.open(tmp_path) as hub:
        worker = HandWorker(hub)
        await hub.start(started())
        turn = await worker.turn()
        await worker.answer(turn, activity(1))
        task = await worker.task()
        connection = hub._writer._connection
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages + 2}").fetchone()
        with pytest.raises(DataDirectoryError, match="disk is full"):
            await hub.start(started("big", given="x" * 100_000))
        with pytest.raises(DataDirectoryError, match="disk is full"):
            await worker.result(task, "x" * 100_000)
        assert await status_of(hub, "big") is None
        connection.execute("PRAGMA max_page_count = 1000000").fetchone()
        # The activity was given back, and the hub goes on.
        await worker.result(await worker.task(), '"small"')
        await worker.answer(await worker.turn(), completed())
        assert await status_of(hub, "one") == "COMPLETED"
        await worker.close()


async def test_one_refusal_in_a_group_is_nobody_elses(hub):
    await hub.start(started("taken"))
    names = ["a", "taken", "b", "taken", "c"]
    answers = await asyncio.gather(
        *(hub.start(started(name)) for name in names), return_exceptions=True
    )
    assert [answer if isinstance(answer, str) else "refused" for answer in answers] == [
        "a",
        "refused",
        "b",
        "refused",
        "c",
    ]


async def test_a_closed_hub_says_so(tmp_path):
    hub = await SqliteTaskHub.open(tmp_path)
    await hub.close()
    with pytest.raises(HubUnavailableError, match="closed"):
        await hub.start(started())
    assert not (tmp_path / f"{DATABASE_FILE}-wal").exists()
