"""What a sub-agent calls: a key for each call, a mark before a call that may be made only once."""

import asyncio
import threading
from collections import Counter
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workflow_runtime.execution import (
    AgentAnswer,
    Signal,
    StepCalls,
    TaskContext,
    Tool,
    call_tool,
    task_context,
)
from workflow_runtime.plan.encoding import canonical
from workflow_runtime.plan.policies import WorkPolicy

ONCE = WorkPolicy(side_effects="once")


class Calling:
    """A sub-agent that makes these calls, one after the other; ``outcomes`` is what they gave."""

    def __init__(self, pool, *calls):
        self.pool, self.calls, self.outcomes, self.made = pool, calls, [], {}

    async def run(self, request):
        for tool, arguments in self.calls:
            self.outcomes.append(
                await call_tool(tool, arguments, pool=self.pool, calls=request.calls)
            )
        self.made = request.calls.made()
        return AgentAnswer(agent="writer", text="done")

    def codes(self):
        return [each.get("failure", {}).get("code", "ok") for each in self.outcomes]


async def keys_of(world, *calls, **fields):
    """Return the keys that the tools of one attempt saw; a call is a tool's name and arguments."""

    def tool(name):
        return Tool(name=name, call=lambda _args: task_context().idempotency_key)

    agents = Calling(world.pool, *((tool(name), args) for name, args in calls))
    await world.ask(agents, **fields)
    return [each["value"] for each in agents.outcomes]


async def test_a_redelivery_that_makes_the_same_calls_gives_the_same_keys(world):
    calls = [("a", {"n": 1}), ("a", {"n": 1}), ("a", {"n": 2}), ("b", {"n": 1})]
    keys = await keys_of(world, *calls)
    assert len(set(keys)) == len(calls)
    assert await keys_of(world, *calls) == keys
    assert await keys_of(world, *reversed(calls)) == [keys[3], keys[2], keys[0], keys[1]]
    assert await keys_of(world, *calls, attempt=2) == keys


async def test_no_key_is_that_of_another_step_or_of_the_step_itself(world):
    (key,) = await keys_of(world, ("a", {}))
    (other,) = await keys_of(world, ("a", {}), idempotency_key="wf-b")
    assert len({key, other, "wf-a", "wf-b"}) == 4


async def test_the_order_of_arguments_does_not_make_another_call(world):
    (one,) = await keys_of(world, ("a", {"x": 1, "y": 2}))
    (two,) = await keys_of(world, ("a", {"y": 2, "x": 1}))
    assert one == two


@pytest.mark.parametrize("is_async", [False, True])
async def test_the_tool_sees_the_step_of_its_sub_agent(world, is_async):
    def see(_args):
        context = task_context()
        return [context.workflow_id, context.task_id, context.attempt, context.cancelled()]

    async def see_later(args):
        return see(args)

    tool = Tool(name="see", call=see_later if is_async else see, is_async=is_async)
    agents = Calling(world.pool, (tool, {}))
    await world.ask(agents, attempt=3)
    assert agents.outcomes == [{"value": ["wf", "a", 3, False]}]


async def test_a_call_that_failed_is_tried_again_with_its_key(world):
    keys = []

    def fail_first(_args):
        keys.append(task_context().idempotency_key)
        if len(keys) == 1:
            raise ConnectionError

    tool = Tool(name="t", call=fail_first)
    await world.ask(Calling(world.pool, (tool, {}), (tool, {}), (tool, {})))
    assert keys[0] == keys[1] != keys[2]


@pytest.mark.parametrize("is_async", [False, True])
async def test_one_that_acts_once_is_not_called_again_by_a_redelivery(world, is_async):
    calls: list[object] = []

    async def act_later(args):
        calls.append(args)

    tool = Tool(
        name="act", call=act_later if is_async else calls.append, is_async=is_async, policy=ONCE
    )
    agents = Calling(world.pool, (tool, {"n": 1}), (tool, {"n": 2}), (tool, {"n": 1}))
    await world.ask(agents)
    assert agents.codes() == ["ok", "ok", "ok"]
    await world.ask(agents)
    assert agents.codes()[3:] == ["outcome_unknown"] * 3
    assert calls == [{"n": 1}, {"n": 2}, {"n": 1}]


async def test_one_that_acts_once_and_failed_is_not_tried_again_whatever_the_model_says(world):
    calls: list[object] = []

    def act(args):
        calls.append(args)
        raise ConnectionError

    tool = Tool(name="act", call=act, policy=ONCE)
    agents = Calling(world.pool, (tool, {}), (tool, {}), (tool, {}))
    await world.ask(agents)
    assert agents.codes() == ["failed", "outcome_unknown", "outcome_unknown"]
    assert calls == [{}]
    message = agents.outcomes[1]["failure"]["message"]
    assert message.startswith("task 'a', tool 'act': it may act only once")


async def test_what_was_made_counts_in_the_attempt_that_goes_on(world):
    first = Calling(world.pool, (Tool(name="a", call=lambda _: None), {"n": 1}))
    await world.ask(first)
    (before,) = await keys_of(world, ("a", {"n": 1}))

    class GoingOn(Calling):
        async def run(self, request):
            request.calls.go_on(first.made)
            return await super().run(request)

    tool = Tool(name="a", call=lambda _: task_context().idempotency_key)
    after = GoingOn(world.pool, (tool, {"n": 1}), (tool, {"n": 2}))
    await world.ask(after)
    assert before not in {each["value"] for each in after.outcomes}


async def test_arguments_that_are_not_json_are_refused(world):
    agents = Calling(world.pool, (Tool(name="t", call=lambda _: 1), {"n": float("nan")}))
    await world.ask(agents)
    assert agents.codes() == ["invalid_arguments"]


async def test_a_cancel_reaches_the_sync_tool_that_a_sub_agent_runs(world):
    inside, told = threading.Event(), threading.Event()

    def work(_args):
        context = task_context()
        inside.set()
        while not context.cancelled():
            threading.Event().wait(0.01)
        told.set()

    agents = Calling(world.pool, (Tool(name="t", call=work), {}))
    running = asyncio.create_task(world.ask(agents))
    await asyncio.to_thread(inside.wait)
    world.signals.cancel("wf")
    assert (await running)["failure"]["code"] == "canceled"
    assert await asyncio.to_thread(told.wait, 5)


async def test_a_tool_that_is_out_of_time_does_not_end_its_sub_agent(world):
    out = threading.Event()
    slow = Tool(
        name="slow",
        call=lambda _: out.wait(30),
        policy=WorkPolicy.from_json({"timeout": "PT0.1S"}),
    )
    agents = Calling(world.pool, (slow, {}), (Tool(name="t", call=lambda _: 1), {}))
    outcome = await world.ask(agents)
    out.set()
    assert outcome["value"]["text"] == "done"
    assert agents.codes() == ["outcome_unknown", "ok"]


CALLS = st.lists(
    st.tuples(
        st.sampled_from("ab"),
        st.dictionaries(st.sampled_from("xy"), st.integers(0, 1) | st.text(max_size=2)),
        st.booleans(),
    ),
    max_size=12,
)


def end(*, succeeds):
    if not succeeds:
        raise ConnectionError


@given(CALLS)
def test_two_calls_share_a_key_only_where_one_is_another_try_at_the_other(calls):
    step = TaskContext(workflow_id="w", task_id="t", attempt=1, idempotency_key="wf-t")
    made = StepCalls(step, markers=None)  # type: ignore[arg-type]  # nothing is marked here
    seen: dict[str, tuple[str, int]] = {}
    times: Counter[str] = Counter()
    for name, arguments, succeeds in calls:
        call = canonical([name, arguments])
        with (
            suppress(ConnectionError),
            made.making(Tool(name=name, call=id), arguments, Signal()) as context,
        ):
            place = (call, times[call])
            assert seen.setdefault(context.idempotency_key, place) == place
            end(succeeds=succeeds)
            times[call] += 1
    assert sorted(made.made().values()) == sorted((+times).values())
