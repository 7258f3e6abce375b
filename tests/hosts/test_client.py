"""What the client of a task hub promises, over a real gRPC service."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from tests.hosts.toy_app import ORCHESTRATOR
from workflow_runtime.errors import HubUnavailableError, WorkflowNotFoundError
from workflow_runtime.hosts.client import DurableTaskHub
from workflow_runtime.hosts.local.host import client_json

SECONDS = 20


async def test_payloads_come_back_as_the_strings_that_were_handed_in(running):
    steps = json.dumps([["shout", '"__class__" ü \\ {}']])
    await running.hub.start("a", ORCHESTRATOR, steps)
    state = await running.hub.wait("a", SECONDS)
    assert state.input == steps
    assert json.loads(state.output) == ['"__CLASS__" Ü \\ {}']


async def test_times_are_aware_and_in_utc(running):
    before = datetime.now(UTC) - timedelta(seconds=1)
    await running.start("a")
    state = await running.hub.wait("a", SECONDS)
    assert before < state.created_at <= state.updated_at < before + timedelta(seconds=SECONDS)
    assert state.created_at.utcoffset() == timedelta()


async def test_a_state_without_payloads_has_none(running):
    await running.start("a", ["shout", "x"])
    await running.hub.wait("a", SECONDS)
    state = await running.hub.state("a", payloads=False)
    assert (state.native_status, state.input, state.output) == ("COMPLETED", None, None)
    assert state.is_final


async def test_a_state_without_payloads_is_never_that_of_a_longer_id(running):
    await running.start("a-child")
    assert await running.hub.state("a", payloads=False) is None


@pytest.mark.parametrize("payloads", [True, False])
async def test_an_unknown_instance_has_no_state(running, payloads):
    assert await running.hub.state("nobody", payloads=payloads) is None


async def test_a_query_gives_the_prefix_only_page_by_page_in_the_order_of_ids(running):
    for instance_id in ("me-2", "you-1", "me-1", "me-3"):
        await running.start(instance_id)
        await running.hub.wait(instance_id, SECONDS)
    first = await running.hub.query("me-", limit=2)
    rest = await running.hub.query("me-", limit=2, after=first.after)
    assert len(first.instances) == 2
    assert rest.after is None
    found = [instance.instance_id for page in (first, rest) for instance in page.instances]
    assert found == ["me-1", "me-2", "me-3"]


async def test_a_query_brings_payloads_when_asked_to(running):
    await running.start("a")
    await running.hub.wait("a", SECONDS)
    (with_payloads,) = (await running.hub.query("a", limit=5, payloads=True)).instances
    (without,) = (await running.hub.query("a", limit=5)).instances
    assert (with_payloads.input, without.input) == ("[]", None)


async def test_the_history_tells_the_run_in_order(running):
    await running.start("a", ["shout", "x"], ["fail", "y"], ["wait", "inbox"])
    await running.hub.raise_event("a", "inbox", '{"n": 1}')
    await running.hub.wait("a", SECONDS)
    entries = await running.hub.history("a")
    told = [(e.kind, e.name, e.payload) for e in entries if e.kind not in {"turn", "event"}]
    assert told == [
        ("started", ORCHESTRATOR, '[["shout", "x"], ["fail", "y"], ["wait", "inbox"]]'),
        ("scheduled", "shout", '"x"'),
        ("completed", "", '"X"'),
        ("scheduled", "fail", '"y"'),
        ("failed", "", "no luck: y"),
    ]
    by_id = {entry.id: entry for entry in entries if entry.kind == "scheduled"}
    ends = [entry for entry in entries if entry.kind in {"completed", "failed"}]
    assert [by_id[entry.of].name for entry in ends] == ["shout", "fail"]
    (event,) = (entry for entry in entries if entry.kind == "event")
    assert (event.name.lower(), event.payload) == ("inbox", '{"n": 1}')


async def test_an_unknown_instance_has_no_history(running):
    assert await running.hub.history("nobody") == ()


async def test_a_wait_that_runs_out_gives_the_state_of_now(running):
    await running.start("a", ["wait", "inbox"])
    state = await running.hub.wait("a", 0.05)
    assert not state.is_final


async def test_an_event_for_an_unknown_instance_says_so(running):
    with pytest.raises(WorkflowNotFoundError, match="no instance 'nobody'"):
        await running.hub.raise_event("nobody", "inbox", "{}")


async def test_what_has_ended_ignores_events_and_terminate(running):
    await running.start("a")
    await running.hub.wait("a", SECONDS)
    await running.hub.raise_event("a", "inbox", "{}")
    await running.hub.terminate("a", "late")
    assert (await running.hub.state("a", payloads=True)).native_status == "COMPLETED"


async def test_a_purged_instance_is_gone(running):
    await running.start("a")
    await running.hub.wait("a", SECONDS)
    await running.hub.purge("a")
    assert await running.hub.state("a", payloads=True) is None


async def test_a_hub_that_does_not_answer_is_one_clear_line():
    hub = DurableTaskHub(client_json("127.0.0.1:1"))
    try:
        with pytest.raises(HubUnavailableError) as caught:
            await hub.start("a", ORCHESTRATOR, "[]")
    finally:
        await hub.close()
    assert str(caught.value) == (
        "cannot start an instance: the task hub at 'http://127.0.0.1:1' does not answer; "
        "is the host running?"
    )
