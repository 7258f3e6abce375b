"""
What a JSON Schema says of types before any value is there.

It is read cautiously: what a schema does not rule out stays possible. The parts of JSON Schema that
are understood are ``type``, ``properties``, ``additionalProperties``, ``items``, ``prefixItems``,
``enum``, ``const``, ``anyOf`` and ``oneOf``; the rest counts as unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from .encoding import dumps
from .types import Json, JsonSchema

ANY: JsonSchema = {}
_TYPES = frozenset({"null", "boolean", "integer", "number", "string", "array", "object"})


def branches(schema: JsonSchema) -> Sequence[JsonSchema] | None:
    """Return the schemas of which one holds, where it is said so."""
    for word in ("anyOf", "oneOf"):
        found = schema.get(word)
        if isinstance(found, list) and all(isinstance(one, Mapping) for one in found):
            return found
    return None


def is_opaque(schema: JsonSchema) -> bool:
    """Whether the schema has words that are not understood here."""
    return any(word in schema for word in ("$ref", "allOf", "if", "not", "$dynamicRef"))


def types_of(schema: JsonSchema) -> frozenset[str] | None:
    """Return the JSON types that the schema allows, or None where it does not say."""
    if is_opaque(schema):
        return None
    options = branches(schema)
    if options is not None:
        found = [types_of(option) for option in options]
        return None if None in found else frozenset().union(*(one for one in found if one))
    if "const" in schema:
        return frozenset({json_type(schema["const"])})
    if isinstance(schema.get("enum"), list) and schema["enum"]:
        return frozenset(json_type(value) for value in schema["enum"])
    given = schema.get("type")
    if isinstance(given, str):
        return frozenset({given}) & _TYPES or None
    if isinstance(given, list):
        return frozenset(one for one in given if isinstance(one, str)) & _TYPES or None
    return None


def json_type(value: object) -> str:
    """Return the name that JSON Schema has for a value's type."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "integer" if value.is_integer() else "number"
        case str():
            return "string"
        case Mapping():
            return "object"
        case _:
            return "array"


def as_schema(value: Any) -> JsonSchema:
    """Return a schema's part as an object; what is true or false says nothing about the shape."""
    return value if isinstance(value, Mapping) else ANY


def written(types: Iterable[str]) -> str:
    """Write types for a message."""
    return " or ".join(sorted(types))


def schema_of(value: Json, *, is_open: Callable[[str], bool] = lambda _: False) -> JsonSchema:
    """Return the closed schema of a literal value; strings that are open may become anything."""
    match value:
        case dict():
            return {
                "type": "object",
                "properties": {k: schema_of(v, is_open=is_open) for k, v in value.items()},
                "required": list(value),
                "additionalProperties": False,
            }
        case list() if value:
            kinds = {
                dumps(dict(one)): one for one in (schema_of(v, is_open=is_open) for v in value)
            }
            return {"type": "array", "items": {"anyOf": list(kinds.values())}}
        case list():
            return {"type": "array"}
        case str() if is_open(value):
            return ANY
        case _:
            return {"type": json_type(value)}
