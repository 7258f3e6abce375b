"""What the service shows of a run, and to whom; on each durable host."""

import asyncio

import pytest

from tests.contract.tasks import event, gate, line_of, tool
from tests.fakes import OWNER, PATIENCE, TRICKY
from workflow_runtime.errors import TerminalError, WorkflowNotFoundError
from workflow_runtime.service import ORCHESTRATOR, Owner

STRANGERS = (
    Owner(principal="bob", skill="lab", session="s1"),
    Owner(principal="ann", skill="lab", session="s2"),
    Owner(principal="ann", skill="writer", session="s1"),
)


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


async def test_what_a_run_waits_for_is_listed_after_a_turn_that_brought_nothing(sqlite_host):
    host = sqlite_host
    go = {"id": "ev", "type": "wait", "event": "go", "timeout": "PT1.5S"}
    short = {"id": "short", "type": "wait", "duration": "PT0.2S"}
    ask = {"id": "ok", "type": "approval", "message": "May I?", "depends_on": ["ev", "short"]}
    workflow_id = await host.start(go, short, ask)
    await host.until(workflow_id, lambda one: one["progress"].get("completed") == 1)
    await host.service.send_event(OWNER, workflow_id, "go")

    async with asyncio.timeout(PATIENCE):
        while True:
            history = await host.hub.history(workflow_id)
            if sum(entry.kind == "timer_fired" for entry in history) == 2:
                break  # the second is the one that was given up
            await asyncio.sleep(0.05)
    (listed,) = await host.service.list(OWNER)
    assert [one["task"] for one in listed["waiting_for"]] == ["ok"]
