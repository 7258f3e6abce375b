"""
What a model is shown: the schema of ``start_workflow`` and tools as one-line signatures.

Everything a model is not told it guesses, so each field says in a few words what models asked
about it; every word costs tokens in each request. The schema is one flat task object and keeps to
what OpenAI (strict off), Azure OpenAI, Anthropic, Gemini and Ollama all take: the root is an
object, there is no ``oneOf``, ``anyOf``, ``$ref`` or ``$defs``, everything has a type, and every
object names a member. It is never used to refuse anything: arguments are taken raw and checked by
:mod:`.check`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .encoding import dumps
from .grants import ToolGrant
from .types import JsonSchema

START_DESCRIPTION = (
    "Run a plan as a durable background workflow; returns its workflow_id at once. For parallel, "
    "long or multi-step work. Then end your turn: you are told when it ends."
)

_MAX_DEPTH = 4
_NAMES = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "null"}


def start_workflow_schema(help_topics: Sequence[str] = ()) -> dict[str, Any]:
    """Return the JSON Schema of ``start_workflow``'s arguments as a model sees it."""
    text = {"type": "string"}
    task = {
        "id": text,
        "type": {
            "type": "string",
            "enum": ["tool", "sub_agent", "wait", "approval"],
            "description": "default tool",
        },
        "tool": text,
        "args": _object_of(
            "argument",
            "for tool; values may hold ${task_id.result.path} or JMESPath "
            "${length(a.result)}; $${ is a literal ${",
        ),
        "agent": text,
        "task": _described("string", "for sub_agent: self-contained instruction; may hold ${…}"),
        "duration": _described("string", "for wait: PT30S, P1D"),
        "until": _described("string", "for wait: RFC 3339 with offset"),
        "event": _described("string", "for wait: its name; result: its payload"),
        "message": _described(
            "string",
            "for approval: the question, may hold ${…}; result {approved,by,comment}; "
            "rejected: fails",
        ),
        "depends_on": _strings("for order only: references imply it"),
        "when": _described(
            "string",
            "bare condition: a.result.ok == false and a.result.n > 3; per item with for_each. "
            "False or null skips: result null",
        ),
        "for_each": _described(
            "string",
            "${…} giving a list: one run per ${item}, ${index}. The result is a list in that order,"
            " null where skipped or failed; ${id.items} has {index,item,status,result,error}",
        ),
        "concurrency": _described("integer", "most items at once"),
        "retry": {
            "type": "object",
            "properties": {
                "max_attempts": {"type": "integer"},
                "initial": text,
                "multiplier": {"type": "number"},
                "max": text,
                "until": _described("string", "retries until true: result.passed == true"),
            },
        },
        "timeout": _described("string", "PT20S, per attempt; event, approval: then it fails"),
        "on_error": {
            "type": "string",
            "enum": ["fail", "continue"],
            "description": "default fail; continue: goes on with status 'failed', per item",
        },
    }
    properties: dict[str, Any] = {
        "name": text,
        "context": _described("string", "facts for every sub-agent"),
        "input": _object_of("x", "read as ${input.x}"),
        "tasks": {
            "type": "array",
            "items": {"type": "object", "properties": task, "required": ["id"]},
        },
        "output": _described("string", "what to return, e.g. ${a.result}; default: last results"),
        "dry_run": _described("boolean", "check and preview only"),
    }
    if help_topics:
        properties["help"] = {
            "type": "string",
            "enum": list(help_topics),
            "description": "only shows the grammar",
        }
    return {"type": "object", "properties": properties, "required": ["tasks"]}


def _described(kind: str, description: str) -> dict[str, Any]:
    return {"type": kind, "description": description}


def _object_of(name: str, description: str) -> dict[str, Any]:
    """Describe an object whose members are free, which is no valid type without any for Gemini."""
    member = {name: {"type": "string"}}
    return {"type": "object", "properties": member, "description": description}


def _strings(description: str) -> dict[str, Any]:
    return {"type": "array", "items": {"type": "string"}, "description": description}


def signature(tool: ToolGrant) -> str:
    """Write a tool as one line: ``fetch(service: str, n: int = 30) -> {lines: [str]}``."""
    line = f"{tool.name}({_parameters(tool.arguments)})"
    return line if not tool.output else f"{line} -> {_shape(tool.output, 0)}"


def _parameters(schema: JsonSchema | None) -> str:
    if not schema:
        return "…"
    required = schema.get("required", ())
    return ", ".join(
        _parameter(name, inner, is_required=name in required)
        for name, inner in schema.get("properties", {}).items()
    )


def _parameter(name: str, schema: JsonSchema, *, is_required: bool) -> str:
    text = f"{name}: {_shape(schema, 1)}"
    if is_required:
        return text
    return (
        f"{text} = {dumps(schema['default'])}"
        if "default" in schema
        else f"{name}?: {text[len(name) + 2 :]}"
    )


def _shape(schema: JsonSchema, depth: int) -> str:
    if depth > _MAX_DEPTH:
        return "…"
    if "enum" in schema:
        return "|".join(dumps(option) for option in schema["enum"])
    if "const" in schema:
        return dumps(schema["const"])
    for word in ("anyOf", "oneOf"):
        if isinstance(schema.get(word), list):
            return "|".join(dict.fromkeys(_shape(one, depth) for one in schema[word]))
    kind = schema.get("type")
    if isinstance(kind, list):
        return "|".join(_shape({**schema, "type": one}, depth) for one in kind)
    if kind == "array":
        items = schema.get("items")
        return f"[{_shape(items, depth + 1)}]" if isinstance(items, Mapping) and items else "[…]"
    if kind == "object":
        return _object(schema, depth)
    return _NAMES.get(str(kind), "any")


def _object(schema: JsonSchema, depth: int) -> str:
    properties = schema.get("properties")
    if not properties:
        more = schema.get("additionalProperties")
        return f"{{…: {_shape(more, depth + 1)}}}" if isinstance(more, Mapping) and more else "{…}"
    inner = (
        name if (shape := _shape(one, depth + 1)) == "str" else f"{name}: {shape}"
        for name, one in properties.items()
    )
    return f"{{{', '.join(inner)}}}"
