"""What starts a run, once or again, on each durable host."""

import asyncio

import pytest

from tests.contract.conftest import durable
from tests.contract.tasks import event, gate, line_of, tool
from tests.fakes import OWNER
from workflow_runtime.errors import (
    ConflictError,
    InvalidRequestError,
    TerminalError,
    TooManyActiveError,
)
from workflow_runtime.service import Owner


async def test_one_key_makes_one_run(host):
    plan = {"tasks": [tool("a", "charge")], "idempotency_key": "message-1"}
    first = await host.service.start(OWNER, plan)
    again = await host.service.start(OWNER, plan)
    assert again["workflow_id"] == first["workflow_id"]
    assert (again.get("already_started"), first.get("already_started")) == (True, None)
    await host.ended(first["workflow_id"])
    assert (await host.service.start(OWNER, plan))["already_started"] is True
    assert host.cast.calls["ok"] == 1


async def test_one_key_makes_one_run_of_racing_starts(host):
    plan = {"tasks": [tool("a", "charge")], "idempotency_key": "message-1"}
    answers = await asyncio.gather(*(host.service.start(OWNER, plan) for _ in range(6)))
    assert len({answer["workflow_id"] for answer in answers}) == 1
    await host.ended(answers[0]["workflow_id"])
    assert host.cast.calls["ok"] == 1


async def test_starts_at_once_do_not_make_more_runs_than_a_session_may_have(tmp_path):
    async with durable("sqlite", tmp_path, max_active=2) as host:
        said = await asyncio.gather(
            *(host.start(event("w")) for _ in range(6)), return_exceptions=True
        )
        assert sum(isinstance(one, TooManyActiveError) for one in said) == 4
        assert len(await host.service.list(OWNER)) == 2


async def test_a_session_may_have_so_many_unfinished_runs_and_no_more(tmp_path):
    async with durable("sqlite", tmp_path, max_active=2) as host:
        runs = [await host.start(event("w")) for _ in range(2)]
        with pytest.raises(TooManyActiveError, match="2"):
            await host.start(event("w"))
        other = Owner(principal="bob", skill="lab", session="s1")
        await host.start(tool("a"), owner=other)
        await host.service.cancel(OWNER, runs[0])
        await host.ended(runs[0])
        await host.start(tool("a"))


async def test_a_rerun_calls_only_what_has_no_result_yet(host):
    host.cast.fails["b"] = [TerminalError("the first time")]
    plan = [
        tool("a", args={"name": "a"}),
        tool("b", args={"name": "b"}, depends_on=["c"]),
        tool("c", args={"name": "c", "of": "${a.result}"}),
        tool("d", args={"name": "d"}, depends_on=["b", "c"]),
    ]
    workflow_id = await host.start(*plan)
    assert (await host.ended(workflow_id))["status"] == "Failed"
    answer_ = await host.service.rerun(OWNER, workflow_id)
    assert answer_["rerun_of"] == workflow_id
    envelope = await host.ended(answer_["workflow_id"])
    assert envelope["status"] == "Completed"
    assert dict(host.cast.calls) == {"a": 1, "b": 2, "c": 1, "d": 1}
    assert line_of(envelope, "a")["reused"] is True
    assert len(set(host.cast.keys["b"])) == 1, "one step has one key, over re-runs too"
    edited = {"tasks": [*plan[:3], tool("d", args={"name": "d", "now": "other"})]}
    third = await host.service.rerun(OWNER, answer_["workflow_id"], edited)
    await host.ended(third["workflow_id"])
    assert dict(host.cast.calls) == {"a": 1, "b": 2, "c": 1, "d": 2}


async def test_a_run_that_goes_on_is_not_run_again(host):
    workflow_id = await host.start(gate("a"))
    await host.cast.gates.entered("a")
    with pytest.raises(ConflictError):
        await host.service.rerun(OWNER, workflow_id)
    host.cast.gates.open("a")
    await host.ended(workflow_id)


async def test_a_canceled_run_can_be_run_again(host):
    workflow_id = await host.start(tool("a", args={"name": "a"}), event("w", depends_on=["a"]))
    await host.waits(workflow_id)
    await host.service.cancel(OWNER, workflow_id)
    await host.ended(workflow_id)
    again = (await host.service.rerun(OWNER, workflow_id))["workflow_id"]
    await host.waits(again)
    await host.service.send_event(OWNER, again, "paid")
    assert (await host.ended(again))["status"] == "Completed"
    assert host.cast.calls["a"] == 1


@pytest.mark.parametrize("flag", [True, "true", "True"])
async def test_a_dry_run_starts_nothing_and_says_what_would_be_done(sqlite_host, flag):
    plan = {
        "tasks": [tool("a", "charge"), tool("b", for_each="${a.result}", args={"n": "${item}"})]
    }
    preview = await sqlite_host.service.start(OWNER, {**plan, "dry_run": flag})
    assert preview["tasks"] == 2
    assert await sqlite_host.service.list(OWNER) == []


@pytest.mark.parametrize("flag", ["yes", 1, [], {}])
async def test_what_is_neither_true_nor_false_is_not_taken_for_a_real_start(sqlite_host, flag):
    with pytest.raises(InvalidRequestError, match="dry_run is true or false"):
        await sqlite_host.service.start(OWNER, {"tasks": [tool("a")], "dry_run": flag})
    assert await sqlite_host.service.list(OWNER) == []


async def test_a_few_runs_of_one_status_among_many_are_found_in_a_few_looks(sqlite_host):
    await asyncio.gather(*(sqlite_host.run(tool("a")) for _ in range(12)))
    asked = []
    query = sqlite_host.hub.query

    async def counted(*given, **options):
        asked.append(given)
        return await query(*given, **options)

    sqlite_host.service._hub.query = counted
    assert await sqlite_host.service.list(OWNER, limit=1, status="Failed") == []
    assert len(asked) <= 2
