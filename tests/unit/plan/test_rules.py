"""Each rule a plan must obey, by what it promises."""

from __future__ import annotations

from typing import Any

import pytest

from tests.corpus.loading import NOW
from workflow_runtime.plan import check

from .lab import FREE, checked, fetch, granted, mended, only, problems, say, small, tool, wait

# --- what is sent ------------------------------------------------------------------------------


@pytest.mark.parametrize("sent", [None, 7, [], [1], True, b"{}", object(), {1, 2}])
def test_what_is_no_object_is_one_problem(sent):
    (problem,) = check(sent, FREE, NOW).problems
    assert problem.code in {"not_an_object", "not_json"}


@pytest.mark.parametrize(
    ("sent", "path", "where"),
    [
        ('{"tasks": [{"id": "a" "tool": "x"}]}', "", "',' delimiter: line 1 column 23"),
        ('{"tasks": [', "", "Expecting value: line 1 column 12"),
        ({"tasks": '[{"id": "a"'}, "/tasks", "',' delimiter: line 1 column 12"),
    ],
)
def test_broken_json_is_told_with_the_place_where_it_breaks(sent, path, where):
    (problem,) = check(sent, FREE, NOW).problems
    assert problem.path == path
    assert where in problem.message


def test_a_plan_with_a_number_that_is_not_json_is_refused_with_its_place():
    assert problems(say(float("nan"))) == [("not_json", "/tasks/0/args/m")]


def test_a_plan_nested_too_deeply_is_refused():
    value: list = []
    for _ in range(40):
        value = [value]
    assert problems(say(value)) == [("too_deep", "")]


@pytest.mark.parametrize("sent", ["x" * 300_000, '{"tasks":"' + "x" * 300_000 + '"}'])
def test_a_plan_too_large_is_refused_before_it_is_read(sent):
    (problem,) = check(sent, FREE, NOW).problems
    assert problem.code == "too_large"


def test_a_plan_too_large_is_refused_as_an_object_too():
    assert problems(say("ü" * 140_000)) == [("too_large", "")]


def test_bad_input_is_never_echoed_whole():
    secret = "s3cret" * 100
    for problem in checked(fetch(tool=secret), {secret: 1}, say(f"${{{secret}}}")).problems:
        assert len(str(problem.to_json()["message"])) <= 400


# --- fields ------------------------------------------------------------------------------------


def test_an_unknown_field_names_the_task_and_what_fields_there_are():
    problem = only(fetch(colour="red"))
    assert (problem.code, problem.path, problem.task) == ("unknown_field", "/tasks/0/colour", "a")
    assert "for_each" in (problem.expected or "")


def test_a_field_of_another_type_says_whose_it_is():
    assert "wait" in only(fetch(duration="PT1S", args={})).message


def test_two_words_for_one_field_do_not_both_become_it():
    found = checked(fetch(needs=["b"], after=["b"]), fetch("b"))
    assert [p.fix is not None for p in found.problems] == [True, False]


def test_a_field_that_is_null_counts_as_left_out():
    assert not problems(fetch(args=None, on_error=None, when=None, for_each=None), name=None)
    assert problems(wait(duration=None, until=None)) == [("invalid_wait", "/tasks/0")]


def test_a_task_whose_type_is_wrong_is_told_only_that():
    assert problems({"id": "t", "type": "tool", "agent": "writer", "task": "x"}) == [
        ("wrong_value", "/tasks/0/type")
    ]


def test_fields_of_two_types_without_a_type_are_refused():
    assert only({"id": "t", "tool": "fetch", "agent": "writer"}).code == "wrong_value"


def test_the_limit_of_a_name_is_120_characters():
    assert not problems(fetch(), name="x" * 120)
    assert problems(fetch(), name="x" * 121) == [("wrong_value", "/name")]


# --- ids and order -----------------------------------------------------------------------------


@pytest.mark.parametrize("word", ["input", "context", "item", "index", "output", "true", "NULL"])
def test_a_reserved_word_is_no_id(word):
    assert only(fetch(word)).code == "reserved_id"


@pytest.mark.parametrize("name", ["", "1a", "a-b", "a b", "ä", "x" * 65])
def test_an_id_of_other_characters_gets_one_that_is_valid(name):
    problem = only(fetch(name))
    assert problem.code == "invalid_id"
    assert problem.fix is not None
    assert not problems(fetch(problem.fix[0]["value"]))


def test_ids_that_differ_in_case_only_are_the_same():
    assert problems(fetch("A"), fetch("a")) == [("duplicate_id", "/tasks/1/id")]


def test_a_cycle_is_named_from_start_to_start():
    found = only(
        fetch("a", depends_on=["c"]),
        fetch("b", args={"x": "${a.result}"}),
        fetch("c", when="b.result.ok"),
    )
    assert found.code == "cycle"
    assert "a -> c -> b -> a" in found.message


def test_every_cycle_is_reported():
    codes = problems(
        fetch("a", depends_on=["b"]), fetch("b", depends_on=["a"]), fetch("c", depends_on=["c"])
    )
    assert [code for code, _ in codes] == ["cycle", "cycle"]


# --- tools and agents --------------------------------------------------------------------------


def test_a_tool_that_failed_to_load_is_told_with_the_reason():
    grants = granted(tool("fetch"), unloaded={"probe": "line 3: no module"})
    problem = only(fetch(tool="probe"), grants=grants)
    assert problem.code == "tool_failed_to_load"
    assert "line 3: no module" in problem.message


def test_an_agent_named_as_a_tool_is_told_apart():
    assert "sub-agent" in only(fetch(tool="writer")).message


# --- references --------------------------------------------------------------------------------


def test_item_has_no_value_in_the_for_each_that_makes_it():
    assert only(fetch(), say("${item}", for_each="${item.rows}")).code == "item_outside_for_each"


def test_item_has_no_value_in_the_output():
    assert problems(fetch(), output="${item}") == [("item_outside_for_each", "/output")]


def test_input_has_fields_only_where_the_plan_gives_them():
    assert only(say("${input.x}")).code == "unknown_reference"
    assert not problems(say("${input.x}"), input={"x": 1})
    assert only(say("${input.y}"), input={"x": 1}).code == "impossible_reference"


def test_all_references_of_one_text_are_put_right_at_once():
    found = checked(fetch("logs"), say("${log.result} and ${logs} and ${logs.output}"))
    fixes = {problem.fix[0]["value"] for problem in found.problems if problem.fix}
    assert fixes == {"${logs.result} and ${logs.result} and ${logs.result}"}


def test_a_reference_in_an_object_key_is_refused():
    assert problems(fetch(), say({"${a.result}": 1})) == [
        ("template_in_key", "/tasks/1/args/m/${a.result}")
    ]


@pytest.mark.parametrize("field", ["name", "context"])
def test_a_reference_where_text_is_fixed_is_refused(field):
    def about(text):
        given: Any = {field: text}
        return problems(fetch(), **given)

    assert about("about ${a.result}") == [("template_not_allowed", f"/{field}")]
    assert not about("about ${HOME}")


@pytest.mark.parametrize("text", ["${x}", "${a.result}", "${", "PT${n}S"])
def test_a_duration_takes_no_reference_whatever_it_names(text):
    assert problems(fetch(), wait(duration=text)) == [("template_not_allowed", "/tasks/1/duration")]


# --- conditions and collections ----------------------------------------------------------------


@pytest.mark.parametrize("when", [True, 1, [], "", "a.result ==", "'x"])
def test_what_is_no_condition_is_refused(when):
    assert problems(fetch(), say("x", when=when))[0][1].startswith("/tasks/1/when")


def test_a_condition_that_cannot_be_true_or_false_is_refused():
    grants = granted(tool("fetch", output={"type": "integer"}), tool("say"))
    assert only(fetch(), say("x", when="a.result"), grants=grants).code == "invalid_condition"
    assert not problems(fetch(), say("x", when="a.result > 3"), grants=grants)


def test_each_operator_of_a_condition_but_two_is_refused():
    def when(operator):
        return say("x", when={"ref": "${a.result}", "operator": operator, "value": 1})

    assert not problems(fetch(), when("not_equals"))
    assert only(fetch(), when("!=")).fix == (
        {"op": "replace", "path": "/tasks/1/when/operator", "value": "not_equals"},
    )
    assert only(fetch(), when(">")).fix is None


@pytest.mark.parametrize("each", ["x ${a.result}", "text", 3, {"a": 1}])
def test_for_each_is_one_reference_or_an_array(each):
    assert only(fetch(), say("${item}", for_each=each)).code == "invalid_for_each"


# --- what models send --------------------------------------------------------------------------


def test_a_field_that_is_null_is_not_there():
    nothing = dict.fromkeys(("duration", "agent", "message", "until", "for_each", "colour"))
    assert problems(fetch() | nothing, {"id": "w", "duration": "PT1S", "tool": None}) == []


@pytest.mark.parametrize("key", ["01", "4815162342", "007.x"])
def test_a_key_of_digits_is_read_as_it_is_written(key):
    text = f"${{input.m.{key}}}"
    assert problems(say(text), input={"m": {"01": 1, "4815162342": 2, "007": {"x": 3}}}) == []


def test_a_text_that_a_task_is_called_like_is_put_into_single_quotes():
    gate = fetch("b", when='a.result.kind == "a"')
    problem = only(fetch("a"), gate)
    assert problem.fix == (
        {"op": "replace", "path": "/tasks/1/when", "value": "a.result.kind == 'a'"},
    )
    assert mended(problem, fetch("a"), gate).plan is not None


def test_an_array_that_is_written_as_text_is_read_as_one():
    each = say("${item}", for_each='["logs", "metrics"]')
    problem = only(fetch("logs"), each)
    assert problem.fix is not None
    assert problem.fix[0]["value"] == ["logs", "metrics"]


@pytest.mark.parametrize(
    ("limits", "code"), [({"max_items": 2}, "too_many_items"), ({"max_agent_runs": 2}, None)]
)
def test_a_list_in_the_plans_input_is_counted_before_the_run(limits, code):
    each = {"id": "a", "agent": "writer", "task": "${item}", "for_each": "${input.l}"}
    (found,) = problems(each, grants=small(**limits), input={"l": [1, 2, 3]})
    assert found[0] == (code or "too_many_agent_runs")


def test_of_very_many_problems_the_first_hundred_are_told():
    tasks = [say("${nothing.result}", id=f"t{n}") for n in range(200)]
    found = checked(*tasks).problems
    assert len(found) == 100
    assert {problem.code for problem in found} == {"unknown_reference"}


@pytest.mark.parametrize(
    ("given", "right"),
    [
        ("a.status == 'success'", "a.status == 'completed'"),
        ('a.status != "error"', 'a.status != "failed"'),
        ("a.status == 'completd' && a.result.x", "a.status == 'completed' && a.result.x"),
        ("a.status == 'purple'", None),
    ],
)
def test_a_status_that_no_finished_task_has_is_put_right(given, right):
    problem = only(fetch("a"), fetch("b", when=given))
    assert problem.code == "invalid_condition"
    assert (problem.fix or ({"value": None},))[0]["value"] == right
