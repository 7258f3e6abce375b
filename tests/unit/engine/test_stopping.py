"""How a run ends before its plan does: cancels, failures, limits on time and spending."""

from datetime import timedelta

import pytest

from tests.unit.engine.driving import Driven, agent, failure, tool
from workflow_runtime.engine import CANCEL_GRACE, Failed, Started, Succeeded
from workflow_runtime.errors import HistoryMismatchError

GRACE = CANCEL_GRACE.total_seconds()


def test_a_cancel_starts_nothing_more_and_awaits_what_runs(cancel):
    driven = Driven(tool("a"), tool("b", depends_on=["a"]))
    assert driven.turn(cancel) == []
    assert driven.status == "Canceling"
    assert driven.done("a") == []
    assert driven.run.outcome.status == "Canceled"
    assert driven.run.outcome.output == {"a": "ok"}
    assert driven.counts() == {"total": 2, "completed": 1, "not_run": 1}


def test_a_cancel_counts_in_the_batch_that_brings_it(cancel):
    driven = Driven(tool("a"), tool("b", depends_on=["a"]))
    assert driven.turn(Succeeded("a", 1), cancel) == []
    assert driven.run.outcome.status == "Canceled"


def test_what_still_runs_after_the_grace_has_an_unknown_outcome(cancel):
    driven = Driven(tool("a"), tool("b", depends_on=["a"]))
    driven.turn(cancel)
    assert driven.run.deadline == driven.now + CANCEL_GRACE
    driven.wait(GRACE)
    assert driven.run.outcome.status == "Canceled"
    assert driven.counts() == {"total": 2, "outcome_unknown": 1, "not_run": 1}
    assert driven.turn(Succeeded("a", 1)) == []
    assert driven.status_of("a") == "outcome_unknown"


def test_an_attempt_that_was_told_is_canceled(cancel):
    driven = Driven(tool("a", retry={"max_attempts": 5}))
    driven.turn(cancel)
    driven.failed("a", "canceled", kind="retryable")
    assert driven.counts() == {"total": 1, "canceled": 1}
    assert driven.run.outcome.error.code == "canceled"


def test_a_cancel_cuts_waits_and_pauses(cancel):
    wait = {"id": "w", "type": "wait", "duration": "PT1H"}
    driven = Driven(wait, tool("a", retry={"max_attempts": 3, "initial": "PT1H"}))
    driven.failed("a", kind="retryable")
    driven.turn(cancel)
    assert driven.run.outcome.status == "Canceled"
    assert (driven.status_of("w"), driven.status_of("a")) == ("not_run", "failed")


def test_a_second_cancel_does_not_lengthen_the_grace(cancel):
    driven = Driven(tool("a"))
    driven.turn(cancel)
    until = driven.run.deadline
    driven.wait(5)
    driven.turn(cancel)
    assert driven.run.deadline == until


def test_a_failure_awaits_what_runs_however_long_it_takes():
    driven = Driven(tool("a"), tool("b"), tool("c", depends_on=["b"]))
    driven.failed("a")
    driven.wait(GRACE * 10)
    assert driven.status == "Running"
    assert driven.done("b") == []
    assert driven.run.outcome.output == {"b": "ok"}
    assert driven.run.outcome.error.task == "a"


def test_the_first_failure_is_the_one_that_is_told():
    driven = Driven(tool("a"), tool("b"))
    driven.failed("b", "first")
    driven.failed("a", "second")
    assert driven.run.outcome.error.code == "first"
    assert driven.counts() == {"total": 2, "failed": 2}


def test_a_run_that_takes_too_long_fails_and_keeps_what_it_has():
    driven = Driven(tool("a"), tool("b"), max_duration=timedelta(hours=1))
    driven.done("a")
    driven.wait(3600)
    assert driven.status == "Canceling"  # what runs is told
    driven.wait(GRACE)
    assert driven.run.outcome.error.code == "max_duration_exceeded"
    assert driven.run.outcome.output == {"a": "ok"}
    assert driven.status_of("b") == "outcome_unknown"


def test_a_run_whose_last_result_comes_late_has_completed():
    driven = Driven(tool("a"), max_duration=timedelta(hours=1))
    driven.now += timedelta(hours=2)
    driven.done("a")
    assert driven.run.outcome.status == "Completed"


def test_a_run_is_stopped_when_its_agents_have_used_up_their_runs():
    driven = Driven(agent("a", for_each=[1, 2, 3]), max_agent_runs=2)
    driven.done("a[0]")
    driven.done("a[1]")
    assert driven.run.outcome.error.code == "agent_runs_exhausted"
    assert driven.counts() == {"total": 3, "completed": 2, "not_run": 1}


@pytest.mark.parametrize(
    "then",
    [
        {"id": "b", "type": "wait", "duration": "P1D", "depends_on": ["a"]},
        {"id": "b", "type": "wait", "event": "paid"},
        {"id": "b", "type": "approval", "message": "May I?", "depends_on": ["a"]},
    ],
)
def test_a_token_budget_that_is_used_up_ends_the_run_at_once_whatever_is_left(then):
    driven = Driven(agent("a"), then, max_tokens=100)
    driven.turn(Succeeded("a", {"text": "x"}, input_tokens=90, output_tokens=20))
    assert driven.status == "Failed"
    assert driven.run.outcome.error.code == "budget_exhausted"
    assert driven.run.outcome.output == {"a": "x"}


def test_a_token_budget_was_enough_where_nothing_is_left_but_what_ran():
    driven = Driven(agent("a"), tool("b"), max_tokens=100, plan={"output": "${b.result}"})
    driven.turn(Succeeded("a", {"text": "x"}, input_tokens=90, output_tokens=20))
    driven.done("b", "fine")
    assert driven.status == "Completed"
    assert driven.run.outcome.output == "fine"


def test_a_token_budget_that_is_used_up_by_the_last_step_does_no_harm():
    driven = Driven(agent("a"), max_tokens=100)
    driven.turn(Succeeded("a", {"text": "x"}, input_tokens=90, output_tokens=20))
    assert driven.status == "Completed"


def test_a_run_is_stopped_when_its_tokens_are_used_up():
    driven = Driven(agent("a"), tool("b", depends_on=["a"]), max_tokens=100)
    del driven.open["a"]
    driven.turn(Succeeded("a", {"text": "long"}, 90, 10))
    assert driven.run.outcome.error.code == "budget_exhausted"
    assert driven.run.usage.to_json()["input_tokens"] == 90


def test_an_output_that_cannot_be_made_fails_the_run_and_keeps_the_results():
    driven = Driven(tool("a"), plan={"output": "${a.result.missing}"})
    driven.done("a", {"there": 1})
    assert driven.run.outcome.error.code == "output_failed"
    assert driven.run.outcome.output == {"a": {"there": 1}}


def test_what_its_host_ended_keeps_its_results():
    driven = Driven(tool("a"), tool("b"), tool("c", depends_on=["b"]))
    driven.done("a")
    driven.run.abandon(failure("terminated"))
    assert driven.run.outcome.output == {"a": "ok"}
    assert driven.counts() == {"total": 3, "completed": 1, "outcome_unknown": 1, "not_run": 1}


def test_an_ended_run_changes_no_more(cancel):
    driven = Driven(tool("a"))
    driven.done("a")
    outcome = driven.run.outcome
    assert driven.turn(cancel, Succeeded("a", 2), Started()) == []
    driven.run.abandon(failure("terminated"))
    assert driven.run.outcome is outcome
    assert driven.run.deadline is None


@pytest.mark.parametrize("event", [Succeeded("nobody", 1), Failed("b", failure())])
def test_an_event_nobody_can_have_asked_for_is_a_mismatch(event):
    driven = Driven(tool("a"), tool("b", depends_on=["a"]))
    with pytest.raises(HistoryMismatchError, match=event.step):
        driven.turn(event)
