"""Follow a path through a JSON Schema: where it leads, or that it cannot lead anywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .paths import Segment, spell
from .schemas import ANY, as_schema, branches, is_opaque, types_of
from .types import JsonSchema

_PLAIN_OBJECT = frozenset(
    {"type", "properties", "required", "additionalProperties", "title", "description"}
)


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
    branches_of = branches(schema)
    if branches_of is not None:
        found = [_step(one, segment) for one in branches_of if one.get("type") != "null"]
        there = [one for one in found if not isinstance(one, Absent)]
        if there or not found:
            return there[0] if len(there) == 1 else {"anyOf": there} if there else ANY
        return found[0]
    types = types_of(schema)
    if types is None or is_opaque(schema):
        return ANY
    options = [_step_type(kind, schema, segment) for kind in sorted(types - {"null"})]
    there = [one for one in options if not isinstance(one, Absent)]
    if there or not options:
        return there[0] if len(there) == 1 else ANY
    return options[0]


def _step_type(kind: str, schema: JsonSchema, segment: Segment) -> JsonSchema | Absent:
    if kind == "object":
        return step_object(schema, str(segment))
    if kind == "array":
        if not isinstance(segment, int):
            return Absent(segment, (), "an array; name an element, such as [0]")
        items = schema.get("items", ANY)
        return items if isinstance(items, Mapping) and "prefixItems" not in schema else ANY
    return Absent(segment, (), f"a value of type {kind}")


def step_object(schema: JsonSchema, key: str) -> JsonSchema | Absent:
    """Return the schema of an object's member, or why there cannot be one."""
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
