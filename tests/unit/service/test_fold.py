"""A history is read as the orchestrator lived it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.fakes import OWNER
from workflow_runtime.engine import Answered, RunAgent, Started
from workflow_runtime.errors import HistoryMismatchError
from workflow_runtime.hub import HistoryEntry
from workflow_runtime.plan.encoding import dumps
from workflow_runtime.plan.grants import Limits
from workflow_runtime.plan.model import read_plan
from workflow_runtime.plan.policies import Policies
from workflow_runtime.service import RunInput, attempt_ended, inbox_event, read_run_input
from workflow_runtime.service.fold import fold

START = datetime(2026, 1, 1, tzinfo=UTC)
PAID = dumps({"kind": "event", "id": "m-1", "name": "paid", "payload": 7})


def run_input(*tasks):
    return RunInput(
        plan=read_plan({"tasks": list(tasks)}),
        limits=Limits(),
        policies=Policies(),
        owner=OWNER,
        tells=True,
        root="root",
    )


def wait(name, **rest):
    return {"id": name, "type": "wait", **rest}


def tool(name, **rest):
    return {"id": name, "type": "tool", "tool": "give", **rest}


class Recorded:
    """Writes a history entry by entry."""

    def __init__(self, *tasks):
        self.entries = []
        self.turn(0)
        self.add("started", payload=run_input(*tasks).to_text())

    def turn(self, seconds):
        self.at = START + timedelta(seconds=seconds)
        return self.add("turn")

    def add(self, kind, **rest):
        self.entries.append(HistoryEntry(kind=kind, at=self.at, **rest))
        return self

    def scheduled(self, number, step):
        return self.add("scheduled", id=number, payload=dumps({"attempt": {"task_id": step}}))

    def fold(self):
        found = fold(self.entries)
        assert found is not None
        return found[1]


def test_there_is_no_run_before_it_has_begun():
    assert fold([HistoryEntry(kind="turn", at=START)]) is None


def test_results_are_those_of_the_steps_that_were_scheduled():
    told = Recorded(tool("a"), tool("b", depends_on=["a"])).scheduled(1, "a").turn(5)
    told.add("completed", of=1, payload='{"value": {"x": 1}}').scheduled(2, "b").turn(6)
    told.add("failed", of=2, payload="worker gone")
    run = told.fold()
    assert run.tasks["a"].result() == {"x": 1}
    assert run.tasks["a"].steps[0].ended_at == START + timedelta(seconds=5)
    assert run.outcome.error.code == "activity_failed"
    assert "worker gone" not in run.outcome.error.message


def test_a_timer_ahead_of_the_clock_of_its_turn_counts_at_its_own_time():
    told = Recorded(wait("w", duration="PT10S")).add("timer_created", id=1).turn(9.99)
    told.at = START + timedelta(seconds=10)
    assert told.add("timer_fired", of=1).fold().outcome.status == "Completed"


def test_a_timer_that_was_replaced_by_an_earlier_one_is_not_heard():
    """An event that comes in the turn of the deadline still counts, as it did when it ran."""
    told = Recorded(
        wait("e", event="paid", timeout="PT10S"),
        tool("a"),
        wait("w", duration="PT2S", depends_on=["a"]),
    )
    told.scheduled(1, "a").add("timer_created", id=2)
    told.turn(3).add("completed", of=1, payload='{"value": 1}').add("timer_created", id=3)
    told.turn(5).add("timer_fired", of=3).add("timer_created", id=4)
    told.turn(10).add("timer_fired", of=2).add("event", name="Inbox", payload=PAID)
    run = told.add("timer_fired", of=4).fold()
    assert run.tasks["e"].result() == 7
    assert run.outcome.status == "Completed"


def test_other_activities_and_other_events_are_not_the_runs():
    told = Recorded(tool("a")).scheduled(1, "a").add("scheduled", id=2, payload='{"owner": {}}')
    told.turn(1).add("event", name="other", payload=PAID).add("completed", of=2, payload="x")
    assert told.fold().outcome is None


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", '"x"', '{"kind": "dance"}', '{"kind": "event"}', '{"kind": "approval"}',
     '{"kind": "approval", "id": 1, "step": "a", "digest": "d"}'],
)  # fmt: skip
def test_messages_of_other_versions_are_left_alone(text):
    assert inbox_event(text) is None


def test_only_true_is_a_yes():
    fields: dict[str, Any] = {
        "kind": "approval",
        "id": "1",
        "step": "a",
        "digest": "d",
        "approved": "false",
    }
    found = inbox_event(dumps(fields))
    assert isinstance(found, Answered)
    assert found.approved is False


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"failure": {}}', '{"ask": {}}', "nonsense"])
def test_a_result_in_another_format_is_a_mismatch_that_names_the_step(text):
    with pytest.raises(HistoryMismatchError, match="'a'"):
        attempt_ended("a", text)


@pytest.mark.parametrize("text", ['{"format": 2}', "{}", "[]", "3"])
def test_an_input_of_another_format_says_which_and_what_to_do(text):
    with pytest.raises(HistoryMismatchError, match=r"runs format 1.*start it again"):
        read_run_input(text)


def test_an_input_comes_back_as_it_was_frozen():
    given = run_input(tool("a", retry={"max_attempts": 2}), wait("w", event="x", timeout="PT1H"))
    again = read_run_input(given.to_text())
    assert again == given
    assert not any(isinstance(one, RunAgent) for one in again.new_run().handle([Started()], START))
