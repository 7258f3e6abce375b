"""carry_out: one attempt, as data."""

import asyncio
import contextvars
import logging
import threading

import pytest

from workflow_runtime.errors import ModelError, RetryableError, TerminalError, ToolError
from workflow_runtime.execution import (
    AgentAnswer,
    AgentMissingError,
    AttemptRequest,
    Tool,
    ToolPool,
    call_tool,
    carry_out,
    task_context,
)


@pytest.fixture
def pool():
    made = ToolPool(2)
    yield made
    made.close()


class Agents:
    def __init__(self, answer=None, error=None):
        self.answer, self.error, self.requests = answer, error, []

    async def run(self, request):
        self.requests.append(request)
        if self.error is not None:
            raise self.error
        return self.answer


def attempt(payload=None, *, kind="tool", target="t", attempt=1, task_id="a", context=None):
    return AttemptRequest(
        workflow_id="wf",
        task_id=task_id,
        attempt=attempt,
        kind=kind,
        target=target,
        payload={} if payload is None else payload,
        context=context,
    )


def tool_of(call, **options):
    return Tool(name="t", call=call, is_async=asyncio.iscoroutinefunction(call), **options)


async def run_tool(call, pool, payload=None, **options):
    return await carry_out(
        attempt(payload), tools={"t": tool_of(call, **options)}, agents=Agents(), pool=pool
    )


def raising(error):
    def call(args):
        raise error

    return call


def raising_later(error):
    async def call(args):
        raise error

    return call


async def test_a_sync_tool_runs_in_a_thread_of_its_own(pool):
    outcome = await run_tool(
        lambda args: [args["n"], threading.current_thread().name], pool, {"n": 1}
    )
    assert outcome["value"][0] == 1
    assert outcome["value"][1].startswith("workflow-tool")


async def test_an_async_tool_runs_on_the_loop(pool):
    async def call(args):
        return (args, asyncio.get_running_loop() is loop)

    loop = asyncio.get_running_loop()
    assert await run_tool(call, pool, {"n": 1}) == {"value": [{"n": 1}, True]}


async def test_a_sync_tool_that_returns_an_awaitable_is_awaited(pool):
    async def later():
        return 3

    assert await run_tool(lambda args: later(), pool) == {"value": 3}


async def test_one_blocking_tool_does_not_hold_up_another(pool):
    gate = threading.Event()
    slow = asyncio.create_task(run_tool(lambda args: gate.wait(10), pool))
    assert await run_tool(lambda args: "quick", pool) == {"value": "quick"}
    assert not slow.done()
    gate.set()
    assert await slow == {"value": True}


async def test_context_variables_are_seen_in_the_thread(pool):
    tenant = contextvars.ContextVar("tenant", default="none")
    tenant.set("contoso")
    assert await run_tool(lambda args: tenant.get(), pool) == {"value": "contoso"}


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_tool_knows_its_task(pool, is_async):
    def ask(args):
        here = task_context()
        return [here.workflow_id, here.task_id, here.attempt, here.idempotency_key]

    async def ask_later(args):
        return ask(args)

    tools = {"t": tool_of(ask_later if is_async else ask)}

    async def answer(**fields):
        return (await carry_out(attempt(**fields), tools=tools, agents=Agents(), pool=pool))[
            "value"
        ]

    first = await answer(task_id="a[1]", attempt=1)
    again = await answer(task_id="a[1]", attempt=2)
    other = await answer(task_id="a[2]", attempt=1)
    assert first[:3] == ["wf", "a[1]", 1]
    assert first[3] == again[3] != other[3]
    with pytest.raises(RuntimeError, match="only inside a tool"):
        task_context()


async def test_arguments_are_checked_before_the_tool_is_called(pool):
    calls: list[object] = []
    outcome = await run_tool(
        calls.append,
        pool,
        {"limit": "500"},
        arguments={"type": "object", "properties": {"limit": {"type": "integer"}}},
    )
    assert calls == []
    assert outcome["failure"]["code"] == "invalid_arguments"
    assert outcome["failure"]["kind"] == "terminal"
    for part in ("'a'", "/limit", "an integer", "a string"):
        assert part in outcome["failure"]["message"]


async def test_a_result_that_is_not_json_fails_the_task_by_type_and_path(pool):
    outcome = await run_tool(lambda args: {"rows": [{1, 2}]}, pool)
    assert outcome["failure"]["code"] == "result_not_json"
    assert "result.rows[0] is of type 'set'" in outcome["failure"]["message"]


async def test_an_authors_error_decides_and_is_shown_without_secrets(pool):
    error = RetryableError("busy, Password=hunter2", retry_after=3)
    failure = (await run_tool(raising(error), pool))["failure"]
    assert failure["message"] == "busy, Password=***"
    assert (failure["kind"], failure["code"], failure["retry_after"]) == ("retryable", "failed", 3)
    for ending in (TerminalError("gone"), ToolError("gone")):
        failure = (await run_tool(raising(ending), pool))["failure"]
        assert (failure["kind"], failure["message"]) == ("terminal", "gone")


@pytest.mark.parametrize("delay", [float("nan"), -1, "soon", True])
async def test_an_impossible_retry_after_is_left_out(pool, delay):
    failure = (await run_tool(raising(RetryableError("busy", retry_after=delay)), pool))["failure"]
    assert "retry_after" not in failure


@pytest.mark.parametrize("make", [raising, raising_later])
@pytest.mark.parametrize(
    "error",
    [
        ValueError("secret detail"),
        SystemExit(3),
        KeyboardInterrupt(),
        StopIteration(1),
        asyncio.CancelledError(),
        asyncio.InvalidStateError(),
        RecursionError(),
    ],
)
async def test_whatever_a_tool_raises_becomes_a_failure(pool, make, error):
    failure = (await run_tool(make(error), pool))["failure"]
    assert (failure["code"], failure["kind"]) == ("failed", "terminal")
    assert "secret detail" not in failure["message"]


async def test_the_full_error_is_in_the_log_under_the_correlation_id_without_secrets(pool, caplog):
    with caplog.at_level(logging.WARNING):
        failure = (await run_tool(raising(ValueError("detail AccountKey=abc==")), pool))["failure"]
    assert failure["correlation_id"] in caplog.text
    assert "detail AccountKey=***" in caplog.text
    assert "Traceback" in caplog.text
    assert "abc==" not in caplog.text
    assert caplog.records[0].workflow_id == "wf"


async def test_an_error_that_cannot_be_printed_is_a_failure_too(pool):
    class BrokenError(TerminalError):
        def __str__(self):
            raise ValueError

    failure = (await run_tool(raising(BrokenError("x")), pool))["failure"]
    assert "BrokenError" in failure["message"]


async def test_a_timeout_in_a_tool_is_named(pool):
    failure = (await run_tool(raising(TimeoutError()), pool))["failure"]
    assert (failure["code"], failure["kind"]) == ("timed_out", "retryable")


async def test_a_missing_tool_is_a_failure(pool):
    outcome = await carry_out(attempt(), tools={}, agents=Agents(), pool=pool)
    assert outcome["failure"]["code"] == "tool_missing"


async def test_a_cancellation_from_outside_passes(pool):
    begun = asyncio.Event()

    async def call(args):
        begun.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(run_tool(call, pool))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_sub_agent_gets_its_task_and_the_context(pool):
    agents = Agents(
        AgentAnswer(agent="writer", text="done \ud800", input_tokens=5, output_tokens=7)
    )
    outcome = await carry_out(
        attempt("Write it.", kind="sub_agent", target="writer", context="5xx"),
        tools={},
        agents=agents,
        pool=pool,
    )
    assert outcome == {
        "value": {"agent": "writer", "text": "done \ufffd"},
        "usage": {"input_tokens": 5, "output_tokens": 7},
    }
    (request,) = agents.requests
    assert (request.agent, request.task, request.context) == ("writer", "Write it.", "5xx")
    assert (request.workflow_id, request.task_id, request.attempt) == ("wf", "a", 1)


async def test_a_sub_agents_task_that_is_a_value_is_sent_as_json(pool):
    agents = Agents(AgentAnswer(agent="writer", text=""))
    request = attempt({"a": ["é"]}, kind="sub_agent", target="writer")
    await carry_out(request, tools={}, agents=agents, pool=pool)
    assert agents.requests[0].task == '{"a":["é"]}'


@pytest.mark.parametrize(
    ("error", "code", "kind"),
    [
        (ModelError("model_rate_limited", "429: set X"), "model_rate_limited", "retryable"),
        (ModelError("model_unauthorized", "look at KEY"), "model_unauthorized", "terminal"),
        (AgentMissingError(), "agent_missing", "terminal"),
        (TimeoutError(), "timed_out", "retryable"),
        (ValueError("x"), "failed", "terminal"),
    ],
)
async def test_a_sub_agents_trouble_has_its_code(pool, error, code, kind):
    request = attempt("x", kind="sub_agent", target="writer")
    outcome = await carry_out(request, tools={}, agents=Agents(error=error), pool=pool)
    assert (outcome["failure"]["code"], outcome["failure"]["kind"]) == (code, kind)


async def test_a_tool_called_by_an_agent_has_no_task(pool):
    def call(args):
        task_context()

    async def nested():
        return await call_tool(tool_of(call), {}, pool=pool)

    outcome = await run_tool(lambda args: nested(), pool)
    assert "RuntimeError" in outcome["value"]["failure"]["message"]


async def test_a_pool_that_is_closed_gives_a_failure(pool):
    pool.close()
    assert (await run_tool(lambda args: 1, pool))["failure"]["code"] == "failed"


def test_a_request_survives_json():
    request = attempt({"a": [1]}, context="c")
    assert AttemptRequest.from_json(request.to_json()) == request
