"""What the caller brings along: used where the plan names no context or input of its own."""

from __future__ import annotations

from typing import Any

from tests.corpus.loading import NOW
from workflow_runtime.plan import check

from .lab import FREE, granted, say, tool


def found(task: Any, plan: Any = None, *, context: str | None = None, data: Any = None):
    checked = check({"tasks": [task]} | (plan or {}), FREE, NOW, context=context, data=data)
    return checked, [(problem.code, problem.path) for problem in checked.problems]


def test_input_is_checked_against_what_the_caller_brings():
    assert not found(say("${input.order.number}"), data={"order": {"number": 7}})[1]
    checked, problems = found(say("${input.order.numbr}"), data={"order": {"number": 7}})
    assert problems == [("impossible_reference", "/tasks/0/args/m")]
    assert checked.problems[0].fix == (
        {"op": "replace", "path": "/tasks/0/args/m", "value": "${input.order.number}"},
    )


def test_the_type_of_what_the_caller_brings_is_known_too():
    grants = granted(tool("take", {"properties": {"n": {"type": "integer"}}}))
    task = {"id": "t", "tool": "take", "args": {"n": "${input.n}"}}
    for value, code in ((3, None), ("three", "mismatched_reference")):
        problems = check({"tasks": [task]}, grants, NOW, data={"n": value}).problems
        assert [problem.code for problem in problems] == ([code] if code else [])


def test_a_plan_can_read_no_input_where_nobody_gives_any():
    assert found(say("${input.x}"))[1] == [("unknown_reference", "/tasks/0/args/m")]


def test_the_plans_own_input_and_context_win():
    own = {"input": {"x": 1}, "context": "mine"}
    checked, problems = found(say("${input.x}"), own, data={"y": 2}, context="theirs")
    assert not problems
    assert checked.plan is not None
    assert checked.plan.input == {"x": 1}
    assert checked.plan.context == "mine"
    assert found(say("${input.y}"), own, data={"y": 2})[1] == [
        ("impossible_reference", "/tasks/0/args/m")
    ]


def test_what_the_caller_brings_becomes_part_of_the_plan():
    checked, _ = found(say("${input.x}"), data={"x": 1}, context="theirs")
    assert checked.plan is not None
    assert (checked.plan.input, checked.plan.context) == ({"x": 1}, "theirs")


def test_a_null_in_the_plan_counts_as_left_out():
    checked, problems = found(say("${input.x}"), {"input": None}, data={"x": 1})
    assert not problems
    assert checked.plan is not None
    assert checked.plan.input == {"x": 1}


def test_problems_point_into_what_was_sent_and_not_into_what_was_brought():
    checked, _ = found(say("x"), {"nmae": "n"}, data={"x": 1})
    assert checked.decoded == {"tasks": [say("x")], "nmae": "n"}


def test_nothing_in_the_data_is_a_template():
    assert not found(say("x"), data={"x": "${nobody.result}"}, context="about ${HOME}")[1]
