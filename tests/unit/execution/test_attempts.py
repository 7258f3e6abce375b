"""carry_out: one attempt, as data."""

import asyncio
import contextvars
import logging
import threading

import pytest

from tests.unit.execution.support import Agents, attempt
from workflow_runtime.errors import ModelError, RetryableError, TerminalError, ToolError
from workflow_runtime.execution import (
    AgentAnswer,
    AgentAsk,
    AgentMissingError,
    AttemptRequest,
    Tool,
    call_tool,
    task_context,
)
from workflow_runtime.plan.types import Json


class Unheard(BaseException):
    """Of no kind that is usually caught."""


def raising(error):
    def call(args):
        raise error

    return call


def raising_later(error):
    async def call(args):
        raise error

    return call


async def test_a_sync_tool_runs_in_a_thread_of_its_own(world):
    outcome = await world.call(lambda args: [args["n"], threading.current_thread().name], {"n": 1})
    assert outcome["value"][0] == 1
    assert outcome["value"][1].startswith("workflow-tool")


async def test_an_async_tool_runs_on_the_loop(world):
    async def call(args):
        return (args, asyncio.get_running_loop() is loop)

    loop = asyncio.get_running_loop()
    assert await world.call(call, {"n": 1}) == {"value": [{"n": 1}, True]}


async def test_a_sync_tool_that_returns_an_awaitable_is_awaited(world):
    async def later():
        return 3

    assert await world.call(lambda args: later()) == {"value": 3}


async def test_one_blocking_tool_does_not_hold_up_another(world):
    gate = threading.Event()
    slow = asyncio.create_task(world.call(lambda args: gate.wait(10)))
    assert await world.call(lambda args: "quick") == {"value": "quick"}
    assert not slow.done()
    gate.set()
    assert await slow == {"value": True}


async def test_context_variables_are_seen_in_the_thread(world):
    tenant = contextvars.ContextVar("tenant", default="none")
    tenant.set("contoso")
    assert await world.call(lambda args: tenant.get()) == {"value": "contoso"}


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_tool_knows_its_task(world, is_async):
    def ask(args):
        here = task_context()
        ids = [here.workflow_id, here.task_id, here.attempt, here.idempotency_key]
        return [*ids, here.cancelled()]

    async def ask_later(args):
        return ask(args)

    async def answer(**fields):
        tool = ask_later if is_async else ask
        return (await world.call(tool, request=fields))["value"]

    answered = await answer(task_id="a[1]", attempt=2, idempotency_key="k1")
    assert answered == ["wf", "a[1]", 2, "k1", False]
    with pytest.raises(RuntimeError, match="only inside a tool"):
        task_context()


async def test_arguments_are_checked_before_the_tool_is_called(world):
    calls: list[object] = []
    outcome = await world.call(
        calls.append,
        {"limit": "500"},
        arguments={"type": "object", "properties": {"limit": {"type": "integer"}}},
    )
    assert calls == []
    assert outcome["failure"]["code"] == "invalid_arguments"
    assert outcome["failure"]["kind"] == "terminal"
    for part in ("'a'", "/limit", "an integer", "a string"):
        assert part in outcome["failure"]["message"]


async def test_a_result_that_is_not_json_fails_the_task_by_type_and_path(world):
    outcome = await world.call(lambda args: {"rows": [{1, 2}]})
    assert outcome["failure"]["code"] == "result_not_json"
    assert "result.rows[0] is of type 'set'" in outcome["failure"]["message"]


async def test_a_result_too_large_for_a_history_fails_the_task_by_its_size(world):
    assert (await world.call(lambda args: "é" * 490_000))["value"]
    failure = (await world.call(lambda args: "é" * 510_000))["failure"]
    assert (failure["code"], failure["kind"]) == ("result_too_large", "terminal")
    assert "1,020,012 bytes" in failure["message"]
    assert "1,000,000" in failure["message"]


async def test_an_authors_error_decides_and_is_shown_without_secrets(world):
    error = RetryableError("busy, Password=hunter2", retry_after=3)
    failure = (await world.call(raising(error)))["failure"]
    assert failure["message"] == "busy, Password=***"
    assert (failure["kind"], failure["code"], failure["retry_after"]) == ("retryable", "failed", 3)
    for ending in (TerminalError("gone"), ToolError("gone")):
        failure = (await world.call(raising(ending)))["failure"]
        assert (failure["kind"], failure["message"]) == ("terminal", "gone")


@pytest.mark.parametrize("delay", [float("nan"), float("inf"), 10**400, -1, "soon", True])
async def test_an_impossible_retry_after_is_left_out(world, delay):
    failure = (await world.call(raising(RetryableError("busy", retry_after=delay))))["failure"]
    assert "retry_after" not in failure


@pytest.mark.parametrize("make", [raising, raising_later])
@pytest.mark.parametrize(
    "error",
    [
        ValueError("secret detail"),
        SystemExit(3),
        KeyboardInterrupt(),
        GeneratorExit(),
        Unheard("secret detail"),
        StopIteration(1),
        asyncio.CancelledError(),
        asyncio.InvalidStateError(),
        RecursionError(),
    ],
)
async def test_whatever_a_tool_raises_becomes_a_failure(world, make, error):
    failure = (await world.call(make(error)))["failure"]
    assert (failure["code"], failure["kind"]) == ("failed", "unknown")
    assert "secret detail" not in failure["message"]


async def test_the_full_error_is_in_the_log_under_the_correlation_id_without_secrets(world, caplog):
    with caplog.at_level(logging.WARNING):
        failure = (await world.call(raising(ValueError("detail AccountKey=abc=="))))["failure"]
    assert failure["correlation_id"] in caplog.text
    assert "detail AccountKey=***" in caplog.text
    assert "Traceback" in caplog.text
    assert "abc==" not in caplog.text
    assert caplog.records[0].workflow_id == "wf"


async def test_an_error_that_cannot_be_printed_is_a_failure_too(world):
    class BrokenError(TerminalError):
        def __str__(self):
            raise ValueError

    failure = (await world.call(raising(BrokenError("x"))))["failure"]
    assert "BrokenError" in failure["message"]


async def test_a_timeout_in_a_tool_is_named(world):
    failure = (await world.call(raising(TimeoutError())))["failure"]
    assert (failure["code"], failure["kind"]) == ("timed_out", "retryable")


async def test_a_missing_tool_is_a_failure(world):
    outcome = await world.carry_out(attempt(), {})
    assert outcome["failure"]["code"] == "tool_missing"


async def test_a_cancellation_from_outside_passes(world):
    begun = asyncio.Event()

    async def call(args):
        begun.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(world.call(call))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_sub_agent_gets_its_task_and_the_context(world):
    agents = Agents(
        AgentAnswer(agent="writer", text="done \ud800", input_tokens=5, output_tokens=7)
    )
    outcome = await world.ask(agents, "Write it.", context="5xx")
    assert outcome == {
        "value": {"agent": "writer", "text": "done \ufffd"},
        "usage": {"input_tokens": 5, "output_tokens": 7},
    }
    (request,) = agents.requests
    assert (request.agent, request.task, request.context) == ("writer", "Write it.", "5xx")
    step = request.calls.step
    assert (step.workflow_id, step.task_id, step.attempt) == ("wf", "a", 1)
    assert step.idempotency_key == "wf-a"


async def test_a_sub_agents_task_that_is_a_value_is_sent_as_json(world):
    agents = Agents(AgentAnswer(agent="writer", text=""))
    await world.ask(agents, {"a": ["é"]})
    assert agents.requests[0].task == '{"a":["é"]}'


@pytest.mark.parametrize(
    ("error", "code", "kind"),
    [
        (ModelError("model_rate_limited", "429: set X"), "model_rate_limited", "retryable"),
        (ModelError("model_unauthorized", "look at KEY"), "model_unauthorized", "terminal"),
        (AgentMissingError(), "agent_missing", "terminal"),
        (TimeoutError(), "timed_out", "retryable"),
        (ValueError("x"), "failed", "unknown"),
    ],
)
async def test_a_sub_agents_trouble_has_its_code(world, error, code, kind):
    outcome = await world.ask(Agents(error=error))
    assert (outcome["failure"]["code"], outcome["failure"]["kind"]) == (code, kind)


async def test_a_tool_called_in_a_turn_has_no_task(world):
    def call(args):
        task_context()

    async def nested():
        return await call_tool(Tool(name="t", call=call), {}, pool=world.pool)

    outcome = await world.call(lambda args: nested())
    assert "RuntimeError" in outcome["value"]["failure"]["message"]


async def test_a_pool_that_is_closed_gives_a_failure(world):
    world.pool.close()
    assert (await world.call(lambda args: 1))["failure"]["code"] == "failed"


async def test_what_a_sub_agent_asks_goes_to_a_person_and_the_answer_back_to_it(world):
    transcript: Json = [{"role": "assistant", "text": "May I?"}]
    asked = AgentAsk(
        tool="restart",
        args={"service": "pay"},
        transcript=transcript,
        input_tokens=3,
    )
    outcome = await world.ask(Agents(asked))
    assert outcome["ask"] == {
        "tool": "restart",
        "args": {"service": "pay"},
        "transcript": transcript,
    }
    assert outcome["usage"] == {"input_tokens": 3, "output_tokens": 0}
    decision = {"transcript": transcript, "approved": True, "by": "Ada", "tool": "restart"}
    agents = Agents(AgentAnswer(agent="writer", text="done"))
    await world.ask(agents, decision=decision)
    assert agents.requests[0].decision == decision


def test_a_request_survives_json():
    request = attempt({"a": [1]}, context="c", timeout=2.5, idempotency_key="k", decision={"b": 1})
    assert AttemptRequest.from_json(request.to_json()) == request
