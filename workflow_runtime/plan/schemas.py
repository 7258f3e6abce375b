"""
What a JSON Schema says before any value is there.

:func:`walk` follows a path through a schema, :func:`conflict` compares what one schema gives with
what another takes. Both are cautious: what a schema does not rule out stays possible. The parts of
JSON Schema that are understood are ``type``, ``properties``, ``additionalProperties``, ``items``,
``prefixItems``, ``enum``, ``const``, ``anyOf`` and ``oneOf``; the rest counts as unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .paths import Segment, spell
from .types import Json, JsonSchema

ANY: JsonSchema = {}
_TYPES = frozenset({"null", "boolean", "integer", "number", "string", "array", "object"})


@dataclass(frozen=True, slots=True)
class Absent:
    """A path cannot lead anywhere: ``segment`` is not in what has ``keys`` (or is a ``kind``)."""

    segment: Segment
    at: tuple[Segment, ...]
    kind: str
    keys: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.keys:
            return f"there is no {spell(self.segment)}; there are {', '.join(self.keys[:12])}"
        return f"there is no {spell(self.segment)} in {self.kind}"


def walk(schema: JsonSchema, segments: Sequence[Segment]) -> JsonSchema | Absent:
    """Return the schema of what is at the end of the path, or why nothing can be there."""
    for position, segment in enumerate(segments):
        found = _step(schema, segment)
        if isinstance(found, Absent):
            return Absent(segment, tuple(segments[:position]), found.kind, found.keys)
        schema = found
    return schema


def _step(schema: JsonSchema, segment: Segment) -> JsonSchema | Absent:
    branches = _branches(schema)
    if branches is not None:
        found = [_step(branch, segment) for branch in branches if branch.get("type") != "null"]
        there = [one for one in found if not isinstance(one, Absent)]
        if there or not found:
            return there[0] if len(there) == 1 else {"anyOf": there} if there else ANY
        return found[0]
    types = types_of(schema)
    if types is None or _is_opaque(schema):
        return ANY
    options = [_step_type(kind, schema, segment) for kind in sorted(types - {"null"})]
    there = [one for one in options if not isinstance(one, Absent)]
    if there or not options:
        return there[0] if len(there) == 1 else ANY
    return options[0]


def _step_type(kind: str, schema: JsonSchema, segment: Segment) -> JsonSchema | Absent:
    if kind == "object":
        return _step_object(schema, str(segment))
    if kind == "array":
        if not isinstance(segment, int):
            return Absent(segment, (), "an array; name an element, such as [0]")
        items = schema.get("items", ANY)
        return items if isinstance(items, Mapping) and "prefixItems" not in schema else ANY
    return Absent(segment, (), f"a value of type {kind}")


def _step_object(schema: JsonSchema, key: str) -> JsonSchema | Absent:
    properties = schema.get("properties", {})
    if key in properties:
        found = properties[key]
        return found if isinstance(found, Mapping) else ANY
    more = schema.get("additionalProperties", True)
    if isinstance(more, Mapping):
        return more
    if more is False and "patternProperties" not in schema:
        return Absent(key, (), "an object without fields", tuple(properties))
    return ANY


def _branches(schema: JsonSchema) -> Sequence[JsonSchema] | None:
    for word in ("anyOf", "oneOf"):
        branches = schema.get(word)
        if isinstance(branches, list) and all(isinstance(one, Mapping) for one in branches):
            return branches
    return None


def _is_opaque(schema: JsonSchema) -> bool:
    return any(word in schema for word in ("$ref", "allOf", "if", "not", "$dynamicRef"))


def types_of(schema: JsonSchema) -> frozenset[str] | None:
    """Return the JSON types that the schema allows, or None where it does not say."""
    if _is_opaque(schema):
        return None
    branches = _branches(schema)
    if branches is not None:
        found = [types_of(branch) for branch in branches]
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


def conflict(given: JsonSchema, wanted: JsonSchema) -> str | None:
    """Say why no value that *given* describes can fit *wanted*, or return None."""
    have, want = types_of(given), types_of(wanted)
    if have is None or want is None:
        return None
    have -= {"null"}  # what may also be null is only known when it runs
    if have and not _overlap(have, want):
        return f"wants {written(want)}, and this gives {written(have)}"
    options, given_options = _options(wanted), _options(given)
    if options is not None and given_options is not None and have != {"null"}:
        if not [one for one in given_options if one in options]:
            return f"wants one of {', '.join(map(repr, options[:8]))}"
        return None
    if have == {"array"} == want - {"null"}:
        inner = conflict(_items(given), _items(wanted))
        return None if inner is None else f"{inner} in its elements"
    return None


def _items(schema: JsonSchema) -> JsonSchema:
    items = schema.get("items", ANY)
    return items if isinstance(items, Mapping) else ANY


def _options(schema: JsonSchema) -> list[Any] | None:
    if "const" in schema:
        return [schema["const"]]
    options = schema.get("enum")
    return options if isinstance(options, list) else None


def _overlap(have: frozenset[str], want: frozenset[str]) -> bool:
    numbers = {"integer", "number"}
    return bool(have & want) or bool(have & numbers and want & numbers)


def written(types: Iterable[str]) -> str:
    """Write types for a message."""
    return " or ".join(sorted(types))


def schema_of(value: Json) -> JsonSchema:
    """Return the closed schema of a literal value."""
    match value:
        case dict():
            return {
                "type": "object",
                "properties": {key: schema_of(member) for key, member in value.items()},
                "additionalProperties": False,
            }
        case list() if value:
            return {"type": "array", "items": {"anyOf": [schema_of(one) for one in value[:50]]}}
        case list():
            return {"type": "array"}
        case _:
            return {"type": json_type(value)}


def surely_valid(schema: JsonSchema, value: Any) -> bool:
    """Whether *value* is valid by a quick look at the common parts of a schema.

    False means only that a full validator has to decide.
    """
    if not schema.keys() <= _QUICK:
        return False
    given = schema.get("type")
    if given is not None and (not isinstance(given, str) or not _has_type(value, given)):
        return False
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        if not all(name in value for name in schema.get("required", ())):
            return False
        if schema.get("additionalProperties", True) is not True and not value.keys() <= properties.keys():
            return False
        return all(surely_valid(properties[k], v) for k, v in value.items() if k in properties)
    if isinstance(value, list):
        items = schema.get("items", ANY)
        return isinstance(items, Mapping) and all(surely_valid(items, one) for one in value)
    return True


_QUICK = frozenset(
    {"type", "properties", "required", "additionalProperties", "items"}
    | {"title", "description", "default", "examples"}
)


def _has_type(value: Any, name: str) -> bool:
    found = json_type(value)
    return found == name or (name == "number" and found == "integer")
