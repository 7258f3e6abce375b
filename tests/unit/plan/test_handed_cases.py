"""The faults of neighbouring systems that a check of the plan can rule out, one promise each."""

from __future__ import annotations

import json

import pytest

from workflow_runtime.plan.reading import Reader
from workflow_runtime.plan.templates import render

from .lab import FREE, checked, fetch, granted, only, problems, say, tool
from .scopes import PlainScope


def rendered(text, **values):
    """Render a template of a plan whose tasks have these views."""
    reader = Reader(frozenset(values))
    return render(reader.value(text), PlainScope(values))


def test_a_retry_of_a_number_is_answered_with_its_task_its_place_and_where_the_number_belongs():
    problem = only(fetch(retry=3)).to_json()
    assert (problem["task"], problem["path"]) == ("a", "/tasks/0/retry")
    for word in ("retry", "'a'", "max_attempts"):
        assert word in problem["message"]
    assert problem["fix"] == [
        {"op": "replace", "path": "/tasks/0/retry", "value": {"max_attempts": 3}}
    ]


def test_tasks_and_args_encoded_twice_reach_the_tool_as_they_were_meant():
    tasks = json.dumps([fetch(args=json.dumps({"q": 1}))])
    found = checked(tasks=tasks)
    assert found.plan is not None
    assert found.plan.to_json()["tasks"][0]["args"] == {"q": 1}


@pytest.mark.parametrize("tasks", ["soon", "{}", '"[]"', "[1"])
def test_tasks_that_are_another_string_are_named_as_one(tasks):
    problem = only(tasks=tasks)
    assert problem.code == "wrong_type"
    assert "must be an array" in problem.message
    assert "string" in problem.message or "object" in problem.message


def test_all_problems_come_in_one_reply_each_with_a_way_on():
    found = checked(
        fetch("a", tool="nope"),
        fetch("b", args={"x": "${zzz.result}"}),
        {"id": "w", "type": "wait", "duration": "soon"},
        fetch("a"),
    ).problems
    assert {p.code for p in found} == {
        "unknown_tool", "unknown_reference", "invalid_duration", "duplicate_id"
    }  # fmt: skip
    for problem in found:
        assert problem.fix or problem.expected
        assert problem.task
        assert problem.path


def test_arguments_are_checked_against_the_tools_schema_before_anything_runs():
    arguments = {
        "type": "object",
        "properties": {
            "service": {"type": "string"},
            "limit": {"type": "integer", "maximum": 100},
        },
        "required": ["service"],
        "additionalProperties": False,
    }
    grants = granted(tool("fetch_logs", arguments))
    call = {"id": "a", "tool": "fetch_logs", "args": {"svc": "pay", "limit": "500"}}
    found = checked(call, grants=grants).problems
    limit, name = found
    assert (name.code, name.path) == ("unknown_argument", "/tasks/0/args/svc")
    assert "did you mean 'service'?" in name.message
    assert (limit.code, limit.path) == ("invalid_argument", "/tasks/0/args/limit")
    assert "integer <= 100" in limit.message
    assert limit.fix is None  # 500 does not fit either


def test_a_doubled_dollar_is_a_literal_and_no_reference():
    text = "echo $${HOME} $${a.result}"
    assert not problems(say(text))
    assert rendered(text) == "echo ${HOME} ${a.result}"


def test_values_go_into_text_as_json_with_real_characters():
    value = {"name": 'Zoë "Z" 東京', "n": 3, "none": None}
    a = {"result": {"p": value}}
    assert rendered("${a.result.p}", a=a) == value
    assert rendered("${a.result.p.n}", a=a) == 3
    assert rendered("n=${a.result.p.n}", a=a) == "n=3"
    text = rendered("x=${a.result.p}", a=a)
    assert json.loads(text.removeprefix("x=")) == value
    assert "東京" in text
    assert "\\u" not in text


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("{{a.result}}", "${a.result}"),
        ("{{ a.result.items[0].id }}", "${a.result.items[0].id}"),
        ("${{ a.result }}", "${a.result}"),
        ("${a.output.items}", "${a.result.items}"),
        ("${tasks.a.result}", "${a.result}"),
        ("${a.result.items.-1.id}", "${a.result.items[-1].id}"),
        ("${a}", "${a.result}"),
        ("${A.result}", "${a.result}"),
    ],
)
def test_a_reference_in_another_dialect_is_answered_with_the_right_one(text, right):
    problem = only(fetch(), say(text))
    assert problem.fix == ({"op": "replace", "path": "/tasks/1/args/m", "value": right},)
    assert not problems(fetch(), say(right))


@pytest.mark.parametrize(
    "text", ["${ a.result }", "${a.result.items[0].id}", "${a.result.items.0.id}", "{{name}}", "$5"]
)
def test_what_can_be_read_is_accepted_as_it_is(text):
    assert not problems(fetch(), say(text))


def test_a_filter_of_jinja_is_refused_without_a_fix_that_would_change_its_meaning():
    problem = only(fetch(), say("{{ a.result | tojson }}"))
    assert problem.code == "template_dialect"
    assert problem.fix is None


def test_a_reference_to_a_task_that_may_be_skipped_is_accepted():
    when = {"ref": "${a.result.on}", "operator": "equals", "value": True}
    assert not problems(fetch(), fetch("b", when=when), say("${b.result.x}", depends_on=["b"]))


def test_a_failure_is_a_branch_of_the_plan():
    assert not problems(
        fetch(on_error="continue"),
        fetch("undo", when="a.status == 'failed'"),
        say("${a.error.code}", when="a.status != 'failed'"),
    )


@pytest.mark.parametrize(
    ("declared", "code"),
    [
        ({"type": "null"}, "invalid_for_each"),
        ({"type": "string"}, "invalid_for_each"),
        (None, None),
        ({"type": ["array", "null"]}, None),
        ({"type": "object"}, "invalid_for_each"),
    ],
)
def test_for_each_over_what_cannot_be_a_list_is_refused_where_the_tool_says_so(declared, code):
    grants = granted(tool("fetch", output=declared), tool("say"))
    found = problems(fetch(), say("${item}", for_each="${a.result}"), grants=grants)
    assert [one for one, _ in found] == ([code] if code else [])


def test_an_instant_in_the_past_is_refused_with_both_times():
    problem = only({"id": "w", "type": "wait", "until": "2020-01-01T00:00:00Z"})
    assert problem.code == "instant_in_the_past"
    assert "2020-01-01T00:00:00Z" in problem.message
    assert "2026-11-30T20:05:00Z" in problem.message


def test_inserted_text_is_never_scanned_again():
    for hostile in ("${b.result}", "$${x}", "{{b.result}}", "${", "}"):
        assert rendered("<${a.result}>", a={"result": hostile}, b={"result": "secret"}) == (
            f"<{hostile}>"
        )


def test_the_grants_of_the_cases_are_without_schemas_and_accept_anything():
    assert not problems(fetch(args={"any": {"thing": [1, None, "x"]}}), grants=FREE)
