"""
The app's chat tools, offered to a model: called at once, inside its turn, by the execution layer.

But for a tool whose policy has a person asked first: what is done in place of its call is given by
the one who offers it, and nothing here calls it.

What is shown of a schema is made portable first, because one schema that a provider refuses makes
it refuse the whole request.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from ..execution import InvalidArgumentsError, StepCalls, Tool, ToolPool, call_tool
from ..plan.encoding import canonical, dumps
from ..plan.types import Json, JsonSchema
from .tool_calls import Answer, ModelTool, answer, decoded, refusal

MAX_RESULT_CHARACTERS = 64_000
ASKED_BY_ITSELF = "A person is asked by itself."
_MAX_DEPTH = 8
_DROPPED = frozenset(
    {"$schema", "$id", "$defs", "$comment", "definitions", "discriminator", "title", "examples"}
)


type Ask = Callable[[Tool, Json], Awaitable[Answer]]
"""What is done in place of a call; the arguments are checked, and nothing is raised."""


def chat_tools(
    tools: Iterable[Tool], pool: ToolPool, *, ask: Ask, calls: StepCalls | None = None
) -> tuple[ModelTool, ...]:
    """Return the tools as a model sees them; sync ones run in *pool*.

    *ask* is called in the place of each tool with approval; *calls* are those of a specialist's
    step.
    """
    return tuple(
        _asked(tool, ask) if tool.policy.approval else _called(tool, pool, calls) for tool in tools
    )


def _called(tool: Tool, pool: ToolPool, calls: StepCalls | None) -> ModelTool:
    async def call(arguments: Any) -> Answer:
        return await answered(tool, decoded(arguments), pool, calls)

    return _shown_as(tool, tool.description, call)


def _asked(tool: Tool, ask: Ask) -> ModelTool:
    async def call(arguments: Any) -> Answer:
        given = decoded(arguments)
        try:
            tool.check(given)
            canonical(given)
        except (InvalidArgumentsError, ValueError) as error:
            return refusal("invalid_arguments", str(error))
        return await ask(tool, given)

    return _shown_as(tool, f"{tool.description}\n\n{ASKED_BY_ITSELF}".strip(), call)


async def answered(tool: Tool, arguments: Json, pool: ToolPool, calls: StepCalls | None) -> Answer:
    """Call the tool and return what the model is told of it; raises nothing but CancelledError."""
    outcome = await call_tool(tool, arguments, pool=pool, calls=calls)
    failure = outcome.get("failure")
    if failure is not None:
        return answer(
            {
                "error": failure["code"],
                "message": failure["message"],
                "correlation_id": failure["correlation_id"],
            },
            ok=False,
        )
    value = outcome["value"]
    text = value if isinstance(value, str) else dumps(value)
    if len(text) > MAX_RESULT_CHARACTERS:
        text = f"{text[:MAX_RESULT_CHARACTERS]}… (cut, {len(text)} characters in all)"
    return Answer(text=text)


def _shown_as(tool: Tool, description: str, call: Callable[[Any], Awaitable[Answer]]) -> ModelTool:
    return ModelTool(
        name=tool.name,
        description=description,
        schema=portable(tool.arguments or {"type": "object"}),
        call=call,
    )


def portable(schema: JsonSchema) -> dict[str, Any]:
    """Return the schema in words that all providers read.

    References are written out (a recursive one becomes a plain object), ``oneOf`` becomes
    ``anyOf``, ``const`` an ``enum``, "or null" is dropped, and the root is one object.
    """
    definitions: dict[str, Any] = {}
    for word in ("definitions", "$defs"):
        named = schema.get(word)
        definitions |= named if isinstance(named, Mapping) else {}
    shown: dict[str, Any] = _shown(schema, definitions, 0)
    if shown.get("type") != "object":
        return {"type": "object"}
    shown.pop("anyOf", None)
    return shown


def _shown(schema: Any, definitions: Mapping[str, Any], depth: int) -> Any:
    if not isinstance(schema, Mapping):
        return {}
    if depth > _MAX_DEPTH:
        return {"type": "object"}
    reference = schema.get("$ref")
    if isinstance(reference, str):
        target = definitions.get(reference.rsplit("/", 1)[-1])
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        whole = {**target, **rest} if isinstance(target, Mapping) else rest
        return _shown(whole, definitions, depth + 1)
    shown: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _DROPPED:
            continue
        shown |= _keyword(key, value, definitions, depth + 1)
    choices = shown.get("anyOf")
    if isinstance(choices, list) and len(choices) == 1:
        del shown["anyOf"]
        shown = {**choices[0], **shown}
    return shown


def _keyword(key: str, value: Any, definitions: Mapping[str, Any], depth: int) -> dict[str, Any]:
    match key, value:
        case "properties", Mapping():
            inner = {name: _shown(each, definitions, depth) for name, each in value.items()}
            return {"properties": inner} if inner else {}
        case (("anyOf" | "oneOf" | "allOf"), list()):
            given = [_shown(each, definitions, depth) for each in value]
            return {"anyOf": [each for each in given if each.get("type") != "null"]}
        case (("items" | "additionalProperties"), Mapping()):
            return {key: _shown(value, definitions, depth)}
        case "type", list():
            named = [name for name in value if name != "null"]
            return {"type": named[0] if named else "string"}
        case "const", _:
            return {"enum": [value]}
        case "default", None:
            return {}
        case _:
            return {key: value}
