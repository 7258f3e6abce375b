"""What a cancel and a terminate promise, on each durable host."""

import time

from tests.contract.tasks import gate, line_of, tool
from tests.fakes import OWNER


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
