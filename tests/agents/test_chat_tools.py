"""Chat tools: called through the execution layer, shown in words that every provider reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from tests.agents.fakes import ScriptedModels, calls, nobody, says
from tests.agents.test_chat import talk
from workflow_runtime.agents.chat_tools import MAX_RESULT_CHARACTERS, chat_tools, portable
from workflow_runtime.agents.maf.tools import RawTool
from workflow_runtime.errors import TerminalError
from workflow_runtime.execution import Tool

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}},
    "required": ["name"],
    "additionalProperties": False,
}


def greet(arguments):
    if arguments["name"] == "nobody":
        message = "nobody cannot be greeted"
        raise TerminalError(message)
    return {"greeting": f"Hello, {arguments['name']}"}


def boxed(**tools: Tool):
    """A catalog of the test's skills with these chat tools."""
    from workflow_runtime.skills import Catalog, Skill

    skill = Skill(
        slug="triage", name="T", description="d", instructions="i", path=Path("triage.agent.md")
    )
    return Catalog(skills={"triage": skill}, chat_tools=tools)


GREET = Tool(name="greet", description="Greet somebody.", arguments=SCHEMA, call=greet)


async def test_a_chat_tool_is_called_in_the_turn(make_chat, workflows):
    models = ScriptedModels(calls("greet", {"name": "Ana"}), says("I greeted Ana."))
    done = (await talk(make_chat(models, catalog=boxed(greet=GREET)), "greet Ana", workflows))[-1]
    assert done.tool_calls == ({"name": "greet", "status": "ok"},)
    assert json.loads(models.requests[-1].messages[-1].results[0]) == {"greeting": "Hello, Ana"}


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        ({"name": 5}, "invalid_arguments"),
        ({}, "invalid_arguments"),
        ({"name": "Ana", "mood": "good"}, "invalid_arguments"),
        ('{"name": ', "invalid_arguments"),
        ("[" * 100_000, "invalid_arguments"),
        ({"name": "nobody"}, "failed"),
    ],
)
async def test_a_call_that_fails_is_answered_by_name(pool, sent, code):
    (tool,) = chat_tools([GREET], pool, ask=nobody)
    answer = await tool.call(sent if isinstance(sent, dict) else {"raw": sent})
    assert not answer.ok
    assert json.loads(answer.text)["error"] == code


async def test_a_large_result_is_cut(pool):
    large = Tool(name="large", call=lambda _arguments: "x" * 200_000)
    (tool,) = chat_tools([large], pool, ask=nobody)
    text = (await tool.call({})).text
    assert len(text) < MAX_RESULT_CHARACTERS + 100
    assert "200000 characters" in text


async def test_a_tool_without_arguments_shows_no_parameters(pool):
    (tool,) = chat_tools([Tool(name="now", call=lambda _arguments: 1)], pool, ask=nobody)
    assert "parameters" not in RawTool(tool).to_json_schema_spec()["function"]


class Line(BaseModel):
    text: str
    level: Literal["info", "error"] = "info"


class Tree(BaseModel):
    name: str
    children: list[Tree] = Field(default_factory=list)


class Arguments(BaseModel):
    service: Annotated[str, Field(description="Name of the service")]
    minutes: int | None = None
    lines: list[Line]
    either: int | str
    tree: Tree | None = None
    fixed: Literal["one"] = "one"


BANNED = ("$ref", "$defs", "$schema", "oneOf", "discriminator", '"null"', '"title"', "const")


def test_a_pydantic_schema_is_shown_in_portable_words():
    shown = portable(Arguments.model_json_schema())
    text = json.dumps(shown)
    assert not [word for word in BANNED if word in text]
    properties = shown["properties"]
    assert properties["minutes"] == {"type": "integer"}
    assert properties["lines"]["items"]["properties"]["level"]["enum"] == ["info", "error"]
    assert properties["service"]["description"] == "Name of the service"
    assert properties["either"] == {"anyOf": [{"type": "integer"}, {"type": "string"}]}
    assert shown["required"] == ["service", "lines", "either"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "type",
                    "properties",
                    "items",
                    "anyOf",
                    "oneOf",
                    "$ref",
                    "$defs",
                    "const",
                    "default",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(st.dictionaries(st.sampled_from(["type", "properties", "$defs", "anyOf"]), JSON))
def test_any_schema_is_shown_as_an_object(schema):
    assert portable(schema)["type"] == "object"
