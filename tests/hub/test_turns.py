"""The protocol of turns, driven by hand through the seam in process."""

from datetime import UTC, datetime, timedelta

import pytest
from durabletask.internal import helpers
from durabletask.internal import orchestrator_service_pb2 as pb

from tests.hub.support import (
    HandWorker,
    activity,
    again,
    child,
    completed,
    kinds,
    started,
    status_of,
    timer,
)
from workflow_runtime.hosts.local.hub import Reason, RefusedError


async def test_a_turn_carries_the_committed_history_and_what_is_new(hub, worker):
    await hub.start(started())
    first = await worker.turn()
    assert kinds(first.orchestratorRequest.pastEvents) == []
    assert kinds(first.orchestratorRequest.newEvents) == ["orchestratorStarted", "executionStarted"]
    await worker.answer(first, activity(1))
    await worker.result(await worker.task(), '"a"')
    second = (await worker.turn()).orchestratorRequest
    assert kinds(second.pastEvents) == [
        "orchestratorStarted",
        "executionStarted",
        "taskScheduled",
        "orchestratorCompleted",
    ]
    assert kinds(second.newEvents) == ["orchestratorStarted", "taskCompleted"]
    assert second.newEvents[1].taskCompleted.result.value == '"a"'
    assert all(event.timestamp.seconds for event in (*second.pastEvents, *second.newEvents))


async def test_events_that_come_during_a_turn_are_the_next_turn(hub, worker):
    await hub.start(started())
    turn = await worker.turn()
    await hub.raise_event("one", "first", "1")
    await hub.raise_event("one", "second", "2")
    await worker.nothing()
    await worker.answer(turn)
    following = (await worker.turn()).orchestratorRequest.newEvents
    assert [event.eventRaised.name for event in following[1:]] == ["first", "second"]


async def test_a_finished_instance_keeps_result_status_and_times(hub, worker):
    await hub.start(started(tags={"a": "b"}, version=helpers.get_string_value("1.2")))
    turn = await worker.turn()
    await worker.answer(turn, completed('"result"'), status='"half"')
    state = await hub.get("one", payloads=True)
    assert (state.input.value, state.output.value) == ('"in"', '"result"')
    assert state.customStatus.value == '"half"'
    assert (state.version.value, dict(state.tags)) == ("1.2", {"a": "b"})
    assert state.completedTimestamp.ToMicroseconds() >= state.createdTimestamp.ToMicroseconds()
    bare = await hub.get("one", payloads=False)
    assert not bare.HasField("input")
    assert not bare.HasField("output")
    await worker.nothing()


async def test_a_turn_without_a_custom_status_clears_it(hub, worker):
    await hub.start(started())
    await worker.answer(await worker.turn(), status='"busy"')
    await hub.raise_event("one", "go", None)
    await worker.answer(await worker.turn())
    assert not (await hub.get("one", payloads=False)).HasField("customStatus")


async def test_a_token_is_redeemed_once(hub, worker):
    await hub.start(started())
    turn = await worker.turn()
    await worker.answer(turn, activity(1))
    with pytest.raises(RefusedError) as refused:
        await worker.answer(turn, activity(1))
    assert refused.value.reason is Reason.LEASE_LOST
    task = await worker.task()
    await worker.result(task)
    with pytest.raises(RefusedError):
        await worker.result(task)
    assert len((await worker.turn()).orchestratorRequest.newEvents) == 2


async def test_abandoned_work_is_handed_out_again_at_once(hub, worker):
    await hub.start(started())
    turn = await worker.turn()
    await hub.abandon_orchestrator(turn.completionToken)
    turn = await worker.turn()
    await worker.answer(turn, activity(1), activity(2))
    first = await worker.task()
    await worker.task()
    await hub.abandon_activity(first.completionToken)
    retried = await worker.task()
    assert retried.activityRequest.taskId == first.activityRequest.taskId
    assert retried.completionToken != first.completionToken
    with pytest.raises(RefusedError):
        await worker.result(first)


async def test_slots_bound_what_is_handed_out(hub):
    worker = HandWorker(hub, orchestrators=1, activities=2)
    await hub.start(started("one"))
    await hub.start(started("two"))
    turn = await worker.turn()
    await worker.nothing()
    await worker.answer(turn, *(activity(n) for n in range(1, 5)))
    second = await worker.turn()
    tasks = [await worker.task(), await worker.task()]
    await worker.nothing()
    await worker.answer(second)
    await worker.nothing()
    await worker.result(tasks[0])
    assert (await worker.turn()).orchestratorRequest.instanceId == "one"
    await worker.task()
    await worker.close()


async def test_two_sessions_never_get_the_same_work(hub, worker):
    other = HandWorker(hub)
    await hub.start(started())
    await worker.answer(await worker.turn(), activity(1), activity(2))
    taken = {(await worker.task()).activityRequest.taskId}
    await other.nothing()
    taken.add((await worker.task()).activityRequest.taskId)
    assert taken == {1, 2}
    await other.close()


async def test_termination_during_an_activity_is_at_once_and_final(hub, worker):
    await hub.start(started())
    await worker.answer(await worker.turn(), activity(1), activity(2))
    running = await worker.task()
    await hub.terminate("one", '"enough"', recurse=True)
    assert await status_of(hub, "one") == "TERMINATED"
    await worker.result(running)
    await worker.nothing()
    state = await hub.get("one", payloads=True)
    assert state.output.value == '"enough"'


async def test_a_turn_in_flight_starts_nothing_after_termination(hub, worker):
    await hub.start(started())
    turn = await worker.turn()
    await hub.terminate("one", None, recurse=False)
    await worker.answer(turn, activity(1), child(2), completed(task_id=3))
    await worker.nothing()
    assert await status_of(hub, "one") == "TERMINATED"
    assert await status_of(hub, "child") is None


async def test_termination_goes_down_to_children_of_children(hub, worker):
    await hub.start(started())
    await worker.answer(await worker.turn(), child(1, instance_id="c1"))
    await worker.answer(await worker.turn(), child(1, instance_id="c2"))
    await worker.answer(await worker.turn(), activity(1))
    await hub.terminate("one", None, recurse=True)
    for instance_id in ("one", "c1", "c2"):
        assert await status_of(hub, instance_id) == "TERMINATED"
    await worker.nothing()


async def test_termination_without_recursion_leaves_children_alone(hub, worker):
    await hub.start(started())
    await worker.answer(await worker.turn(), child(1, instance_id="c1"))
    await hub.terminate("one", None, recurse=False)
    await worker.answer(await worker.turn(), completed())
    assert await status_of(hub, "c1") == "COMPLETED"
    await worker.nothing()


async def test_a_parent_hears_that_a_child_completed_failed_or_was_terminated(hub, worker):
    await hub.start(started())
    children = [child(n, instance_id=f"c{n}") for n in (1, 2, 3)]
    await worker.answer(await worker.turn(), *children)
    turns = {}
    for _ in children:
        turn = await worker.turn()
        turns[turn.orchestratorRequest.instanceId] = turn
    begun = turns["c1"].orchestratorRequest.newEvents[1].executionStarted
    assert begun.parentInstance.orchestrationInstance.instanceId == "one"
    await worker.answer(turns["c1"], completed('"fine"'))
    failed = helpers.new_complete_orchestration_action(
        1, pb.ORCHESTRATION_STATUS_FAILED, None, helpers.new_failure_details(ValueError("bad"))
    )
    await worker.answer(turns["c2"], failed)
    await hub.terminate("c3", None, recurse=False)
    seen = []
    while len(seen) < 3:
        turn = await worker.turn()
        seen += list(turn.orchestratorRequest.newEvents)[1:]
        await worker.answer(turn)
    assert seen[0].subOrchestrationInstanceCompleted.result.value == '"fine"'
    assert seen[1].subOrchestrationInstanceFailed.failureDetails.errorMessage == "bad"
    assert seen[2].subOrchestrationInstanceFailed.taskScheduledId == 3


async def test_a_child_id_that_is_taken_fails_the_task_and_not_the_hub(hub, worker):
    await hub.start(started("taken"))
    other = await worker.turn()
    await hub.start(started())
    await worker.answer(await worker.turn(), child(1, instance_id="taken"))
    event = (await worker.turn()).orchestratorRequest.newEvents[1]
    assert "taken" in event.subOrchestrationInstanceFailed.failureDetails.errorMessage
    await worker.answer(other, completed())


async def test_a_finished_child_gives_way_when_its_parent_tries_again(hub, worker):
    await hub.start(started())
    await worker.answer(await worker.turn(), child(1, instance_id="c"))
    await worker.answer(await worker.turn(), completed('"first"'))
    await worker.answer(await worker.turn(), child(1, instance_id="c"))
    await worker.answer(await worker.turn(), completed('"second"'))
    event = (await worker.turn()).orchestratorRequest.newEvents[1]
    assert event.subOrchestrationInstanceCompleted.result.value == '"second"'


async def test_continue_as_new_begins_again_and_keeps_events(hub, worker):
    await hub.start(started(tags={"a": "b"}))
    turn = await worker.turn()
    execution = turn.orchestratorRequest.executionId.value
    await hub.raise_event("one", "late", "2")
    carried = helpers.new_event_raised_event("early", "1")
    await worker.answer(turn, activity(1), timer(2, datetime.now(UTC)), again("7", [carried]))
    renewed = await worker.turn()
    request = renewed.orchestratorRequest
    assert request.executionId.value != execution
    assert kinds(request.pastEvents) == []
    assert kinds(request.newEvents)[1:] == ["executionStarted", "eventRaised", "eventRaised"]
    assert request.newEvents[1].executionStarted.input.value == "7"
    assert dict(request.newEvents[1].executionStarted.tags) == {"a": "b"}
    assert [event.eventRaised.name for event in request.newEvents[2:]] == ["early", "late"]
    await worker.answer(renewed)
    # The activity of the old generation runs; its result is nobody's.
    await worker.result(await worker.task())
    await worker.nothing()


async def test_an_event_sent_to_another_instance_arrives(hub, worker):
    await hub.start(started("target"))
    await worker.answer(await worker.turn())
    await hub.start(started("source"))
    await worker.answer(
        await worker.turn(),
        helpers.new_send_event_action(1, "target", "hello", '"x"'),
        helpers.new_send_event_action(2, "nobody", "hello", '"x"'),
        completed(),
    )
    event = (await worker.turn()).orchestratorRequest.newEvents[1]
    assert (event.eventRaised.name, event.eventRaised.input.value) == ("hello", '"x"')


async def test_an_orchestrator_may_terminate_another(hub, worker):
    await hub.start(started("target"))
    await worker.answer(await worker.turn(), activity(1))
    await worker.task()
    await hub.start(started("source"))
    ending = pb.TerminateOrchestrationAction(instanceId="target", recurse=True)
    await worker.answer(
        await worker.turn(), pb.OrchestratorAction(id=1, terminateOrchestration=ending)
    )
    assert await status_of(hub, "target") == "TERMINATED"


async def test_entities_fail_the_instance_with_a_clear_text(hub, worker):
    await hub.start(started())
    message = pb.OrchestratorAction(id=1, sendEntityMessage=pb.SendEntityMessageAction())
    await worker.answer(await worker.turn(), message)
    state = await hub.get("one", payloads=True)
    assert state.orchestrationStatus == pb.ORCHESTRATION_STATUS_FAILED
    assert "entities" in state.failureDetails.errorMessage


@pytest.mark.parametrize("known", [False, True])
async def test_an_id_is_used_once_unless_the_policy_says_otherwise(hub, worker, known):
    await hub.start(started())
    await worker.answer(await worker.turn(), completed())
    policy = pb.OrchestrationIdReusePolicy(
        replaceableStatus=[pb.ORCHESTRATION_STATUS_COMPLETED] if known else []
    )
    again_ = started(orchestrationIdReusePolicy=policy)
    if not known:
        with pytest.raises(RefusedError) as refused:
            await hub.start(again_)
        assert refused.value.reason is Reason.ALREADY_EXISTS
        return
    await hub.start(again_)
    assert await status_of(hub, "one") == "PENDING"
    await worker.turn()


async def test_replacing_a_running_instance_ends_it_first(hub, worker):
    await hub.start(started())
    await worker.answer(await worker.turn(), activity(1), child(2, instance_id="c"))
    below = await worker.turn()
    old = await worker.task()
    policy = pb.OrchestrationIdReusePolicy(replaceableStatus=[pb.ORCHESTRATION_STATUS_RUNNING])
    await hub.start(started(orchestrationIdReusePolicy=policy))
    assert await status_of(hub, "c") == "TERMINATED"
    await worker.answer(await worker.turn())
    await worker.result(old)
    await worker.answer(below)
    await worker.nothing()


async def test_a_scheduled_start_waits_even_if_an_event_comes_first(hub, worker):
    later = datetime.now(UTC) + timedelta(milliseconds=300)
    await hub.start(started(scheduledStartTimestamp=helpers.new_timestamp(later)))
    await hub.raise_event("one", "early", None)
    await worker.nothing()
    turn = await worker.turn()
    assert datetime.now(UTC) >= later
    assert kinds(turn.orchestratorRequest.newEvents)[1:] == ["executionStarted", "eventRaised"]


async def test_a_work_item_of_big_histories_is_put_together_right(hub, worker):
    await hub.start(started(given='"' + "x" * 300_000 + '"'))
    turn = await worker.turn()
    for n in range(1, 4):
        await worker.answer(turn, activity(n, given='"' + "y" * 70_000 + '"'))
        await worker.result(await worker.task(), '"é' + "z" * 200 * n + '"')
        turn = await worker.turn()
    past = turn.orchestratorRequest.pastEvents
    assert len(past[1].executionStarted.input.value) == 300_002
    assert len([kind for kind in kinds(past) if kind == "taskCompleted"]) == 2
