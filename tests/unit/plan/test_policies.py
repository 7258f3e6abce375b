"""Retries and time-outs: what is accepted, what is put right, what is refused."""

from __future__ import annotations

from datetime import timedelta

import pytest

from workflow_runtime.plan.model import ToolTask
from workflow_runtime.plan.policies import RetryPolicy

from .lab import approval, checked, fetch, granted, mended, only, problems, small, tool, wait

CHECK = {
    "type": "object",
    "properties": {"passed": {"type": "boolean"}, "n": {"type": "integer"}},
    "additionalProperties": False,
}
DECLARED = granted(tool("fetch", output=CHECK), tool("say"))
AGENT = {"id": "a", "agent": "writer", "task": "x"}


def retried(**retry):
    return fetch(retry=retry)


# --- retry -------------------------------------------------------------------------------------


def test_a_retry_is_read_with_its_defaults():
    plan = checked(retried(max_attempts=5, until="result.passed")).plan
    assert plan is not None
    (task,) = plan.tasks
    assert isinstance(task, ToolTask)
    assert task.retry is not None
    assert task.retry.max_attempts == 5
    assert (task.retry.initial, task.retry.max) == (timedelta(seconds=1), timedelta(minutes=1))
    assert task.retry.multiplier == 2


def test_a_first_pause_longer_than_the_default_longest_is_kept():
    policy = RetryPolicy.from_json({"initial": "PT5M"})
    assert policy.delay_after(1) == policy.delay_after(4) == timedelta(minutes=5)
    assert RetryPolicy.from_json({"initial": "PT5M", "max": "PT1M"}).max == timedelta(minutes=1)


def test_a_field_of_a_retry_that_is_null_counts_as_left_out():
    plan = checked(retried(max_attempts=None, initial=None, multiplier=None, until=None)).plan
    assert plan is not None
    assert plan.tasks[0].retry == RetryPolicy()  # type: ignore[union-attr]


@pytest.mark.parametrize(("given", "attempts"), [(3, 3), (1, 1), (10, 10), (True, 3)])
def test_a_number_of_retries_is_put_where_it_belongs(given, attempts):
    problem = only(fetch(retry=given))
    assert "max_attempts" in problem.message
    assert problem.task == "a"
    assert problem.fix == (
        {"op": "replace", "path": "/tasks/0/retry", "value": {"max_attempts": attempts}},
    )


@pytest.mark.parametrize("given", [0, 11, -1, 2.5, "often", [], False])
def test_a_retry_that_says_nothing_certain_is_refused_with_its_shape(given):
    problem = only(fetch(retry=given))
    assert (problem.code, problem.path, problem.fix) == ("wrong_type", "/tasks/0/retry", None)
    assert "max_attempts" in (problem.expected or "")


@pytest.mark.parametrize(
    ("word", "right", "value"),
    [
        ("attempts", "max_attempts", 3),
        ("max_retries", "max_attempts", 3),
        ("maxAttempts", "max_attempts", 3),
        ("backoff", "initial", "PT2S"),
        ("delay", "initial", "PT2S"),
        ("initial_interval", "initial", "PT2S"),
        ("backoff_coefficient", "multiplier", 2),
        ("factor", "multiplier", 2),
        ("max_interval", "max", "PT1M"),
        ("max_delay", "max", "PT1M"),
        ("condition", "until", "result.passed"),
    ],
)
def test_the_words_of_other_systems_are_renamed(word, right, value):
    task = retried(**{word: value})
    found = mended(only(task), task)
    assert found.plan is not None
    assert found.plan.to_json()["tasks"][0]["retry"] == {right: value}


def test_two_words_for_one_field_of_a_retry_do_not_both_become_it():
    found = checked(retried(attempts=3, max_retries=4)).problems
    assert [problem.fix is not None for problem in found] == [True, False]


@pytest.mark.parametrize(
    ("fields", "value"),
    [
        ({"max_attempts": "5"}, 5),
        ({"max_attempts": 100}, 10),
        ({"initial": "10s"}, "PT10S"),
        ({"max": 60}, "PT60S"),
    ],
)
def test_a_value_of_a_retry_that_is_certain_is_put_right(fields, value):
    (name,) = fields
    problem = only(retried(**fields))
    assert problem.fix == ({"op": "replace", "path": f"/tasks/0/retry/{name}", "value": value},)


@pytest.mark.parametrize(
    "fields",
    [
        {"max_attempts": 0},
        {"max_attempts": True},
        {"multiplier": 0.5},
        {"multiplier": 101},
        {"multiplier": "2"},
        {"initial": "soon"},
    ],
)
def test_a_value_of_a_retry_out_of_bounds_is_refused(fields):
    problem = only(retried(**fields))
    assert problem.path == f"/tasks/0/retry/{next(iter(fields))}"
    assert problem.fix is None
    assert problem.expected


def test_a_tool_that_acts_once_is_never_retried():
    grants = granted(tool("fetch", side_effects="once"))
    task = fetch(retry={"max_attempts": 3})
    problem = only(task, grants=grants)
    assert problem.code == "retry_not_possible"
    assert mended(problem, task, grants=grants).plan is not None


@pytest.mark.parametrize("task", [wait(duration="PT1S"), approval()])
def test_what_is_no_attempt_has_no_retry(task):
    assert problems(task | {"retry": {"max_attempts": 2}}) == [("unknown_field", "/tasks/0/retry")]


# --- until -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "until",
    ["result.passed", "result.passed == true", "result.n > 3 and not result.passed", "result.x"],
)
def test_until_is_a_condition_over_the_result(until):
    assert not problems(retried(until=until))


@pytest.mark.parametrize(
    ("until", "right"),
    [
        ("${result.passed}", "result.passed"),
        ("${result.passed} == true", "result.passed == true"),
        ("a.result.passed == true", "result.passed == true"),
        ("${a.result.passed}", "result.passed"),
        ("passed == true", "result.passed == true"),
        ("n > 3 and passed", "result.n > 3 and result.passed"),
        ("result.pased", "result.passed"),
        ("result.passed = true", "result.passed == true"),
    ],
)
def test_until_in_other_words_is_put_right_where_it_is_certain(until, right):
    problem = only(retried(until=until), grants=DECLARED)
    assert problem.fix == ({"op": "replace", "path": "/tasks/0/retry/until", "value": right},)
    assert not problems(retried(until=right), grants=DECLARED)


@pytest.mark.parametrize(
    "until", ["b.result.ok", "input.x == 1", "item.x", "status == 'ok'", "", "result.n", 3, True]
)
def test_until_over_anything_else_is_refused(until):
    found = only(retried(until=until), fetch("b"), grants=DECLARED)
    assert found.path == "/tasks/0/retry/until"
    assert found.fix is None
    assert found.expected


def test_until_looks_at_each_item_of_a_for_each():
    each = {"for_each": [1, 2]}
    assert not problems(retried(until="result.passed") | each, grants=DECLARED)
    assert problems(retried(until="result[0].passed") | each, grants=DECLARED) == [
        ("impossible_reference", "/tasks/0/retry/until")
    ]


def test_until_over_a_sub_agent_looks_at_its_text():
    assert not problems(AGENT | {"retry": {"until": "contains(result, 'DONE')"}})
    assert only(AGENT | {"retry": {"until": "result"}}).code == "invalid_condition"


# --- timeout -----------------------------------------------------------------------------------


@pytest.mark.parametrize("task", [fetch(), AGENT, approval(), wait(event="x")])
def test_a_timeout_is_a_duration(task):
    assert not problems(task | {"timeout": "PT20S"})
    problem = only(task | {"timeout": "20s"})
    assert problem.fix == ({"op": "replace", "path": "/tasks/0/timeout", "value": "PT20S"},)


def test_an_attempt_may_last_as_long_as_the_host_lets_it():
    assert not problems(fetch(timeout="P1D"))
    grants = small(max_timeout=timedelta(minutes=9))
    assert not problems(fetch(timeout="PT9M"), approval(timeout="P1D"), grants=grants)
    problem = only(fetch(timeout="PT10M"), grants=grants)
    assert (problem.code, problem.path) == ("timeout_too_long", "/tasks/0/timeout")
    assert "PT9M" in problem.message


@pytest.mark.parametrize("task", [approval(), wait(event="x")])
def test_a_person_or_an_event_is_awaited_as_long_as_a_wait_may_last(task):
    grants = small(max_wait=timedelta(days=2))
    assert not problems(task | {"timeout": "P2D"}, grants=grants)
    assert problems(task | {"timeout": "P3D"}, grants=grants) == [
        ("timeout_too_long", "/tasks/0/timeout")
    ]


# --- words of the preview ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (
            {"retry": {"max_attempts": 3}, "timeout": "PT30S", "continue_on_error": True},
            {"retry": {"max_attempts": 3}, "timeout": "PT30S", "on_error": "continue"},
        ),
        ({"retry": 3, "timeout": 30}, {"retry": {"max_attempts": 3}, "timeout": "PT30S"}),
        ({"continue_on_error": False}, {}),
        ({}, {}),
    ],
)
def test_the_previews_execution_object_is_answered_with_the_exact_rewrite(given, meant):
    task = fetch(execution=given)
    found = mended(only(task), task)
    assert found.plan is not None
    assert found.plan.to_json()["tasks"] == [fetch(type="tool") | meant]


def test_continue_on_error_alone_is_rewritten_too():
    task = fetch(continue_on_error=True)
    found = mended(only(task), task)
    assert found.plan is not None
    assert found.plan.to_json()["tasks"] == [fetch(type="tool", on_error="continue")]


def test_what_a_task_says_itself_is_not_overwritten_by_the_previews_words():
    task = fetch(timeout="PT5S", execution={"timeout": "PT9S"})
    found = mended(only(task), task)
    assert found.plan is not None
    assert found.plan.to_json()["tasks"][0]["timeout"] == "PT5S"
