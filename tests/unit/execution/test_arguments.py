"""What a tool's author and a model are told when resolved arguments do not fit."""

import pytest

from workflow_runtime.execution import InvalidArgumentsError
from workflow_runtime.execution.arguments import ArgumentsCheck

FETCH_LOGS = {
    "type": "object",
    "properties": {
        "service": {"type": "string"},
        "limit": {"type": "integer", "maximum": 100},
        "level": {"enum": ["info", "error"]},
        "since": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["service"],
    "additionalProperties": False,
}


def refused(arguments, schema=FETCH_LOGS):
    with pytest.raises(InvalidArgumentsError) as caught:
        ArgumentsCheck(schema)(arguments)
    return str(caught.value)


def test_arguments_that_fit_pass():
    ArgumentsCheck(FETCH_LOGS)({"service": "pay", "limit": 3.0, "since": None})


def test_all_problems_are_told_at_once():
    text = refused({"svc": "pay", "limit": "500"})
    assert "/service: wanted a string, found nothing (it is required)" in text
    assert "/svc: unknown argument; did you mean 'service'?" in text
    assert "/limit: wanted an integer at most 100, found a string of length 3" in text


def test_a_path_leads_to_the_item():
    assert "/tags/1: wanted a string, found an integer 2" in refused(
        {"service": "pay", "tags": ["a", 2]}
    )


def test_a_choice_names_what_it_takes():
    text = refused({"service": "pay", "level": "warn", "since": 3})
    assert "/level: wanted one of 'info', 'error', found a string of length 4" in text
    assert "/since: wanted a string or null, found an integer 3" in text


def test_an_optional_object_is_looked_into():
    window = {"type": "object", "properties": {"days": {"type": "integer"}}, "required": ["days"]}
    schema = {"type": "object", "properties": {"window": {"anyOf": [window, {"type": "null"}]}}}
    assert "/window/days: wanted an integer, found a string" in refused(
        {"window": {"days": "x"}}, schema
    )


def test_a_huge_or_secret_value_is_never_repeated():
    text = refused({"service": ["hunter2" * 100_000], "x" * 100_000: 1, "limit": 10**400})
    assert "hunter2" not in text
    assert len(text) < 2_000


def test_more_than_five_problems_are_counted():
    assert "and 5 more" in refused({"service": "a", **{f"zz{i}": 1 for i in range(10)}})


@pytest.mark.parametrize("arguments", [None, [], "text", 3, True])
def test_arguments_that_are_no_object_are_refused(arguments):
    assert "the arguments must be an object" in refused(arguments, None)


def test_true_is_not_an_integer():
    assert "found a boolean" in refused({"service": "pay", "limit": True})


def test_a_reference_out_of_the_schema_is_never_fetched():
    with pytest.raises(Exception, match="Unresolvable"):
        ArgumentsCheck({"$ref": "http://127.0.0.1:1/schema.json"})({})
