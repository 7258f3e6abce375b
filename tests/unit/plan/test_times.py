"""Waits, instants and limits, by what each promises."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.corpus.loading import NOW

from .lab import checked, fetch, granted, mended, only, problems, small, tool, wait

# --- time --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "right"),
    [
        ("30s", "PT30S"),
        (30, "PT30S"),
        (1.5, "PT1.5S"),
        ("5 minutes", "PT5M"),
        ("pt5m", "PT5M"),
        ("2h", "PT2H"),
        ("1 day", "P1D"),
        ("2w", "P2W"),
        (" PT1S ", "PT1S"),
    ],
)
def test_a_duration_in_other_words_is_put_right(given, right):
    problem = only(wait(duration=given))
    assert problem.code == "invalid_duration"
    assert problem.fix == ({"op": "replace", "path": "/tasks/0/duration", "value": right},)


@pytest.mark.parametrize(
    "given",
    [
        "",
        "soon",
        "P",
        "PT",
        "P1Y",
        "P1M",
        "PT0S",
        "PT-1S",
        "PT1.5M1S",
        "P1W1D",
        "PT٣S",
        "P1DT",
        0,
        -1,
        True,
        "9" * 30,
        "PT" + "9" * 20 + "S",
        [],
        {},
        1e308,
    ],
)
def test_a_duration_that_says_nothing_certain_is_refused(given):
    (problem, *_) = checked(wait(duration=given)).problems
    assert problem.code in {"invalid_duration", "not_json", "wait_too_long"}
    assert problem.fix is None


def test_an_instant_is_tolerated_a_minute_late():
    def at(moment):
        return problems(wait(until=moment.isoformat()))

    assert not at(NOW - timedelta(seconds=60))
    assert at(NOW - timedelta(seconds=61)) == [("instant_in_the_past", "/tasks/0/until")]


@pytest.mark.parametrize(
    "text", ["2026-12-01T06:30:00z", "2026-12-01t06:30:00.25+01:00", "2026-12-01 06:30:00Z"]
)
def test_an_instant_is_rfc_3339_in_any_case(text):
    assert not problems(wait(until=text))


@pytest.mark.parametrize(
    "text", ["2026-12-01", "2026-02-30T00:00:00Z", "0001-01-01T00:00:00+23:59", "tomorrow", "06:30"]
)
def test_another_instant_is_refused_with_the_time_it_is_now(text):
    problem = only(wait(until=text))
    assert problem.code == "invalid_instant"
    assert "2026-11-30T20:05:00Z" in problem.message


def test_an_instant_that_a_reference_cannot_give_is_refused():
    grants = granted(tool("fetch", output={"type": "integer"}))
    assert problems(fetch(), wait(until="${a.result}"), grants=grants) == [
        ("mismatched_reference", "/tasks/1/until")
    ]


# --- limits ------------------------------------------------------------------------------------


def test_what_can_be_counted_is_refused_before_the_run():
    agents = {"id": "g", "agent": "writer", "task": "x", "for_each": [1, 2, 3]}
    assert problems(fetch(), fetch("b"), grants=small(max_tasks=1)) == [
        ("too_many_tasks", "/tasks")
    ]
    assert problems(agents, grants=small(max_agent_runs=2)) == [("too_many_agent_runs", "/tasks")]
    assert problems(agents, grants=small(max_items=2)) == [("too_many_items", "/tasks/0/for_each")]
    assert problems(wait(duration="P2D"), grants=small(max_wait=timedelta(days=1))) == [
        ("wait_too_long", "/tasks/0/duration")
    ]
    assert problems(wait(until="2026-12-30T00:00:00Z"), grants=small(max_wait=timedelta(1))) == [
        ("wait_too_long", "/tasks/0/until")
    ]


# --- events ------------------------------------------------------------------------------------


def test_a_wait_for_an_event_may_have_a_deadline_and_go_on_after_it():
    assert not problems(wait(event="deploy-finished:checkout"))
    assert not problems(wait(event="done", timeout="PT2H", on_timeout="continue"))


@pytest.mark.parametrize("text", ["event:done:web", "event: done:web", "EVENT done:web"])
def test_an_event_put_into_until_is_moved_to_where_it_belongs(text):
    task = wait(until=text)
    found = mended(only(task), task)
    assert found.plan is not None
    assert found.plan.to_json()["tasks"] == [wait(event="done:web")]


def test_a_name_in_until_beside_a_timeout_is_that_of_an_event():
    task = wait(until="deploy-finished", timeout="PT2H")
    assert mended(only(task), task).plan is not None
    assert only(wait(until="deploy-finished")).fix is None  # it may be anything


@pytest.mark.parametrize(
    "fields",
    [
        {"duration": "PT1S", "event": "x"},
        {"duration": "PT1S", "until": "2026-12-01T00:00:00Z"},
        {"until": "2026-12-01T00:00:00Z", "event": "x"},
    ],
)
def test_a_wait_for_two_things_is_refused(fields):
    assert problems(wait(**fields)) == [("invalid_wait", "/tasks/0")]


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("", "wrong_value"),
        ("x" * 101, "wrong_value"),
        ("deploy-${a.result}", "template_not_allowed"),
        (3, "wrong_type"),
    ],
)
def test_the_name_of_an_event_is_short_fixed_text(name, code):
    assert problems(fetch(), wait(event=name)) == [(code, "/tasks/1/event")]


@pytest.mark.parametrize(
    ("given", "right"),
    [("ignore", "continue"), ("abort", "fail"), ("Continue", "continue"), ("later", None)],
)
def test_on_timeout_is_fail_or_continue(given, right):
    problem = only(wait(event="x", on_timeout=given))
    assert (problem.code, problem.path) == ("wrong_value", "/tasks/0/on_timeout")
    assert (problem.fix[0]["value"] if problem.fix else None) == right


@pytest.mark.parametrize("field", [{"timeout": "PT1M"}, {"on_timeout": "continue"}])
@pytest.mark.parametrize("kind", [{"duration": "PT1S"}, {"until": "2026-12-01T00:00:00Z"}])
def test_only_a_wait_for_an_event_has_a_deadline(kind, field):
    task = wait(**kind, **field)
    problem = only(task)
    assert (problem.code, problem.path) == ("unknown_field", f"/tasks/0/{next(iter(field))}")
    assert mended(problem, task).plan is not None


def test_what_an_event_brings_is_anything():
    assert not problems(wait(event="x"), fetch(args={"m": "${w.result.build.id}"}))
    assert problems(wait(duration="PT1S"), fetch(args={"m": "${w.result.build}"})) == [
        ("impossible_reference", "/tasks/1/args/m")
    ]
