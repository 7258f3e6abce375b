"""Compare what one JSON Schema gives with what another takes: can any value fit?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .schemas import ANY, as_schema, branches, is_opaque, types_of, written
from .types import JsonSchema
from .walking import Absent, step_object

_NULL = frozenset({"null"})


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
    found = None if is_opaque(schema) else branches(schema)
    if found is None:
        return (schema,)
    return [inner for one in found for inner in _alternatives(one) if types_of(one) != _NULL]


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
        if isinstance(step_object(given, str(name)), Absent):
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
