"""What people decide and what the world sends, on each durable host."""

import asyncio

import pytest

from tests.contract.tasks import event, gate, tool
from tests.fakes import OWNER
from workflow_runtime.errors import ConflictError
from workflow_runtime.service import INBOX


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
