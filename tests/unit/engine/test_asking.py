"""Questions to people: what an answer does, and what it never does."""

from datetime import timedelta

import pytest

from tests.unit.engine.driving import Driven, agent, answered, failure, tool
from workflow_runtime.engine import START, Asked, Failed, Succeeded
from workflow_runtime.engine.questions import APPROVAL_TIMEOUT
from workflow_runtime.plan.policies import WorkPolicy

CAREFUL = WorkPolicy(approval=True)


def asks(driven, step="a", **args):
    del driven.open[step]
    driven.turn(Asked(step=step, tool="delete", args=args, transcript=["so far"]))


def test_a_run_of_many_agents_begins_only_after_a_yes():
    driven = Driven(agent("a", for_each=[1, 2, 3]), tool("b"), ask_above_agent_runs=2)
    assert driven.open == {}
    assert "3 times" in driven.question(START).message
    assert driven.answer(START) == ["a[0]", "a[1]", "a[2]", "b"]


def test_an_answered_gate_does_not_time_out_later():
    driven = Driven(agent("a", for_each=[1, 2, 3]), ask_above_agent_runs=2)
    driven.answer(START)
    driven.wait(days=8)
    assert driven.status == "Running"
    assert driven.finish().outcome.status == "Completed"


@pytest.mark.parametrize("answer", ["no", "none"])
def test_a_run_of_many_agents_does_not_begin_without_a_yes(answer):
    driven = Driven(agent("a", for_each=[1, 2, 3]), tool("b"), ask_above_agent_runs=2)
    if answer == "no":
        driven.answer(START, approved=False)
    else:
        driven.wait(APPROVAL_TIMEOUT.total_seconds())
    assert driven.run.outcome.status == "Failed"
    assert driven.run.outcome.error.code == {"no": "rejected", "none": "approval_timed_out"}[answer]
    assert driven.counts() == {"total": 2, "not_run": 2}


def test_what_was_approved_is_what_is_called():
    driven = Driven(tool("a", args={"id": "${input}"}), policy=CAREFUL, plan={"input": 7})
    assert driven.question("a").args == {"id": 7}
    assert driven.answer("a") == ["a"]
    assert driven.open["a"].args == {"id": 7}


def test_a_waiting_question_takes_no_slot():
    driven = Driven(
        tool("a"), tool("b", "other"), tool("c", "other"), policy=CAREFUL, max_parallelism=1
    )
    assert list(driven.open) == ["b"]
    assert driven.done("b") == ["c"]


def test_an_answer_to_another_question_changes_nothing():
    driven = Driven(tool("a"), tool("b"), policy=CAREFUL)
    digest = driven.question("b").digest
    assert driven.answer("a", digest=digest) == []
    assert driven.question("a")


def test_a_second_answer_changes_nothing():
    driven = Driven(tool("a"), policy=CAREFUL)
    digest = driven.question("a").digest
    yes, no = answered("a", digest), answered("a", digest, approved=False)
    assert driven.turn(yes, no, yes) == ["a"]
    assert driven.finish().outcome.status == "Completed"


def test_an_approval_covers_the_attempts_at_one_call():
    driven = Driven(tool("a", retry={"max_attempts": 2}), policy=CAREFUL)
    driven.answer("a")
    driven.failed("a", kind="retryable")
    assert driven.wait(60) == ["a"]
    assert driven.open["a"].attempt == 2


def test_an_agent_goes_on_with_what_it_had_after_a_yes():
    driven = Driven(agent("a"))
    asks(driven, id=1)
    assert driven.answer("a") == ["a"]
    command = driven.open["a"]
    assert command.attempt == 1, "the rest of an attempt is not another one"
    assert command.decision["transcript"] == ["so far"]
    assert (command.decision["tool"], command.decision["args"]) == ("delete", {"id": 1})
    assert driven.run.usage.agent_runs == 1


def test_an_old_answer_does_not_hold_for_an_agents_next_question():
    driven = Driven(agent("a"))
    asks(driven, id=1)
    digest = driven.question("a").digest
    driven.answer("a")
    asks(driven, id=1)
    assert driven.answer("a", digest=digest) == []
    assert driven.question("a").digest != digest


def test_questions_that_time_out_together_end_each_step_once():
    driven = Driven(tool("a", for_each=list(range(8)), on_error="continue"), policy=CAREFUL)
    driven.wait(APPROVAL_TIMEOUT.total_seconds())
    assert driven.run.outcome.status == "CompletedWithErrors"
    assert driven.counts() == {"total": 8, "failed": 5, "not_run": 3}
    assert driven.run.tasks["a"].failure.code == "breaker_open"


def test_a_deadline_that_ends_the_run_wakes_nobody_else():
    ask = {"id": "ask", "type": "approval", "message": "?", "timeout": "PT1H"}
    wait = {"id": "w", "type": "wait", "duration": "PT1H"}
    driven = Driven(ask, wait, tool("next", depends_on=["w"]))
    driven.wait(3600)
    assert driven.run.outcome.error.code == "approval_timed_out"
    assert (driven.status_of("w"), driven.status_of("next")) == ("not_run", "not_run")


def test_a_no_is_seen_by_a_plan_that_goes_on():
    ask = {"id": "ask", "type": "approval", "message": "?", "on_error": "continue"}
    no = tool("no", when={"ref": "${ask.result.approved}", "operator": "equals", "value": False})
    driven = Driven(ask, no)
    assert driven.answer("ask", approved=False) == ["no"]
    assert driven.run.tasks["ask"].failure.code == "rejected"


def test_a_question_is_open_no_longer_than_a_wait_may_last():
    driven = Driven(tool("a"), policy=CAREFUL, max_wait=timedelta(hours=1))
    driven.wait(3600)
    assert driven.run.outcome.error.code == "approval_timed_out"


def test_a_question_of_an_agent_after_a_failure_is_not_asked():
    driven = Driven(agent("a"), tool("b"))
    driven.turn(Failed("b", failure()), Asked(step="a", tool="delete", args={}, transcript=[]))
    assert driven.run.outcome.status == "Failed"
    assert driven.status_of("a") == "canceled"


def test_an_answer_after_a_cancel_calls_nothing(cancel):
    driven = Driven(tool("a"), tool("b", "other"), policy=CAREFUL)
    digest = driven.question("a").digest
    driven.turn(cancel)
    assert driven.answer("a", digest=digest) == []
    driven.turn(Succeeded("b", 1))
    assert driven.run.outcome.status == "Canceled"


def test_a_rejected_tool_has_given_nothing():
    careful = WorkPolicy(approval=True)
    driven = Driven(tool("a", for_each=[1, 2], on_error="continue"), policy=careful)
    driven.answer("a[0]")
    driven.done("a[0]", "gone")
    driven.answer("a[1]", approved=False)
    assert driven.run.outcome.output == {"a": ["gone", None]}
    assert "by ann" in driven.run.tasks["a"].steps[1].failure.message
