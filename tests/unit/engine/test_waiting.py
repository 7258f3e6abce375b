"""Waits: for a time, until an instant, for an event."""

from datetime import timedelta

from tests.unit.engine.driving import Driven, tool
from workflow_runtime.engine import EventArrived, Succeeded


def event(number, name="paid", payload=None):
    return EventArrived(id=str(number), name=name, payload=payload)


def wait(name, **rest):
    return {"id": name, "type": "wait", **rest}


def test_a_wait_ends_at_its_time_and_says_which():
    driven = Driven(wait("w", duration="PT1M"), tool("a", depends_on=["w"]))
    assert driven.wait(59) == []
    assert driven.wait(1) == ["a"]
    assert driven.run.tasks["w"].result() == {"waited_until": "2026-01-01T00:01:00Z"}


def test_an_instant_that_is_past_when_it_is_known_is_done_at_once():
    driven = Driven(tool("a"), wait("w", until="${a.result}"))
    driven.done("a", "2025-01-01T00:00:00Z")
    assert driven.run.outcome.status == "Completed"


def test_an_instant_that_is_none_fails_the_task():
    driven = Driven(tool("a"), wait("w", until="${a.result}"))
    driven.done("a", "tomorrow")
    assert driven.run.outcome.error.code == "invalid_time"


def test_a_wait_longer_than_may_be_fails_the_task():
    driven = Driven(tool("a"), wait("w", until="${a.result}"), max_wait=timedelta(days=1))
    driven.done("a", "2026-02-01T00:00:00Z")
    assert driven.run.outcome.error.code == "wait_too_long"


def test_there_is_one_deadline_and_it_is_the_earliest():
    driven = Driven(wait("w", duration="PT2H"), wait("v", duration="PT1H"))
    assert driven.run.deadline == driven.now + timedelta(hours=1)


def test_an_event_ends_one_wait_for_its_name():
    driven = Driven(wait("v", event="paid"), wait("w", event="paid"), wait("x", event="sent"))
    driven.turn(event(1, payload=7))
    assert [driven.status_of(name) for name in "vwx"] == ["completed", "waiting", "waiting"]
    assert driven.run.tasks["v"].result() == 7


def test_an_early_event_is_kept_for_the_wait_that_comes():
    driven = Driven(tool("a"), wait("w", event="paid", depends_on=["a"]))
    driven.turn(event(1, payload="early"))
    driven.done("a")
    assert driven.run.tasks["w"].result() == "early"


def test_an_event_counts_once_however_often_it_is_delivered():
    driven = Driven(wait("v", event="paid"), wait("w", event="paid"))
    driven.turn(event(1), event(1))
    driven.turn(event(1))
    assert driven.run.outcome is None
    driven.turn(event(2))
    assert driven.finish().outcome.status == "Completed"


def test_an_event_that_does_not_come_fails_the_task_or_gives_null():
    driven = Driven(wait("w", event="paid", timeout="PT1H"))
    driven.wait(3600)
    assert driven.run.outcome.error.code == "event_timed_out"
    driven = Driven(wait("w", event="paid", timeout="PT1H", on_timeout="continue"))
    driven.wait(3600)
    assert driven.run.outcome.output == {"w": None}


def test_an_event_after_its_wait_timed_out_is_for_the_next_one():
    driven = Driven(
        wait("v", event="paid", timeout="PT1H", on_timeout="continue"),
        tool("a", depends_on=["v"]),
        wait("w", event="paid", depends_on=["a"]),
    )
    driven.wait(3600)
    driven.turn(event(1, payload="late"))
    driven.turn(Succeeded("a", 1))
    assert driven.run.tasks["w"].result() == "late"


def test_a_clock_that_goes_back_is_not_followed():
    driven = Driven(wait("w", duration="PT1H"))
    driven.wait(1800)
    driven.now -= timedelta(seconds=900)
    driven.turn(event(1))
    assert driven.run.deadline > driven.now
    driven.wait(2700)
    assert driven.run.outcome.status == "Completed"


def test_events_of_two_names_may_have_one_id():
    driven = Driven(
        {"id": "a", "type": "wait", "event": "paid"}, {"id": "b", "type": "wait", "event": "sent"}
    )
    for name in ("paid", "paid", "sent"):
        driven.turn(EventArrived(id="1", name=name, payload=name))
    assert driven.run.outcome.output == {"a": "paid", "b": "sent"}
