"""Tools out of what servers offer, odd schemas among it."""

import socket

import pytest

from workflow_runtime.execution import InvalidArgumentsError
from workflow_runtime.plan.policies import WorkPolicy
from workflow_runtime.plan.shown import signature
from workflow_runtime.skills.catalog import _tool_grant
from workflow_runtime.skills.mcp.tools import Offer, build_tools

OBJECT = {"type": "object"}


async def call(*_):
    """Call nothing."""


def built(**fields):
    return build_tools("docs", [Offer(**{"name": "find", "arguments": OBJECT, **fields})], call)


def tool(arguments=OBJECT, **fields):
    found = built(arguments=arguments, **fields)
    assert found.unloaded == {}
    return found.tools["docs.find"]


def takes(made, arguments):
    try:
        made.check(arguments)
    except InvalidArgumentsError:
        return False
    return True


def with_word(word):
    return {"type": "object", "properties": {"word": word}}


@pytest.mark.parametrize(
    "schema",
    [
        {**with_word({"$ref": "#/$defs/Word"}), "$defs": {"Word": {"type": "string"}}},
        {**with_word({"$ref": "#/definitions/a~1b"}), "definitions": {"a/b": {"type": "string"}}},
        {
            **with_word({"$ref": "#/definitions/List%3CWord%3E"}),
            "definitions": {"List<Word>": {"type": "string"}},
        },
        {
            "type": "object",
            "properties": {"other": {"type": "string"}, "word": {"$ref": "#/properties/other"}},
        },
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "$id": "https://docs.example/find.json",
            **with_word({"type": "string", "x-shown": True, "pattern": "^\\p{L}"}),
        },
    ],
)
def test_a_schema_is_read_whatever_draft_and_library_it_comes_from(schema):
    made = tool(schema)
    assert takes(made, {"word": "a"})
    assert not takes(made, {"word": 1})
    assert "word?: str" in signature(_tool_grant(made))


def test_arrays_by_place_of_older_drafts_are_understood():
    pair = {"type": "array", "items": [{"type": "string"}, OBJECT], "additionalItems": False}
    made = tool(with_word(pair))
    assert takes(made, {"word": ["a", {}]})
    assert not takes(made, {"word": [{}, "a"]})
    assert not takes(made, {"word": ["a", {}, 1]})


def test_a_schema_that_holds_itself_is_kept():
    node = {"type": "object", "properties": {"next": {"$ref": "#/definitions/Node"}}}
    made = tool({**with_word({"$ref": "#/definitions/Node"}), "definitions": {"Node": node}})
    assert takes(made, {"word": {"next": {"next": {}}}})
    assert not takes(made, {"word": {"next": {"next": 1}}})


def test_a_schema_that_would_grow_without_bound_is_left_as_it_is():
    twice = {
        f"L{i}": {"type": "array", "prefixItems": [{"$ref": f"#/$defs/L{i + 1}"}] * 2}
        for i in range(40)
    }
    defs = {**twice, "L40": {"type": "string"}}
    assert takes(tool({**with_word({"$ref": "#/$defs/L0"}), "$defs": defs}), {"word": []})


def test_a_schema_that_is_deeper_than_anybody_reads_costs_its_tool():
    deep: dict = {"type": "string"}
    for _ in range(2000):
        deep = {"type": "array", "items": deep}
    assert built(arguments=with_word(deep)).unloaded == {"docs.find": "its inputSchema is too deep"}


def test_a_property_may_be_called_like_a_word_of_schemas():
    made = tool(
        {
            "type": "object",
            "properties": {"$ref": {"type": "string"}, "id": {"type": "integer"}, "title": {}},
            "required": ["id"],
        }
    )
    assert set(made.arguments["properties"]) == {"$ref", "id", "title"}
    assert not takes(made, {"id": "a"})


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        (None, "its inputSchema must be a JSON Schema, not NoneType"),
        ({"type": "objekt"}, "its inputSchema is no JSON Schema: 'objekt' is not valid"),
        ({"type": "string"}, "its inputSchema must describe an object"),
        (with_word({"$ref": "#/definitions/No"}), "refers to '#/definitions/No', which is not in"),
        (with_word({"$ref": "other.json"}), "its inputSchema refers to 'other.json'"),
        (with_word({"$dynamicRef": "#a"}), "its inputSchema uses '$dynamicRef'"),
    ],
)
def test_a_schema_that_is_none_costs_its_tool_alone(schema, why):
    bad, good = Offer(name="bad", arguments=schema), Offer(name="good", arguments=OBJECT)
    found = build_tools("docs", [bad, good], call)
    assert list(found.tools) == ["docs.good"]
    assert why in found.unloaded["docs.bad"]


def test_an_output_schema_that_is_none_costs_its_tool_too():
    assert "its outputSchema" in built(output={"type": 3}).unloaded["docs.find"]


def test_nothing_outside_of_a_schema_is_ever_fetched(monkeypatch):
    def refuse(*_):
        raise AssertionError("somebody wants the network")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    outside = with_word({"$ref": "http://127.0.0.1:9/word.json"})
    assert (
        "refers to 'http://127.0.0.1:9/word.json'" in built(arguments=outside).unloaded["docs.find"]
    )


@pytest.mark.parametrize("name", ["a b", "", "a\nb", "${x}", "ä", "x" * 129])
def test_a_name_that_a_plan_cannot_write_costs_its_tool(name):
    found = built(name=name)
    assert found.tools == {}
    assert len(found.unloaded) == 1


def test_hints_say_what_a_call_does():
    assert tool(read_only=True, idempotent=True).policy == WorkPolicy(side_effects="none")
    assert tool(idempotent=True).policy == WorkPolicy(side_effects="idempotent")
    assert tool().policy == WorkPolicy(side_effects="unknown")


def test_the_first_line_of_a_description_is_what_is_shown():
    assert tool(description="\n  Find it. \n\nMore.").description == "Find it."
    assert len(tool(description="x" * 5000).description) == 500
