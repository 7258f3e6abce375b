"""From a decorated function to a tool: what a model is shown and what the function gets."""

import functools
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field

from workflow_runtime.errors import ConfigurationError
from workflow_runtime.execution import ToolPool, call_tool
from workflow_runtime.plan.policies import WorkPolicy
from workflow_runtime.skills import tool, workflow_tool
from workflow_runtime.skills.binding import build_tool
from workflow_runtime.skills.decorators import declaration_of


class Level(Enum):
    HIGH = "high"
    LOW = "low"


@dataclass
class Window:
    start: datetime
    minutes: int = 30


class Node(BaseModel):
    title: str
    children: list["Node"] = []


class Log(BaseModel):
    lines: list[str]
    level: Level
    cost: Decimal = Decimal(0)


class Undescribed:
    """Nothing that pydantic knows."""


class Row(TypedDict):
    id: int
    note: NotRequired[str]


def made(function):
    declared = declaration_of(function)
    assert declared is not None
    return build_tool(function, declared)


@pytest.fixture
def call():
    pool = ToolPool(2)

    async def run(function, **arguments):
        return await call_tool(made(function), arguments, pool=pool)

    yield run
    pool.close()


def refs_in(schema):
    return [word for word in ("$ref", "$defs", "title", "discriminator") if f'"{word}"' in schema]


def test_a_tool_is_described_by_its_annotations():
    @workflow_tool
    def fetch_logs(service: str, window_minutes: int = 30) -> Log:
        """Fetch recent log lines of a service."""
        return Log(lines=[service] * window_minutes, level=Level.LOW)

    tool_made = made(fetch_logs)
    assert tool_made.name == "fetch_logs"
    assert tool_made.description == "Fetch recent log lines of a service."
    assert tool_made.policy == WorkPolicy()
    assert tool_made.arguments == {
        "type": "object",
        "properties": {
            "service": {"type": "string"},
            "window_minutes": {"type": "integer", "default": 30},
        },
        "required": ["service"],
        "additionalProperties": False,
    }
    assert tool_made.output is not None
    assert tool_made.output["properties"]["lines"] == {"items": {"type": "string"}, "type": "array"}
    assert tool_made.output["additionalProperties"] is False


def test_types_are_written_out_where_they_are_used():
    @workflow_tool
    def f(window: Window, level: Level, rows: list[Row], title: str | None = None) -> list[Log]:
        return []

    tool_made = made(f)
    text = json.dumps([tool_made.arguments, tool_made.output])
    assert refs_in(text.replace('"title": {"anyOf"', "")) == []
    assert tool_made.arguments is not None
    properties = tool_made.arguments["properties"]
    assert list(properties) == ["window", "level", "rows", "title"]
    assert properties["level"] == {"enum": ["high", "low"], "type": "string"}
    assert properties["window"]["properties"]["start"] == {"format": "date-time", "type": "string"}
    assert properties["title"]["default"] is None


def test_a_type_that_holds_itself_keeps_its_reference():
    @workflow_tool
    def f(node: Node) -> Node:
        return node

    schema = made(f).arguments
    assert schema is not None
    assert schema["properties"]["node"] == {"$ref": "#/$defs/Node"}
    assert set(schema["$defs"]) == {"Node"}
    Draft202012Validator(schema).validate({"node": {"title": "a", "children": [{"title": "b"}]}})


def test_an_output_that_holds_itself_is_closed_too():
    class Tree(BaseModel):
        left: "Tree | None" = None
        size: int

    @workflow_tool
    def f(*, tree: Annotated[Tree, Field(description="The root")]) -> Tree:
        return tree

    output, arguments = made(f).output, made(f).arguments
    assert output is not None
    assert arguments is not None
    assert [each["additionalProperties"] for each in output["$defs"].values()] == [False]
    assert arguments["properties"]["tree"]["description"] == "The root"


def test_choices_told_apart_by_a_field_are_written_out():
    class Cat(BaseModel):
        kind: Literal["cat"]

    class Dog(BaseModel):
        kind: Literal["dog"]

    @workflow_tool
    def f(pet: Annotated[Cat | Dog, Field(discriminator="kind")]): ...

    assert refs_in(json.dumps(made(f).arguments)) == []


def test_a_field_named_like_a_word_of_json_schema_stays():
    class Odd(BaseModel):
        title: str
        properties: dict[str, int]
        default: int = 1

    @workflow_tool
    def f(odd: Odd): ...

    schema = made(f).arguments
    assert schema is not None
    assert set(schema["properties"]["odd"]["properties"]) == {"title", "properties", "default"}


@pytest.mark.parametrize(
    "name", ["schema", "json", "copy", "model_config", "_hidden", "self_", "cls"]
)
async def test_a_parameter_may_have_any_name(name, call):
    scope: dict[str, Any] = {}
    exec(f"def f({name}: int, other: int = 2): return [{name}, other]", scope)
    function = workflow_tool(scope["f"])
    assert await call(function, **{name: 1}) == {"value": [1, 2]}


async def test_a_function_gets_real_objects(call):
    @workflow_tool
    def f(window: Window, level: Level, node: Node, at: datetime, cost: Decimal) -> list[bool]:
        return [
            window == Window(datetime(2026, 3, 1, tzinfo=UTC)),
            level is Level.HIGH,
            isinstance(node.children[0], Node),
            at.tzinfo is not None,
            cost == Decimal("1.10"),
        ]

    outcome = await call(
        f,
        window={"start": "2026-03-01T00:00:00Z"},
        level="high",
        node={"title": "a", "children": [{"title": "b"}]},
        at="2026-03-01T00:00:00+02:00",
        cost="1.10",
    )
    assert outcome == {"value": [True] * 5}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"service": "a", "extra": 1}, "/extra: unknown argument"),
        ({}, "/service: wanted a string, found nothing"),
        ({"service": 3}, "/service: wanted a string, found an integer"),
        ({"service": "a", "at": "noon"}, "/at: "),
        ({"service": "a", "n": 0}, "/n: wanted an integer at least 1"),
        ({"service": "a", "level": "mid"}, "/level: wanted one of 'high', 'low'"),
    ],
)
async def test_arguments_that_do_not_fit_are_refused(arguments, said, call):
    calls = []

    @workflow_tool
    def f(
        service: str,
        at: datetime | None = None,
        n: Annotated[int, Field(ge=1)] = 1,
        level: Literal["high", "low"] = "high",
    ):
        calls.append(service)

    failure = (await call(f, **arguments))["failure"]
    assert failure["code"] == "invalid_arguments"
    assert said in failure["message"]
    assert calls == []


async def test_a_handler_takes_the_arguments_object_as_it_is(call):
    @workflow_tool
    def handler(args: dict) -> dict:
        return args

    assert made(handler).arguments is None
    assert await call(handler, anything=[1]) == {"value": {"anything": [1]}}


async def test_a_handler_may_bring_its_schema(call):
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}

    @workflow_tool(arguments=schema, output={"type": "integer"})
    async def handler(request: dict) -> int:
        return request["n"]

    assert (made(handler).arguments, made(handler).output) == (schema, {"type": "integer"})
    assert await call(handler, n=1) == {"value": 1}
    assert (await call(handler))["failure"]["code"] == "invalid_arguments"


async def test_one_parameter_of_type_dict_by_another_name_is_a_parameter(call):
    @workflow_tool
    def f(options: dict) -> dict:
        return options

    assert await call(f, options={"a": 1}) == {"value": {"a": 1}}


async def test_a_mutable_default_is_not_shared_between_calls(call):
    @workflow_tool
    def f(tags: list[str] = []) -> list[str]:  # noqa: B006 - what authors write
        tags.append("x")
        return tags

    assert await call(f) == await call(f) == {"value": ["x"]}


async def test_a_tool_without_parameters_takes_no_arguments(call):
    @workflow_tool
    def f() -> None: ...

    assert made(f).output == {"type": "null"}
    assert await call(f) == {"value": None}
    assert (await call(f, a=1))["failure"]["code"] == "invalid_arguments"


async def test_a_default_of_a_field_is_used(call):
    @workflow_tool
    def f(n: int = Field(2, ge=2)) -> int:
        return n

    assert await call(f) == {"value": 2}
    assert (await call(f, n=1))["failure"]["code"] == "invalid_arguments"


async def test_a_wrapped_function_keeps_its_signature_and_its_decorators(call):
    def log(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            return function(*args, **kwargs)

        return wrapper

    @log
    @workflow_tool
    def above(n: int) -> int:
        return n

    @workflow_tool
    @log
    def below(n: int) -> int:
        return n

    assert await call(above, n=1) == await call(below, n=1) == {"value": 1}


@pytest.mark.parametrize("first", [workflow_tool, tool])
def test_both_decorators_in_any_order_make_both(first):
    second = tool if first is workflow_tool else workflow_tool

    @first(name="both")
    @second(side_effects="once")
    def f(): ...

    declared = declaration_of(f)
    assert declared is not None
    assert (declared.in_plans, declared.in_chat) == (True, True)
    assert (declared.name, declared.side_effects) == ("both", "once")


def test_a_decorated_function_stays_what_it_was():
    @workflow_tool
    def f(n: int) -> int:
        return n + 1

    assert f(1) == 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"retries": 3},
            "no option 'retries' (did you mean 'retry'?); known are name, description",
        ),
        ({"desciption": "x"}, "did you mean 'description'?"),
        ({"side_effects": "many"}, "one of none, idempotent, once"),
        ({"name": "fetch logs"}, "'name' must be a letter"),
        ({"description": 3}, "must be text"),
        ({"arguments": {"type": "array"}}, "must describe an object"),
        ({"arguments": {"type": "objekt"}}, "is no JSON Schema"),
        ({"arguments": "object"}, "must be a JSON Schema"),
        ({"output": {"$ref": "https://example.com/a.json"}}, "refers to 'https://example.com"),
        ({"output": {"const": {1, 2}}}, "is no JSON Schema"),
    ],
)
def test_a_wrong_option_is_told_at_import(options, said):
    with pytest.raises(ConfigurationError) as caught:
        workflow_tool(**options)
    assert said in str(caught.value)


def test_decorators_that_contradict_each_other_are_told():
    with pytest.raises(ConfigurationError, match="says side_effects differently"):

        @tool(side_effects="none")
        @workflow_tool(side_effects="once")
        def f(): ...


def test_only_a_function_is_a_tool():
    with pytest.raises(ConfigurationError, match="stands before a function"):
        workflow_tool("fetch")  # type: ignore[call-overload]
    with pytest.raises(ConfigurationError, match="stands before a function"):

        @tool
        class Tool: ...


def test_a_type_that_json_cannot_carry_is_told():
    @workflow_tool
    def f(connection: object, lock: Undescribed): ...

    with pytest.raises(ConfigurationError, match="its parameters cannot be described as JSON"):
        made(f)


def test_parameters_that_cannot_be_given_by_name_are_told():
    @workflow_tool
    def f(*services: str): ...

    @workflow_tool
    def g(service: str, /): ...

    for each in (f, g):
        with pytest.raises(ConfigurationError, match="cannot be given by name"):
            made(each)


def test_an_annotation_that_cannot_be_read_is_told():
    @workflow_tool
    def f(a: "Missing"): ...  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(ConfigurationError, match="not under TYPE_CHECKING"):
        made(f)


def test_a_schema_and_parameters_that_disagree_are_told():
    @workflow_tool(arguments={"type": "object", "properties": {"servce": {}}})
    def f(service: str): ...

    with pytest.raises(ConfigurationError, match="'servce', which is no parameter"):
        made(f)
