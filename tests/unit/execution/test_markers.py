"""A tool that must act only once: marked before the call, never called again."""

import asyncio
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.execution.support import attempt
from workflow_runtime.errors import DataDirectoryError, RetryableError
from workflow_runtime.execution import FileMarkers, Tool, refuse
from workflow_runtime.plan.policies import WorkPolicy

ROOT = Path(__file__).parents[3]
ONCE = WorkPolicy(side_effects="once")


def counting(calls, *, is_async, then=None):
    def call(args):
        calls.append(args)
        if then is not None:
            raise then
        return len(calls)

    async def call_later(args):
        return call(args)

    return call_later if is_async else call


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_redelivery_does_not_call_the_tool_again(world, is_async):
    calls: list[object] = []
    tool = counting(calls, is_async=is_async)
    assert await world.call(tool, policy=ONCE) == {"value": 1}
    failure = (await world.call(tool, policy=ONCE))["failure"]
    assert (failure["code"], failure["kind"]) == ("outcome_unknown", "terminal")
    assert "may act only once and was begun before" in failure["message"]
    assert len(calls) == 1


DIES_INSIDE = """
import asyncio, os, sys
from pathlib import Path
from tests.unit.execution.support import World
from workflow_runtime.execution import FileMarkers, ToolPool
from workflow_runtime.plan.policies import WorkPolicy

world = World(ToolPool(1), FileMarkers(Path(sys.argv[1])))
asyncio.run(world.call(lambda args: os._exit(9), policy=WorkPolicy(side_effects="once")))
"""


async def test_a_worker_that_died_inside_the_tool_has_left_its_mark(world, tmp_path):
    died = await asyncio.create_subprocess_exec(
        sys.executable, "-c", DIES_INSIDE, str(tmp_path / "markers"), cwd=ROOT
    )
    assert await died.wait() == 9
    calls: list[object] = []
    failure = (await world.call(counting(calls, is_async=False), policy=ONCE))["failure"]
    assert (failure["code"], calls) == ("outcome_unknown", [])


async def test_the_mark_is_there_before_the_tool_is_called(world):
    async def call(args):
        return world.markers.create("k")

    assert await world.call(call, policy=ONCE, request={"idempotency_key": "k"}) == {"value": False}


@pytest.mark.parametrize(("begun", "code"), [(True, "outcome_unknown"), (False, "canceled")])
async def test_a_canceled_run_is_told_whether_a_tool_that_acts_once_was_begun(world, begun, code):
    tool = Tool(name="t", call=lambda args: 1, policy=ONCE)
    if begun:
        await world.carry_out(attempt(), {"t": tool})
    outcome = await refuse(attempt(), tools={"t": tool}, markers=world.markers)
    assert outcome["failure"]["code"] == code


async def test_the_idempotency_key_is_what_is_marked(world):
    calls: list[object] = []
    tool = counting(calls, is_async=False)
    for key in ("k1", "k2", "k1"):
        await world.call(tool, policy=ONCE, request={"idempotency_key": key})
    assert len(calls) == 2


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("error", [RetryableError("busy"), ValueError(), TimeoutError()])
async def test_no_failure_after_the_call_invites_another(world, is_async, error):
    tool = counting([], is_async=is_async, then=error)
    assert (await world.call(tool, policy=ONCE))["failure"]["kind"] == "terminal"


async def test_a_timeout_of_one_that_acts_once_is_terminal(world):
    out = threading.Event()
    outcome = await world.call(lambda args: out.wait(30), policy=ONCE, request={"timeout": 0.2})
    assert (outcome["failure"]["code"], outcome["failure"]["kind"]) == (
        "outcome_unknown",
        "terminal",
    )
    out.set()


async def test_arguments_that_do_not_fit_leave_no_mark(world):
    needs_n = {"type": "object", "required": ["n"]}
    calls: list[object] = []
    tool = counting(calls, is_async=False)
    wrong = await world.call(tool, policy=ONCE, arguments=needs_n)
    assert wrong["failure"]["code"] == "invalid_arguments"
    assert await world.call(tool, {"n": 1}, policy=ONCE, arguments=needs_n) == {"value": 1}


async def test_one_that_found_no_thread_was_not_begun_and_may_be_tried_again(world):
    out, inside = threading.Event(), threading.Semaphore(0)

    def hold(args):
        inside.release()
        out.wait(30)

    busy = [asyncio.create_task(world.call(hold, request={"task_id": str(i)})) for i in range(2)]
    for _ in busy:
        await asyncio.to_thread(inside.acquire)
    calls: list[object] = []
    tool = counting(calls, is_async=False)
    failure = (await world.call(tool, policy=ONCE, request={"timeout": 0.05}))["failure"]
    assert (failure["code"], failure["kind"]) == ("timed_out", "retryable")
    out.set()
    await asyncio.gather(*busy)
    assert await world.call(tool, policy=ONCE) == {"value": 1}


async def test_tools_that_may_be_repeated_leave_no_mark(world, tmp_path):
    await world.call(lambda args: 1, policy=WorkPolicy(side_effects="idempotent"))
    assert not (tmp_path / "markers").exists()


async def test_a_tool_is_not_called_without_its_mark(world, tmp_path):
    (tmp_path / "markers").write_text("in the way")
    calls: list[object] = []
    failure = (await world.call(counting(calls, is_async=False), policy=ONCE))["failure"]
    assert failure["code"] == "failed"
    assert calls == []
    with pytest.raises(DataDirectoryError, match="no mark can be kept"):
        world.markers.create("k")


def test_of_many_at_once_one_makes_the_mark(tmp_path):
    start = threading.Barrier(8)

    def create(_):
        start.wait()
        return FileMarkers(tmp_path / "m").create("key")

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(create, range(8))) == 1


@given(st.lists(st.text(), unique=True, max_size=5))
def test_any_key_is_marked_once(tmp_path_factory, keys):
    markers = FileMarkers(tmp_path_factory.mktemp("m"))
    assert [markers.create(key) for key in keys] == [True] * len(keys)
    assert [markers.create(key) for key in keys] == [False] * len(keys)


async def test_one_that_is_marked_is_begun_though_its_run_is_canceled_at_that_moment(world):
    calls: list[object] = []

    class Marks(FileMarkers):
        def create(self, key):
            made = super().create(key)
            world.signals.cancel("wf")
            return made

    async def call(args):
        calls.append(args)
        await asyncio.sleep(30)

    world.markers = Marks(world.markers._directory)
    failure = (await world.call(call, policy=ONCE))["failure"]
    assert (failure["code"], len(calls)) == ("canceled", 1)
