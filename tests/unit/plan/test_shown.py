"""What a model is shown fits every provider, is short, and answers what models asked."""

from __future__ import annotations

import re
from typing import Any

import pytest
from bpe_openai import get_encoding

from workflow_runtime.plan.draft_task import OWN_FIELDS, fields_of
from workflow_runtime.plan.encoding import dumps
from workflow_runtime.plan.shown import START_DESCRIPTION, signature, start_workflow_schema
from workflow_runtime.service import TOPICS

from .lab import tool

SCHEMA = start_workflow_schema(help_topics=TOPICS)
TASK = SCHEMA["properties"]["tasks"]["items"]["properties"]
RETRY = TASK["retry"]["properties"]
NOT_SHOWN = {"on_timeout"}  # the help on waiting has it
COMPOSITION = {"oneOf", "anyOf", "allOf", "not", "if"}
# No provider takes all of these; a schema without them is taken by each.
NOWHERE = {"$schema", "$ref", "$defs", "definitions", "discriminator", "const", "nullable"}
NOWHERE |= {"additionalProperties", "patternProperties", "prefixItems", "unevaluatedProperties"}


def nodes(schema, place="$"):
    """Yield every schema inside of one, with its place."""
    yield place, schema
    for name, inner in schema.get("properties", {}).items():
        yield from nodes(inner, f"{place}.{name}")
    if "items" in schema:
        yield from nodes(schema["items"], f"{place}[]")


NODES = dict(nodes(SCHEMA))


def test_openai_and_azure_openai_get_an_object_without_composition_at_the_root():
    # "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top
    # level"; strict mode, which would demand every property and additionalProperties, is off.
    assert SCHEMA["type"] == "object"
    assert not (COMPOSITION | {"enum"}) & SCHEMA.keys()


def test_anthropic_gets_no_composition_at_the_root_and_names_it_takes():
    # "input_schema does not support oneOf, allOf, or anyOf at the top level"; property keys match
    # ^[a-zA-Z0-9_.-]{1,64}$
    assert not COMPOSITION & SCHEMA.keys()
    for schema in NODES.values():
        for name in schema.get("properties", {}):
            assert re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", name)


@pytest.mark.parametrize("place", NODES)
def test_gemini_gets_a_type_everywhere_and_no_object_without_members(place):
    # "schema didn't specify the schema type field"; "properties: should be non-empty for OBJECT
    # type"; "properties: only allowed for OBJECT type"; enum only of strings, items for an array.
    schema = NODES[place]
    assert schema["type"] in {"string", "integer", "number", "boolean", "array", "object"}
    assert (schema["type"] == "object") is bool(schema.get("properties"))
    assert (schema["type"] == "array") is ("items" in schema)
    assert set(schema.get("required", ())) <= schema.get("properties", {}).keys()
    if "enum" in schema:
        assert schema["type"] == "string"
        assert all(isinstance(one, str) and one for one in schema["enum"])


@pytest.mark.parametrize("place", NODES)
def test_ollama_gets_one_type_as_a_string_and_no_boolean_schemas(place):
    # "cannot unmarshal array into Go struct field .type of type string", "cannot unmarshal bool"
    schema = NODES[place]
    assert isinstance(schema["type"], str)
    assert all(isinstance(one, dict) for one in schema.get("properties", {}).values())


@pytest.mark.parametrize("place", NODES)
def test_only_words_that_all_providers_know_are_used(place):
    known = {"type", "properties", "required", "items", "enum", "description"}
    assert NODES[place].keys() <= known
    assert not NODES[place].keys() & (COMPOSITION | NOWHERE)


@pytest.mark.parametrize("place", NODES)
def test_a_description_is_short(place):
    assert len(NODES[place].get("description", "").split()) <= 40


# Of the 1,000 tokens for five tools and the addendum of a skill with four tools and two sub-agents,
# the other four tools need 169 and the addendum 176; bench/tokens.py measures the whole.
MOST_TOKENS = 650


def test_the_tool_leaves_the_rest_of_a_request_its_share_of_1000_tokens():
    shown: Any = {
        "name": "start_workflow",
        "description": START_DESCRIPTION,
        "parameters": SCHEMA,
    }
    assert len(get_encoding("o200k_base").encode(dumps(shown))) <= MOST_TOKENS


def test_every_field_of_every_type_is_shown():
    known = frozenset().union(*map(fields_of, OWN_FIELDS))
    assert known - TASK.keys() == NOT_SHOWN
    assert known >= TASK.keys()
    assert tuple(RETRY) == ("max_attempts", "initial", "multiplier", "max", "until")


@pytest.mark.parametrize(
    ("field", "answer"),
    [
        ("task", r"may hold \$\{…\}"),  # do references work in a sub-agent's text?
        ("args", r"may hold \$\{task_id\.result\.path\}"),
        ("args", r"\$\$\{ is a literal"),  # how is a literal ${ written?
        ("args", r"JMESPath.*length\("),  # how is a list counted or filtered?
        ("for_each", r"list in that order"),  # does the result stay aligned?
        ("for_each", r"null where skipped or failed"),
        ("for_each", r"index,item,status,result,error"),  # which item failed?
        ("when", r"per item"),  # is `when` evaluated per item?
        ("when", r"== false"),  # how are booleans written?
        ("when", r" and "),  # and, or, &&?
        ("when", r"null skips"),  # what does an element that is not there give?
        ("when", r"result null"),  # what does a reference to a skipped task give?
        ("depends_on", r"references imply"),  # does a reference imply the dependency?
        ("until", r"RFC 3339"),  # in which format?
        ("duration", r"PT30S"),
        ("on_error", r"per item"),
        ("on_error", r"'failed'"),  # what is the status of a failed task called?
        ("concurrency", r"at once"),  # how is it limited?
        ("timeout", r"per attempt"),  # is it per try or in all?
        ("timeout", r"event, approval: then it fails"),  # what happens when nobody answers?
        ("event", r"for wait"),  # with which field does a wait wait for an event?
        ("event", r"result: its payload"),
        ("message", r"for approval"),  # where does an approval's text go?
        ("message", r"may hold \$\{…\}"),
        ("message", r"\{approved,by,comment\}"),  # what does its result look like?
        ("message", r"rejected: fails"),
    ],
)
def test_a_doubt_of_the_trial_is_answered_where_it_arose(field, answer):
    assert re.search(answer, TASK[field]["description"])


def test_how_a_check_that_returns_false_is_tried_again_is_answered():
    assert "until true" in RETRY["until"]["description"]
    assert "multiplier" in RETRY  # do the pauses grow?


def test_a_tool_is_one_line():
    fetch = tool(
        "fetch",
        {
            "properties": {
                "service": {"type": "string"},
                "minutes": {"type": "integer", "default": 30},
                "level": {"enum": ["info", "error"]},
                "tags": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["service"],
        },
        {
            "type": "object",
            "properties": {
                "lines": {"type": "array", "items": {"type": "string"}},
                "first": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            },
        },
    )
    assert signature(fetch) == (
        'fetch(service: str, minutes: int = 30, level?: "info"|"error", tags?: [str])'
        " -> {lines: [str], first: str|null}"
    )


def test_a_tool_without_schemas_is_one_line_too():
    assert signature(tool("free")) == "free(…)"
