"""What the service promises of a run, on each durable host."""

import asyncio
import time

import pytest

from tests.contract.conftest import durable
from tests.fakes import OWNER, PATIENCE, TRICKY
from workflow_runtime.errors import (
    ConflictError,
    TerminalError,
    TooManyActiveError,
    WorkflowNotFoundError,
)
from workflow_runtime.service import INBOX, ORCHESTRATOR, Owner

STRANGERS = (
    Owner(principal="bob", skill="lab", session="s1"),
    Owner(principal="ann", skill="lab", session="s2"),
    Owner(principal="ann", skill="writer", session="s1"),
)


def tool(name, target="give", /, **rest):
    return {"id": name, "type": "tool", "tool": target, **rest}


def gate(name, **rest):
    return tool(name, "gate", args={"name": name}, **rest)


def line_of(envelope, task):
    return next(line for line in envelope["tasks"] if line["id"] == task)


# --- looking -------------------------------------------------------------------------------------


async def test_a_run_gives_its_output_and_the_session_is_told_once(host):
    workflow_id = await host.start(tool("a", "echo", args={"x": 1}), output="${a.result}")
    envelope = await host.ended(workflow_id)
    assert (envelope["status"], envelope["output"]) == ("Completed", {"x": 1})
    assert envelope["progress"] == {
        "total": 1, "completed": 1, "running": 0, "failed": 0, "skipped": 0, "not_run": 0,
    }  # fmt: skip
    await host.hub.wait(workflow_id, PATIENCE)
    assert host.lab.told.ids == [workflow_id]


async def test_a_running_run_says_what_it_does_and_to_end_the_turn(host):
    workflow_id = await host.start(
        tool("a"), gate("b", depends_on=["a"]), tool("c", depends_on=["b"])
    )
    await host.cast.gates.entered("b")
    envelope = await host.until(workflow_id, lambda one: one["progress"].get("now") == ["b"])
    assert envelope["status"] == "Running"
    assert envelope["progress"] | {"now": 0} == {
        "total": 3, "completed": 1, "running": 1, "failed": 0, "skipped": 0, "not_run": 1, "now": 0,
    }  # fmt: skip
    assert envelope["poll_after_seconds"] > 0
    assert "End your turn" in envelope["next"]
    assert "output" not in envelope
    assert [line["id"] for line in envelope["tasks"]] == ["b", "a", "c"]
    host.cast.gates.open("b")
    ended = await host.ended(workflow_id)
    assert "next" not in ended
    assert ended["waiting_for"] == []


async def test_results_of_finished_tasks_are_there_after_a_failed_run(host):
    host.cast.fails["b"] = [TerminalError("no such account")]
    host.cast.returns["a"] = {"rows": [1, 2]}
    workflow_id = await host.start(
        tool("a", args={"name": "a"}),
        tool("b", args={"name": "b"}, depends_on=["a"]),
        tool("c", depends_on=["b"]),
    )
    envelope = await host.ended(workflow_id)
    assert envelope["status"] == "Failed"
    assert envelope["error"]["code"] == "failed"
    assert "no such account" in envelope["error"]["message"]
    assert envelope["output"] == {"a": {"rows": [1, 2]}}
    assert line_of(envelope, "c")["status"] == "not_run"
    answer = await host.service.status(OWNER, workflow_id, task_id="a", path="result.rows[1]")
    assert answer["value"] == 2


async def test_a_list_has_the_newest_first_and_can_be_filtered(host):
    host.cast.fails["bad"] = [TerminalError("no")]
    first = await host.start(tool("a"))
    await host.ended(first)
    second = await host.start(tool("a", args={"name": "bad"}))
    await host.ended(second)
    listed = await host.service.list(OWNER)
    assert [one["workflow_id"] for one in listed] == [second, first]
    assert "output" not in listed[0]
    failed = await host.service.list(OWNER, status="Failed")
    assert [one["workflow_id"] for one in failed] == [second]


@pytest.mark.parametrize("stranger", STRANGERS, ids=["principal", "session", "skill"])
async def test_a_strangers_run_is_not_found_and_not_touched(host, stranger):
    workflow_id = await host.start(gate("a"))
    await host.cast.gates.entered("a")
    service = host.service
    approve = service.approve(stranger, workflow_id, "a", approved=True, digest="", by="bob")
    for call in (
        service.status(stranger, workflow_id),
        service.cancel(stranger, workflow_id),
        service.terminate(stranger, workflow_id),
        service.send_event(stranger, workflow_id, "go"),
        service.rerun(stranger, workflow_id),
        approve,
    ):
        with pytest.raises(WorkflowNotFoundError):
            await call
    assert await service.list(stranger) == []
    host.cast.gates.open("a")
    assert (await host.ended(workflow_id))["status"] == "Completed"


# --- stopping ------------------------------------------------------------------------------------


async def test_a_cancel_tells_the_tools_within_two_seconds_and_starts_nothing_more(host):
    workflow_id = await host.start(
        tool("a", "slowly"), gate("b"), tool("c", depends_on=["a"]), tool("d")
    )
    await host.cast.gates.entered("b")
    await host.cast.gates.entered("slowly")
    await host.until(workflow_id, lambda one: one["progress"]["completed"] == 1)
    asked = time.monotonic()
    assert (await host.service.cancel(OWNER, workflow_id, "enough"))["status"] == "Canceling"
    envelope = await host.ended(workflow_id)
    assert envelope["status"] == "Canceled"
    assert envelope["error"] == {"code": "canceled", "message": "enough"}
    assert host.cast.told[0] - asked < 2
    assert line_of(envelope, "a")["status"] == "canceled"
    assert line_of(envelope, "b")["status"] == "completed", "it gave a late result"
    assert line_of(envelope, "c")["status"] == "not_run"
    assert envelope["output"] == {"b": "told to stop", "d": "ok"}


async def test_a_cancel_is_shown_as_canceling_until_what_runs_has_ended(host):
    workflow_id = await host.start(tool("a", "deaf"), tool("b", depends_on=["a"]))
    await host.cast.gates.entered("deaf")
    await host.service.cancel(OWNER, workflow_id)
    envelope = await host.until(workflow_id, lambda one: one["status"] == "Canceling")
    assert line_of(envelope, "a")["status"] == "running"
    host.cast.gates.open("deaf")
    assert (await host.ended(workflow_id))["status"] == "Canceled"


async def test_when_a_cancel_has_answered_the_run_shows_it_and_no_tool_is_called_any_more(host):
    each = tool("each", "echo", for_each=list(range(300)), args={"n": "${item}"}, concurrency=1)
    workflow_id = await host.start(each)
    await host.until(workflow_id, lambda one: one["progress"].get("completed", 0) > 2)
    await host.service.cancel(OWNER, workflow_id)
    called = host.cast.calls["echo"]
    shown = (await host.service.status(OWNER, workflow_id))["status"]
    assert shown in {"Canceling", "Canceled"}
    await host.ended(workflow_id)
    assert host.cast.calls["echo"] - called <= 1, "the one that was begun may count late"


async def test_a_cancel_in_the_first_moments_holds(host):
    wait = await host.start({"id": "w", "type": "wait", "duration": "PT1H"})
    await host.service.cancel(OWNER, wait)
    assert (await host.ended(wait))["status"] == "Canceled"


async def test_a_cancel_of_an_ended_run_says_how_it_ended(host):
    workflow_id = await host.start(tool("a"))
    await host.ended(workflow_id)
    for stop in (host.service.cancel, host.service.terminate):
        answer = await stop(OWNER, workflow_id)
        assert answer["already_finished"] is True
        assert answer["status"] == "Completed"


async def test_a_terminated_run_is_over_at_once_and_its_next_task_never_starts(sqlite_host):
    host = sqlite_host
    workflow_id = await host.start(
        tool("z"), gate("a", depends_on=["z"]), tool("b", args={"name": "b"}, depends_on=["a"])
    )
    await host.cast.gates.entered("a")
    await host.service.terminate(OWNER, workflow_id, "stop it")
    envelope = await host.service.status(OWNER, workflow_id)
    assert envelope["status"] == "Terminated"
    assert envelope["error"]["code"] == "terminated"
    assert envelope["output"] == {"z": "ok"}
    assert envelope["progress"]["outcome_unknown"] == envelope["progress"]["not_run"] == 1
    host.cast.gates.open("a")
    other = await host.start(tool("x"))
    await host.ended(other)
    assert [name for name, _ in host.cast.seen] == ["ok", "a", "ok"]
    assert (await host.service.status(OWNER, workflow_id))["status"] == "Terminated"


# --- people --------------------------------------------------------------------------------------


async def answer(host, workflow_id, task, **rest):
    return await host.service.approve(OWNER, workflow_id, task, by="ann", **rest)


async def test_a_tool_that_asks_is_called_once_with_what_was_shown(host):
    workflow_id = await host.start(tool("d", "delete", args={"name": "customer", "id": 1}))
    [shown] = await host.waits(workflow_id)
    assert (shown["task"], shown["kind"], shown["tool"]) == ("d", "approval", "delete")
    assert shown["args"] == {"name": "customer", "id": 1}
    assert host.cast.seen == []
    with pytest.raises(ConflictError):
        await answer(host, workflow_id, "d", approved=True, digest="0" * 32)
    assert host.cast.seen == []
    await answer(host, workflow_id, "d", approved=True, digest=shown["digest"])
    await host.ended(workflow_id)
    with pytest.raises(ConflictError):
        await answer(host, workflow_id, "d", approved=True, digest=shown["digest"])
    assert host.cast.seen == [("customer", {"name": "customer", "id": 1})]


async def test_two_answers_at_once_count_as_one(host):
    workflow_id = await host.start(tool("d", "delete"), tool("e", depends_on=["d"]))
    [shown] = await host.waits(workflow_id)
    both = (answer(host, workflow_id, "d", approved=True, digest=shown["digest"]) for _ in range(2))
    await asyncio.gather(*both, return_exceptions=True)
    assert (await host.ended(workflow_id))["status"] == "Completed"
    assert host.cast.calls["ok"] == 2


async def test_a_rejected_tool_is_not_called(host):
    workflow_id = await host.start(tool("d", "delete"), tool("e", depends_on=["d"]))
    [shown] = await host.waits(workflow_id)
    await answer(
        host, workflow_id, "d", approved=False, digest=shown["digest"], comment="not that one"
    )
    envelope = await host.ended(workflow_id)
    assert envelope["error"] == {
        "code": "rejected", "message": "rejected by ann: not that one", "task": "d",
    }  # fmt: skip
    assert host.cast.seen == []


async def test_of_two_opposite_answers_the_first_holds_and_the_other_is_told(host):
    workflow_id = await host.start({"id": "ok", "type": "approval", "message": "May I?"})
    (shown,) = await host.waits(workflow_id)
    said = await asyncio.gather(
        *(
            answer(host, workflow_id, "ok", approved=approved, digest=shown["digest"])
            for approved in (True, False)
        ),
        return_exceptions=True,
    )
    assert sum(isinstance(one, ConflictError) for one in said) == 1
    (holds,) = [one["approved"] for one in said if isinstance(one, dict)]
    assert (await host.ended(workflow_id))["status"] == ("Completed" if holds else "Failed")


async def test_an_approval_nobody_answers_fails_at_its_deadline(host):
    approval = {"id": "ok", "type": "approval", "message": "May I?", "timeout": "PT1S"}
    envelope = await host.run(approval, tool("b", depends_on=["ok"]))
    assert envelope["error"]["code"] == "approval_timed_out"
    assert host.cast.seen == []


async def test_an_approval_says_who_and_when(host):
    approval = {"id": "ok", "type": "approval", "message": "Send to ${input.who}?"}
    workflow_id = await host.start(approval, input={"who": "Zoë"}, output="${ok.result}")
    [shown] = await host.waits(workflow_id)
    assert shown["message"] == "Send to Zoë?"
    await answer(host, workflow_id, "ok", approved=True, digest=shown["digest"], comment="fine")
    output = (await host.ended(workflow_id))["output"]
    assert output.pop("at").endswith("Z")
    assert output == {"approved": True, "by": "ann", "comment": "fine"}


# --- events --------------------------------------------------------------------------------------


def event(name, **rest):
    return {"id": name, "type": "wait", "event": "paid", **rest}


async def test_an_event_ends_the_wait_for_it(host):
    workflow_id = await host.start(event("w", timeout="PT1H"), output="${w.result}")
    [shown] = await host.waits(workflow_id)
    assert (shown["kind"], shown["event"]) == ("event", "paid")
    await host.service.send_event(OWNER, workflow_id, "paid", {"sum": "1.10"})
    assert (await host.ended(workflow_id))["output"] == {"sum": "1.10"}
    with pytest.raises(ConflictError):
        await host.service.send_event(OWNER, workflow_id, "paid")


async def test_an_early_event_is_kept_and_a_second_delivery_of_it_dropped(host):
    workflow_id = await host.start(
        gate("g"), event("one", depends_on=["g"]), event("two", depends_on=["one"])
    )
    await host.cast.gates.entered("g")
    for _ in range(2):
        await host.service.send_event(OWNER, workflow_id, "paid", 1, event_id="m-1")
    host.cast.gates.open("g")
    await host.until(workflow_id, lambda one: [w["task"] for w in one["waiting_for"]] == ["two"])
    await host.service.send_event(OWNER, workflow_id, "paid", 2, event_id="m-2")
    run = await host.folded((await host.ended(workflow_id))["workflow_id"])
    assert (run.tasks["one"].result(), run.tasks["two"].result()) == (1, 2)


async def test_messages_that_nobody_understands_change_nothing(host):
    workflow_id = await host.start(gate("a"))
    await host.cast.gates.entered("a")
    for text in ("", "[]", "{", '{"kind": "dance"}', '{"kind": "approval"}', '{"kind": "event"}'):
        await host.hub.raise_event(workflow_id, INBOX, text)
    host.cast.gates.open("a")
    assert (await host.ended(workflow_id))["status"] == "Completed"


# --- starting ------------------------------------------------------------------------------------


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


# --- payloads and size ---------------------------------------------------------------------------


async def test_objects_that_look_like_the_codecs_own_survive(host):
    host.cast.returns["tricky"] = TRICKY
    workflow_id = await host.start(
        tool("a", args={"name": "tricky", "given": TRICKY}),
        tool("b", "echo", args={"got": "${a.result}"}),
        event("w"),
        output={"b": "${b.result}", "w": "${w.result}"},
    )
    await host.service.send_event(OWNER, workflow_id, "paid", TRICKY)
    envelope = await host.ended(workflow_id)
    assert envelope["output"] == {"b": {"got": TRICKY}, "w": TRICKY}
    assert host.cast.seen[0] == ("tricky", {"name": "tricky", "given": TRICKY})


async def test_five_hundred_items_are_all_done_in_order(host):
    workflow_id = await host.start(
        tool("a", "echo", for_each="${input}", args={"n": "${item}"}), input=list(range(500))
    )
    envelope = await host.ended(workflow_id)
    assert envelope["progress"]["completed"] == envelope["progress"]["total"] == 500
    assert len(str(envelope)) < 9_000
    assert envelope["tasks_omitted"] > 0
    last = await host.service.status(OWNER, workflow_id, task_id="a", path="result[499]")
    assert last["value"] == {"n": 499}
    assert host.cast.calls["echo"] == 500


async def test_a_run_of_another_format_says_so(host):
    workflow_id = host.service._keys.new_id(OWNER, host.service._clock())
    await host.hub.start(workflow_id, ORCHESTRATOR, '{"format": 99, "plan": {}}')
    await host.hub.wait(workflow_id, PATIENCE)
    envelope = await host.service.status(OWNER, workflow_id)
    assert envelope["status"] == "Failed"
    assert "format 99" in envelope["error"]["message"]
    assert "runs format 1" in envelope["error"]["message"]
