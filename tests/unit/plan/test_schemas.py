"""What a tool's schemas say before the run: conflicts that are sure, and doubts that are not."""

from __future__ import annotations

import pytest

from tests.strategies import BOOLEAN, INTEGER, ROW, STRING, closed
from workflow_runtime.plan.fitting import conflict
from workflow_runtime.plan.schemas import schema_of
from workflow_runtime.plan.validation import errors
from workflow_runtime.plan.walking import walk

from .lab import fetch, granted, only, problems, tool


def array(items):
    return {"type": "array", "items": items}


def nullable(schema):
    return {"anyOf": [schema, {"type": "null"}]}


def optional(**properties):
    return {**closed(**properties), "required": []}


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (STRING, INTEGER),
        (BOOLEAN, STRING),
        (array(STRING), STRING),
        (array(INTEGER), array(STRING)),
        (array(array(INTEGER)), array(array(STRING))),
        (nullable(INTEGER), STRING),
        (INTEGER, nullable(STRING)),
        (nullable(array(INTEGER)), nullable(array(STRING))),
        ({"anyOf": [STRING, BOOLEAN]}, {"anyOf": [INTEGER, array(STRING)]}),
        ({"enum": ["a", "b"]}, {"enum": ["c"]}),
        ({"const": 1}, {"enum": ["1"]}),
        (closed(id=STRING), closed(id=INTEGER)),
        (closed(id=STRING), closed(id=STRING, name=STRING)),
        (closed(id=STRING, more=STRING), closed(id=STRING)),
        (closed(row=closed(id=STRING)), closed(row=closed(id=INTEGER))),
        (array(closed(id=STRING)), array(ROW)),
        ({"type": ["string", "null"]}, INTEGER),
    ],
)
def test_what_can_never_fit_is_a_conflict(given, wanted):
    assert conflict(given, wanted)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (INTEGER, {"type": "number"}),
        ({"type": "number"}, INTEGER),
        ({}, STRING),
        (STRING, {}),
        (nullable(STRING), STRING),
        ({"type": "null"}, STRING),
        (STRING, {"enum": ["a"]}),
        ({"enum": ["a", 1]}, STRING),
        ({"enum": ["a", "b"]}, {"enum": ["b", "c"]}),
        ({"anyOf": [STRING, BOOLEAN]}, BOOLEAN),
        (array({}), array(STRING)),
        (array(STRING), {"type": "array"}),
        (ROW, ROW),
        (ROW, {"type": "object"}),
        (optional(id=STRING), closed(id=INTEGER) | {"required": []}),
        ({"type": "object"}, closed(id=STRING)),
        (closed(id=nullable(STRING)), closed(id=STRING)),
        ({"$ref": "#/$defs/X"}, STRING),
        ({"allOf": [INTEGER]}, STRING),
        ({"type": "array", "prefixItems": [INTEGER]}, array(STRING)),
        (closed(x={"type": "object"}), closed(x=True)),
    ],
)
def test_what_may_fit_is_none(given, wanted):
    assert conflict(given, wanted) is None


def test_a_path_is_followed_through_objects_arrays_and_branches():
    schema = nullable(closed(rows=array(nullable(ROW))))
    assert walk(schema, ("rows", 0, "id")) == INTEGER
    assert "there are id, name" in str(walk(schema, ("rows", 3, "nmae")))
    assert "array" in str(walk(schema, ("rows", "id")))


@pytest.mark.parametrize(
    "schema", [{}, {"type": "object"}, {"$ref": "#"}, {"type": "object", "properties": {"y": {}}}]
)
def test_what_a_schema_leaves_open_stays_possible(schema):
    assert walk(schema, ("x", "y")) == {}


def test_a_schema_of_a_literal_is_closed_but_for_its_templates():
    schema = schema_of([{"n": 1, "t": "${a.result}"}], is_open=lambda text: "${" in text)
    assert walk(schema, (0, "n")) == INTEGER
    assert walk(schema, (0, "t", "x")) == {}
    assert "there are n, t" in str(walk(schema, (0, "z")))


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "nonsense"},
        {"$ref": "https://example.org/x"},
        {"$ref": "#"},
        {"pattern": "("},
        {"properties": {"x": True}, "required": ["x"]},
    ],
)
def test_a_schema_that_is_none_finds_nothing_and_fetches_nothing(schema):
    assert errors(schema, {"x": 1}, {}) == []
    assert errors(schema, "x", {}) == []


# --- through a plan ----------------------------------------------------------------------------

MAKE = tool("fetch", output=closed(rows=array(ROW), n=INTEGER, maybe=nullable(STRING), any={}))
TAKE = tool(
    "take",
    closed(rows=array(ROW), nested=closed(list=array(closed(n=STRING))), colour={"enum": ["red"]})
    | {"required": []},
)
GRANTS = granted(MAKE, TAKE)


def take(**args):
    return {"id": "t", "tool": "take", "args": args}


def test_a_conflict_deep_inside_the_arguments_is_found_at_its_place():
    nested = {"list": [{"n": "x"}, {"n": "${a.result.n}"}]}
    problem = only(fetch(), take(nested=nested), grants=GRANTS)
    assert (problem.code, problem.path) == (
        "mismatched_reference",
        "/tasks/1/args/nested/list/1/n",
    )


def test_an_item_has_the_type_of_the_elements_of_its_list():
    def each(reference):
        task = take(nested={"list": [{"n": reference}]}) | {"for_each": "${a.result.rows}"}
        return problems(fetch(), task, grants=GRANTS)

    assert not each("${item.name}")
    assert each("${item.id}") == [("mismatched_reference", "/tasks/1/args/nested/list/0/n")]
    assert each("${item.nmae}") == [("impossible_reference", "/tasks/1/args/nested/list/0/n")]


def test_the_result_of_a_for_each_is_a_list():
    each = fetch("b", for_each="${a.result.rows}")
    assert problems(fetch(), each, take(rows="${b.result}"), grants=GRANTS) == [
        ("mismatched_reference", "/tasks/2/args/rows")
    ]
    assert not problems(fetch(), each, take(rows="${b.result[0].rows}"), grants=GRANTS)
    assert not problems(fetch(), each, take(rows="${b.items[0].result.rows}"), grants=GRANTS)


@pytest.mark.parametrize(
    "reference", ["${a.result.rows[?id > 3]}", "${a.result.any}", "${length(a.result.rows)}"]
)
def test_what_is_unknown_stays_possible(reference):
    assert not problems(fetch(), take(rows=reference), grants=GRANTS)


def test_what_may_be_null_is_known_only_when_it_runs():
    assert not problems(fetch(), take(nested={"list": [{"n": "${a.result.maybe}"}]}), grants=GRANTS)


def test_a_value_of_an_enumeration_gets_the_nearest_one():
    problem = only(take(colour="Red"), grants=GRANTS)
    assert problem.fix == ({"op": "replace", "path": "/tasks/0/args/colour", "value": "red"},)


def test_a_literal_beside_a_reference_is_checked_all_the_same():
    found = problems(fetch(), take(rows="${a.result.rows}", colour=3, colr="x"), grants=GRANTS)
    assert sorted(found) == [
        ("invalid_argument", "/tasks/1/args/colour"),
        ("unknown_argument", "/tasks/1/args/colr"),
    ]
