"""
What a plan means, the same on every host.

The simulation, the durable adapter on durabletask's own in-memory backend, and the same adapter in
a function app on the SQLite hub.
"""

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from pydantic import BaseModel

from tests.contract.conftest import durable
from tests.contract.everywhere import InSimulation, OnDurable
from tests.fakes import TRICKY
from workflow_runtime.errors import RetryableError, TerminalError


@pytest.fixture(params=["simulation", "in_memory", "sqlite"])
async def anywhere(request, tmp_path):
    if request.param == "simulation":
        yield InSimulation()
        return
    async with durable(request.param, tmp_path) as opened:
        yield OnDurable(opened)


def tool(name, target="give", /, **rest):
    return {"id": name, "type": "tool", "tool": target, **rest}


def gives(name, value_name, **rest):
    return tool(name, args={"name": value_name}, **rest)


# --- order ---------------------------------------------------------------------------------------


async def test_a_slow_sibling_does_not_hold_up_another_branch(anywhere):
    went = await anywhere.go(
        tool("a"),
        tool("b", depends_on=["a"]),
        tool("c", "gate", args={"name": "c"}),
        open_after={"c": "b"},
    )
    assert went.order == ["a", "b", "c"]


async def test_ten_long_waits_do_not_hold_up_a_tool(anywhere):
    waits = [{"id": f"w{n}", "type": "wait", "duration": "PT1S"} for n in range(10)]
    went = await anywhere.go(*waits, tool("a"), tool("b", depends_on=["a"]))
    assert went.order[:2] == ["a", "b"]
    assert set(went.order[2:]) == {"timer"}
    assert went.counts == {"total": 12, "completed": 12}


# --- branches and failures -----------------------------------------------------------------------


@pytest.mark.parametrize("fails", [True, False])
async def test_a_plan_can_branch_on_a_failure(anywhere, fails):
    anywhere.cast.fails["pay"] = [TerminalError("declined")] if fails else []
    went = await anywhere.go(
        gives("pay", "pay", on_error="continue"),
        tool("undo", when="pay.status == 'failed'"),
        tool("ship", when="pay.status != 'failed'"),
    )
    assert (went.status("undo"), went.status("ship")) == (
        ("completed", "skipped") if fails else ("skipped", "completed")
    )
    assert went.outcome.status == ("CompletedWithErrors" if fails else "Completed")


async def test_what_only_reads_skipped_tasks_is_skipped_too(anywhere):
    anywhere.cast.returns["flag"] = {"on": False}
    went = await anywhere.go(
        gives("a", "flag"),
        tool("b", when="a.result.on"),
        tool("c", "echo", args={"m": "${b.result.x}"}),
        tool("d", depends_on=["b"]),
    )
    assert [went.status(name) for name in "abcd"] == [
        "completed",
        "skipped",
        "skipped",
        "completed",
    ]
    assert went.run.tasks["c"].skip_reason == "upstream_skipped"
    assert went.outcome.status == "Completed"


async def test_a_failure_stops_what_has_not_begun_and_keeps_what_is_done(anywhere):
    anywhere.cast.fails["b"] = [TerminalError("no")]
    anywhere.cast.returns["a"] = [1, 2]
    went = await anywhere.go(
        gives("a", "a"), gives("b", "b", depends_on=["a"]), tool("c", depends_on=["b"])
    )
    assert (went.outcome.status, went.error) == ("Failed", "failed")
    assert went.outcome.output == {"a": [1, 2]}
    assert went.counts == {"total": 3, "completed": 1, "failed": 1, "not_run": 1}


# --- collections ---------------------------------------------------------------------------------


async def test_an_empty_list_gives_an_empty_list(anywhere):
    anywhere.cast.returns["list"] = {"e": []}
    went = await anywhere.go(
        gives("a", "list"),
        tool("each", "echo", for_each="${a.result.e}", args={"v": "${item}"}),
        tool("sum", "echo", args={"all": "${each.result}"}),
    )
    assert went.result("sum") == {"all": []}
    assert went.outcome.status == "Completed"


@pytest.mark.parametrize(("value", "word"), [(None, "null"), ("[1,2]", "string that holds JSON")])
async def test_what_is_no_list_fails_and_says_what_it_is(anywhere, value, word):
    anywhere.cast.returns["list"] = {"n": value}
    went = await anywhere.go(
        gives("a", "list"),
        tool("each", "echo", for_each="${a.result.n}", args={"v": "${item}"}),
    )
    assert went.error == "for_each_not_a_list"
    assert word in went.message
    assert "a.result.n" in went.message
    assert went.outcome.output == {"a": {"n": value}}


async def test_one_bad_item_fails_the_run_and_leaves_the_others_results(anywhere):
    anywhere.cast.fails["2"] = [TerminalError("bad")]
    went = await anywhere.go(
        tool("e", for_each=[1, 2, 3], args={"name": "${item}"}, concurrency=3),
    )
    assert went.outcome.status == "Failed"
    shown = [(one["index"], one["status"], bool(one["error"])) for one in went.outcome.output["e"]]
    assert shown[:2] == [(0, "completed", False), (1, "failed", True)]
    assert shown[2][1] in {"completed", "not_run"}


async def test_a_bad_item_may_be_left_out(anywhere):
    anywhere.cast.fails["2"] = [TerminalError("bad")]
    went = await anywhere.go(
        tool("e", for_each=[1, 2, 3], args={"name": "${item}"}, on_error="continue"),
    )
    assert went.outcome.status == "CompletedWithErrors"
    assert went.outcome.output == {"e": ["1", None, "3"]}


async def test_forty_agents_that_fail_alike_are_given_up(anywhere):
    went = await anywhere.go(
        {
            "id": "each", "type": "sub_agent", "agent": "writer", "task": "fail ${item}",
            "for_each": list(range(40)), "on_error": "continue", "concurrency": 4,
        },
        tool("after", depends_on=["each"]),
    )  # fmt: skip
    called = anywhere.cast.calls["writer"]
    assert called <= 4 + 5
    assert went.counts == {"total": 41, "completed": 1, "failed": called, "not_run": 40 - called}
    assert went.run.tasks["each"].failure.code == "breaker_open"
    assert f"{40 - called} were not run" in went.run.tasks["each"].failure.message
    assert len(went.result("each")) == 40


async def test_items_that_are_tried_again_hold_back_those_that_were_not_tried_yet(anywhere):
    anywhere.cast.fails = {str(n): [RetryableError("busy")] * 9 for n in range(40)}
    each = gives("each", "${item}", for_each=[str(n) for n in range(40)], concurrency=4)
    again = {"max_attempts": 3, "initial": "PT0.01S"}
    went = await anywhere.go(each | {"retry": again, "on_error": "continue"})
    begun = [name for name, count in anywhere.cast.calls.items() if count]
    assert len(begun) <= 4 + 5
    assert went.counts["not_run"] == 40 - len(begun)
    assert went.run.tasks["each"].failure.code == "breaker_open"


# --- attempts ------------------------------------------------------------------------------------


async def test_a_tool_that_asks_for_another_attempt_gets_it_with_the_same_key(anywhere):
    anywhere.cast.fails["x"] = [RetryableError("busy"), RetryableError("busy")]
    went = await anywhere.go(gives("a", "x", retry={"max_attempts": 3, "initial": "PT0.1S"}))
    assert went.outcome.output == {"a": "x"}
    assert anywhere.cast.calls["x"] == 3
    assert len(set(anywhere.cast.keys["a"])) == 1


async def test_a_plan_can_poll(anywhere):
    plan = gives("a", "x", retry={"max_attempts": 2, "initial": "PT0.1S", "until": "result.done"})
    anywhere.cast.returns["x"] = {"done": False}
    went = await anywhere.go(plan)
    assert went.error == "retries_exhausted"
    assert "condition_not_met" in went.message
    anywhere.cast.returns["x"] = {"done": True}
    assert (await anywhere.go(plan)).outcome.status == "Completed"
    assert anywhere.cast.calls["x"] == 3


async def test_what_may_act_once_is_called_once(anywhere):
    anywhere.cast.fails["x"] = [RetryableError("busy")]
    went = await anywhere.go(tool("a", "charge", args={"name": "x"}))
    assert went.outcome.status == "Failed"
    assert anywhere.cast.calls["x"] == 1


async def test_no_attempt_comes_sooner_than_the_tool_asked_for(anywhere):
    for n in range(5):
        anywhere.cast.fails[f"t{n}"] = [RetryableError("slow down", retry_after=1.0)]
    retry = {"max_attempts": 3, "initial": "PT0.1S"}
    went = await anywhere.go(*(gives(f"t{n}", f"t{n}", retry=retry) for n in range(5)))
    assert went.outcome.status == "Completed"
    steps = [state.steps[0] for state in went.run.tasks.values()]
    assert all((step.ended_at - step.started_at).total_seconds() >= 1 for step in steps)
    assert all(step.attempts == 2 for step in steps)


# --- people --------------------------------------------------------------------------------------


@pytest.mark.parametrize("approved", [True, False])
async def test_a_tool_that_asks_is_called_only_after_a_yes(anywhere, approved):
    went = await anywhere.go(tool("d", "delete"), approve={"d": approved})
    assert anywhere.cast.calls["ok"] == int(approved)
    assert went.error == (None if approved else "rejected")


async def test_a_plan_may_go_on_after_a_no(anywhere):
    went = await anywhere.go(
        {"id": "ok", "type": "approval", "message": "May I?", "on_error": "continue"},
        tool("yes", when="ok.result.approved"),
        tool("no", when="ok.status == 'failed'"),
        approve={"ok": False},
    )
    assert (went.status("yes"), went.status("no")) == ("skipped", "completed")
    assert went.result("ok")["approved"] is False


# --- payloads ------------------------------------------------------------------------------------


class Price(BaseModel):
    amount: Decimal


CONVERTED = {
    "none": (None, None),
    "datetime": (datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), "2026-01-02T03:04:05Z"),
    "date": (date(2026, 1, 2), "2026-01-02"),
    "decimal": (Decimal("1.10"), "1.10"),
    "model": (Price(amount=Decimal("1.10")), {"amount": "1.10"}),
    "tuple": ((1, (2,)), [1, [2]]),
    "int keys": ({1: "one"}, {"1": "one"}),
    "tricky": (TRICKY, TRICKY),
}
REFUSED = {
    "nan": (float("nan"), "nan is no JSON number"),
    "deep inf": ({"a": [float("inf")]}, "a[0]"),
    "set": ({1}, "set"),
    "bytes": (b"x", "bytes"),
}


async def test_what_tools_return_is_converted_by_one_rule(anywhere):
    anywhere.cast.returns |= {name: value for name, (value, _) in CONVERTED.items()}
    names = dict(enumerate(CONVERTED))
    went = await anywhere.go(*(gives(f"t{n}", name) for n, name in names.items()))
    assert went.outcome.output == {f"t{n}": CONVERTED[name][1] for n, name in names.items()}


async def test_what_is_not_json_fails_its_task_and_says_why(anywhere):
    anywhere.cast.returns |= {name: value for name, (value, _) in REFUSED.items()}
    names = dict(enumerate(REFUSED))
    tasks = (gives(f"t{n}", name, on_error="continue") for n, name in names.items())
    went = await anywhere.go(*tasks)
    assert went.outcome.status == "CompletedWithErrors"
    for n, name in names.items():
        failure = went.run.tasks[f"t{n}"].failure
        assert failure.code == "result_not_json"
        assert REFUSED[name][1] in failure.message


async def test_a_result_too_large_for_a_payload_fails_its_task_and_a_large_output_is_read(anywhere):
    anywhere.cast.returns |= {"big": "x" * 600_000, "too big": "x" * 1_100_000}
    big = (gives(f"t{n}", "big") for n in range(2))
    went = await anywhere.go(*big, gives("no", "too big", on_error="continue"))
    assert went.run.tasks["no"].failure.code == "result_too_large"
    assert {"t0": "x" * 600_000, "t1": "x" * 600_000}.items() <= went.outcome.output.items()


# --- names ---------------------------------------------------------------------------------------


async def test_a_task_may_be_called_as_anything_that_the_host_itself_awaits(anywhere):
    names = ("timer", "inbox", "workflow_tool")
    went = await anywhere.go(
        *(gives(name, "x") for name in names),
        {"id": "w", "type": "wait", "duration": "PT0.1S"},
        tool("after", depends_on=[*names, "w"]),
    )
    assert went.outcome.status == "Completed"
    assert [went.result(name) for name in names] == ["x", "x", "x"]
