"""
What a JSON Schema says before any value is there.

:func:`walk` follows a path through a schema, :func:`conflict` compares what one schema gives with
what another takes. Both are cautious: what a schema does not rule out stays possible. The parts of
JSON Schema that are understood are ``type``, ``properties``, ``additionalProperties``, ``items``,
``prefixItems``, ``enum``, ``const``, ``anyOf`` and ``oneOf``; the rest counts as unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .encoding import dumps
from .paths import Segment, spell
from .types import Json, JsonSchema

ANY: JsonSchema = {}
_PLAIN_OBJECT = frozenset(
    {"type", "properties", "required", "additionalProperties", "title", "description"}
)
_NULL = frozenset({"null"})
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
        members = schema.get("properties")
        if members and segment in members and schema.keys() <= _PLAIN_OBJECT:
            schema = as_schema(members[segment])
            continue
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
    """Say why no value that *given* describes can fit *wanted*, or return None.

    An empty array would fit any array; types of elements that differ are a conflict all the same.
    """
    reasons = [
        _conflict_of_one(have, want)
        for have in _alternatives(given)
        for want in _alternatives(wanted)
    ]
    if not reasons or None in reasons:
        return None
    if len(reasons) == 1:
        return reasons[0]
    have, want = types_of(given), types_of(wanted)
    if have and want and not _overlap(have - {"null"}, want):
        return f"wants {written(want)}, and this gives {written(have - {'null'})}"
    return reasons[0]


def _alternatives(schema: JsonSchema) -> Sequence[JsonSchema]:
    """Return the branches of a schema without null, which is only known when it runs."""
    branches = None if _is_opaque(schema) else _branches(schema)
    if branches is None:
        return (schema,)
    return [inner for one in branches for inner in _alternatives(one) if types_of(one) != _NULL]


def _conflict_of_one(given: JsonSchema, wanted: JsonSchema) -> str | None:
    have, want = types_of(given), types_of(wanted)
    if have is None or want is None:
        return None
    have -= {"null"}
    if not have:
        return None
    if not _overlap(have, want):
        return f"wants {written(want)}, and this gives {written(have)}"
    options, given_options = _options(wanted), _options(given)
    if options is not None and given_options is not None:
        if any(one in options for one in given_options):
            return None
        return f"wants one of {', '.join(map(repr, options[:8]))}"
    if have == {"array"} == want - {"null"}:
        inner = conflict(_items(given), _items(wanted))
        return None if inner is None else f"{inner} in its elements"
    if have == {"object"} == want - {"null"}:
        return _conflict_of_members(given, wanted)
    return None


def _conflict_of_members(given: JsonSchema, wanted: JsonSchema) -> str | None:
    there, known = given.get("properties", {}), wanted.get("properties", {})
    surely = [name for name in given.get("required", ()) if name in there]
    for name in wanted.get("required", ()):
        if isinstance(_step_object(given, str(name)), Absent):
            return f"wants an object with {name!r}, which this cannot have"
    for name in surely:
        if name not in known:
            if wanted.get("additionalProperties") is False and "patternProperties" not in wanted:
                return f"wants an object without {name!r}, which this has"
            continue
        inner = conflict(as_schema(there[name]), as_schema(known[name]))
        if inner is not None:
            return f"{inner} in {name!r}"
    return None


def as_schema(value: Any) -> JsonSchema:
    """Return a schema's part as an object; what is true or false says nothing about the shape."""
    return value if isinstance(value, Mapping) else ANY


def _items(schema: JsonSchema) -> JsonSchema:
    return ANY if "prefixItems" in schema else as_schema(schema.get("items", ANY))


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


def surely_valid(schema: Any, value: Any) -> bool:
    """Whether *value* is valid by a quick look at the common parts of a schema.

    A string with a reference in it counts as valid: what it gives is another rule's matter. False
    means only that a full validator has to decide.
    """
    if isinstance(value, str) and "${" in value and isinstance(schema, Mapping):
        return True
    if not isinstance(schema, Mapping) or not schema.keys() <= _QUICK:
        return False
    given = schema.get("type")
    if given is not None and (not isinstance(given, str) or not _has_type(value, given)):
        return False
    if isinstance(value, dict):
        return _surely_valid_object(schema, value)
    if isinstance(value, list):
        return all(surely_valid(schema.get("items", ANY), one) for one in value)
    return True


def _surely_valid_object(schema: JsonSchema, value: dict[str, Any]) -> bool:
    properties = schema.get("properties", {})
    if not all(name in value for name in schema.get("required", ())):
        return False
    is_open = schema.get("additionalProperties", True) is True
    if not is_open and not value.keys() <= properties.keys():
        return False
    return all(surely_valid(properties[k], v) for k, v in value.items() if k in properties)


_QUICK = frozenset(
    {"type", "properties", "required", "additionalProperties", "items"}
    | {"title", "description", "default", "examples"}
)


def _has_type(value: Any, name: str) -> bool:
    found = json_type(value)
    return found == name or (name == "number" and found == "integer")
