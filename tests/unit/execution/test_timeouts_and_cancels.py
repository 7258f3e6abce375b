"""How an attempt ends that does not end by itself: on real threads and a real loop."""

import asyncio
import logging
import threading

import pytest

from tests.unit.execution.support import Agents, attempt
from workflow_runtime.errors import RetryableError
from workflow_runtime.execution import (
    AgentAnswer,
    CancelSignals,
    Tool,
    call_tool,
    supervision,
    task_context,
)
from workflow_runtime.logs import get_logger
from workflow_runtime.plan.policies import WorkPolicy

SHORT = 0.2


class Gate:
    """A tool that stays inside until it is let out."""

    def __init__(self):
        self.inside, self.out, self.left = threading.Event(), threading.Event(), threading.Event()
        self.told = threading.Event()
        self.calls = 0

    def __call__(self, args):
        self.calls += 1
        here = task_context()
        here.signal.on_set(self.told.set)
        self.inside.set()
        assert self.out.wait(30)
        self.left.set()
        return here.cancelled()

    async def entered(self):
        await asyncio.to_thread(self.inside.wait, 30)


@pytest.fixture
def gate():
    made = Gate()
    yield made
    made.out.set()


async def forever(args=None):
    await asyncio.Event().wait()


class Forever:
    async def run(self, request):
        await forever()


async def wait_until(condition):
    """Wait for what threads do and tell nobody."""
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110 - a count goes down in a thread, without an event
            await asyncio.sleep(0.001)


async def test_an_async_tool_is_cancelled_when_its_time_is_over(world):
    seen = []

    async def call(args):
        try:
            await forever()
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    failure = (await world.call(call, request={"timeout": SHORT}))["failure"]
    assert (failure["code"], failure["kind"]) == ("timed_out", "retryable")
    assert "did not finish in its time (0.2 s)" in failure["message"]
    assert seen == ["cancelled"]


async def test_an_agent_is_cancelled_when_its_time_is_over(world):
    failure = (await world.ask(Forever(), timeout=SHORT))["failure"]
    assert (failure["code"], failure["kind"]) == ("timed_out", "retryable")


async def test_a_tool_that_is_quick_enough_is_not_touched(world):
    async def call(args):
        return "done"

    for function in (call, lambda args: "done"):
        assert await world.call(function, request={"timeout": 30}) == {"value": "done"}


async def test_a_sync_tools_outcome_is_unknown_when_its_time_is_over(world, gate):
    failure = (await world.call(gate, request={"timeout": SHORT}))["failure"]
    assert (failure["code"], failure["kind"]) == ("outcome_unknown", "retryable")
    assert "it cannot be stopped" in failure["message"]
    assert gate.told.is_set()
    assert not gate.left.is_set()


@pytest.mark.parametrize("error", [None, RetryableError("late Password=hunter2")])
async def test_a_late_end_is_logged_under_the_ids_of_its_attempt(world, gate, caplog, error):
    def call(args):
        gate(args)
        if error is not None:
            raise error
        return "a result that nobody may read"

    with caplog.at_level(logging.WARNING):
        failure = (await world.call(call, request={"timeout": SHORT}))["failure"]
        caplog.clear()
        gate.out.set()
        await wait_until(lambda: caplog.records)
    (record,) = caplog.records
    ids = f"[workflow_id=wf task_id=a attempt=1 correlation_id={failure['correlation_id']}]"
    assert ids in record.getMessage()
    assert ("it returned" if error is None else "RetryableError: late Password=***") in caplog.text
    assert record.levelname == "WARNING"
    assert "hunter2" not in caplog.text
    assert "nobody may read" not in caplog.text


async def test_hung_tools_do_not_take_the_pools_strength(world, gate):
    for hung in (1, 2):
        await world.call(gate, request={"timeout": SHORT})
        assert world.pool.abandoned == hung
    both = asyncio.gather(*(world.call(lambda args: "served") for _ in range(2)))
    assert await both == [{"value": "served"}] * 2
    gate.out.set()
    await wait_until(lambda: world.pool.abandoned == 0)
    assert await world.call(lambda args: "served") == {"value": "served"}


async def test_hung_tools_do_not_grow_the_pool_without_bound(world, gate, caplog):
    for _ in range(4):
        failure = (await world.call(gate, request={"timeout": SHORT}))["failure"]
        assert failure["code"] == "outcome_unknown"
    assert "0 of 2 replacements are left" in caplog.text
    waiting = (await world.call(gate, request={"timeout": SHORT}))["failure"]
    assert (waiting["code"], waiting["kind"]) == ("timed_out", "retryable")
    assert "WORKFLOW_RUNTIME_TOOL_THREADS" in waiting["message"]
    assert gate.calls == 4
    gate.out.set()
    assert await world.call(lambda args: "served") == {"value": "served"}
    assert gate.calls == 4


async def test_time_runs_while_a_sync_tools_awaitable_is_awaited(world):
    failure = (await world.call(lambda args: forever(), request={"timeout": SHORT}))["failure"]
    assert failure["code"] == "timed_out"


async def test_a_coroutine_that_will_not_end_is_given_up(world, monkeypatch, caplog):
    monkeypatch.setattr(supervision, "GRACE", SHORT)
    out = asyncio.Event()

    async def stubborn(args):
        while not out.is_set():
            try:
                await out.wait()
            except asyncio.CancelledError:
                assert task_context().cancelled() is False

    failure = (await world.call(stubborn, request={"timeout": SHORT}))["failure"]
    assert failure["code"] == "outcome_unknown"
    caplog.clear()
    out.set()
    await wait_until(lambda: failure["correlation_id"] in caplog.text)
    assert "it returned" in caplog.text


async def test_what_a_cancelled_coroutine_still_returns_counts(world):
    async def call(args):
        try:
            await forever()
        except asyncio.CancelledError:
            return "half of it"

    assert await world.call(call, request={"timeout": SHORT}) == {"value": "half of it"}


async def test_what_a_cancelled_coroutine_raises_on_its_way_out_is_in_the_log_only(world, caplog):
    async def call(args):
        try:
            await forever()
        finally:
            raise RetryableError("while closing")

    failure = (await world.call(call, request={"timeout": SHORT}))["failure"]
    assert failure["code"] == "timed_out"
    assert "while closing" in caplog.text


@pytest.mark.parametrize("what", ["tool", "agent"])
async def test_a_cancel_reaches_what_awaits(world, what):
    running = asyncio.create_task(
        world.call(forever) if what == "tool" else world.ask(Forever(), "x")
    )
    await wait_until(lambda: world.signals.running() == {"wf"})
    await asyncio.to_thread(world.signals.cancel, "wf")
    failure = (await running)["failure"]
    assert (failure["code"], failure["kind"]) == ("canceled", "terminal")
    assert world.signals.running() == frozenset()


async def test_a_running_sync_tool_sees_the_cancel_and_its_result_counts(world, gate):
    running = asyncio.create_task(world.call(gate))
    await gate.entered()
    world.signals.cancel("wf")
    await asyncio.to_thread(gate.told.wait, 30)
    assert not running.done()
    gate.out.set()
    assert await running == {"value": True}


async def test_a_sync_tool_may_say_that_it_stopped(world, gate):
    def call(args):
        gate(args)
        raise asyncio.CancelledError

    running = asyncio.create_task(world.call(call))
    await gate.entered()
    world.signals.cancel("wf")
    gate.out.set()
    assert (await running)["failure"]["code"] == "canceled"


async def test_a_canceled_sync_tool_is_still_bounded_in_time(world, gate):
    running = asyncio.create_task(world.call(gate, request={"timeout": 0.3}))
    await gate.entered()
    world.signals.cancel("wf")
    assert (await running)["failure"]["code"] == "outcome_unknown"


async def test_a_sync_tool_that_waits_for_a_thread_is_never_called_after_a_cancel(world, gate):
    busy = [asyncio.create_task(world.call(gate, request={"workflow_id": "o"})) for _ in range(2)]
    await wait_until(lambda: gate.calls == 2)
    calls: list[object] = []
    waiting = asyncio.create_task(world.call(calls.append))
    await wait_until(lambda: "wf" in world.signals.running())
    world.signals.cancel("wf")
    assert (await waiting)["failure"]["code"] == "canceled"
    gate.out.set()
    assert await asyncio.gather(*busy) == [{"value": False}] * 2
    assert calls == []


async def test_a_cancel_reaches_no_other_run(world):
    running = [
        asyncio.create_task(world.call(forever, request={"workflow_id": name})) for name in "ab"
    ]
    await wait_until(lambda: world.signals.running() == {"a", "b"})
    world.signals.cancel("a")
    world.signals.cancel("unknown")
    assert (await running[0])["failure"]["code"] == "canceled"
    assert world.signals.running() == {"b"}
    world.signals.cancel("b")
    await running[1]


async def test_a_signal_that_is_up_is_heard_at_once():
    signals, heard = CancelSignals(), []
    with signals.attempt("wf") as signal:
        signal.on_set(lambda: heard.append("before"))
        signals.cancel("wf")
        signals.cancel("wf")
        signal.on_set(lambda: heard.append("after"))
    assert heard == ["before", "after"]
    assert signals.running() == frozenset()


async def test_a_caller_that_is_cancelled_leaves_the_thread_counted(world, gate):
    running = asyncio.create_task(world.call(gate))
    await gate.entered()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert world.pool.abandoned == 1
    assert gate.told.is_set()
    gate.out.set()
    await wait_until(lambda: world.pool.abandoned == 0)


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_tool_that_an_agent_calls_has_its_own_time(world, is_async):
    out = threading.Event()
    tool = Tool(
        name="t",
        call=forever if is_async else lambda args: out.wait(30),
        is_async=is_async,
        policy=WorkPolicy.from_json({"timeout": "PT0.2S"}),
    )
    outcome = await call_tool(tool, {}, pool=world.pool)
    assert outcome["failure"]["code"] == ("timed_out" if is_async else "outcome_unknown")
    out.set()


async def test_every_line_of_an_attempt_has_its_ids(world, caplog):
    class Logging:
        async def run(self, request):
            get_logger("workflow_runtime.agents").warning("inside")
            raise RetryableError("x")

    failure = (await world.ask(Logging(), attempt=3))["failure"]
    ids = f"[workflow_id=wf task_id=a attempt=3 correlation_id={failure['correlation_id']}]"
    assert [message.count(ids) for message in caplog.messages] == [1, 1]
    again = (await world.ask(Logging(), attempt=3))["failure"]
    assert again["correlation_id"] != failure["correlation_id"]


async def test_an_attempt_without_a_limit_is_not_limited(world):
    agents = Agents(AgentAnswer(agent="writer", text="x"))
    assert attempt().timeout is None
    assert (await world.ask(agents))["value"]["text"] == "x"
