"""
JSON Schemas of Python types, in the plain form that a model and a plan's check can read.

Titles are dropped and ``$ref`` is replaced by what it names, except where a type holds itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from pydantic import TypeAdapter
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticSchemaGenerationError
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaWarningKind

from ..errors import ConfigurationError
from ..plan.encoding import dumps
from ..plan.types import JsonSchema

_DEFINITIONS = "#/$defs/"
# Words whose value maps names to schemas: the keys in it are an author's own.
_NAMED = frozenset({"properties", "patternProperties", "$defs", "dependentSchemas"})
# Words whose value is data.
_DATA = frozenset({"const", "default", "enum", "examples", "required"})
_DROPPED = frozenset({"title", "discriminator", "$schema"})


class UndescribedTypeError(Exception):
    """A type has no JSON Schema; the text says which."""


class _Generator(GenerateJsonSchema):
    # A default that is no JSON is left out of the schema, which is all the warning would say.
    ignored_warning_kinds: set[JsonSchemaWarningKind] = {  # noqa: RUF012 - as in the base class
        "skipped-choice",
        "non-serializable-default",
    }


def schema_of(kind: Any, *, mode: Literal["validation", "serialization"]) -> JsonSchema:
    """Return the schema of what goes into (validation) or comes out of (serialization) a tool.

    Raises UndescribedTypeError.
    """
    try:
        adapter = kind if isinstance(kind, TypeAdapter) else TypeAdapter(kind)
        raw = adapter.json_schema(mode=mode, schema_generator=_Generator)
    except (PydanticSchemaGenerationError, PydanticInvalidForJsonSchema) as error:
        raise UndescribedTypeError(str(error).splitlines()[0]) from error
    return plain(raw, closed=mode == "serialization")


def plain(schema: JsonSchema, *, closed: bool = False) -> JsonSchema:
    """Drop titles and put what ``$ref`` names in its place, where it does not hold itself.

    ``closed`` says of each object with fields that it has no others: what a model or a dataclass
    gives is just its fields, and a plan that asks for another one can be told before it runs.
    """
    if closed:
        schema = _close(schema)
    definitions = schema.get("$defs", {})
    kept: dict[str, Any] = {}
    cleaned: dict[str, Any] = _clean(
        {k: v for k, v in schema.items() if k != "$defs"}, definitions, (), kept
    )
    if kept:
        cleaned["$defs"] = kept
    return cleaned


def _close(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_close(each) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    named = {w: {k: _close(v) for k, v in schema[w].items()} for w in _NAMED if w in schema}
    rest = {w: v if w in _DATA else _close(v) for w, v in schema.items() if w not in _NAMED}
    is_open = "properties" not in schema or "additionalProperties" in schema
    return {**rest, **named} if is_open else {**rest, **named, "additionalProperties": False}


def _clean(
    schema: Any, definitions: Mapping[str, Any], inside: tuple[str, ...], kept: dict[str, Any]
) -> Any:
    if isinstance(schema, list):
        return [_clean(each, definitions, inside, kept) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    name = str(schema.get("$ref", "")).removeprefix(_DEFINITIONS)
    if name in definitions:
        return _resolve(schema, name, definitions, inside, kept)
    cleaned: dict[str, Any] = {}
    for word, value in schema.items():
        if word in _NAMED:
            cleaned[word] = {k: _clean(v, definitions, inside, kept) for k, v in value.items()}
        elif word in _DATA:
            cleaned[word] = value
        elif word not in _DROPPED:
            cleaned[word] = _clean(value, definitions, inside, kept)
    return cleaned


def _resolve(
    schema: Mapping[str, Any],
    name: str,
    definitions: Mapping[str, Any],
    inside: tuple[str, ...],
    kept: dict[str, Any],
) -> dict[str, Any]:
    beside = {word: value for word, value in schema.items() if word != "$ref"}
    beside = _clean(beside, definitions, inside, kept)
    if not _holds_itself(name, definitions):
        return {**_clean(definitions[name], definitions, (*inside, name), kept), **beside}
    if name not in kept and name not in inside:
        kept[name] = _clean(definitions[name], definitions, (*inside, name), kept)
    return {"$ref": f"{_DEFINITIONS}{name}", **beside}


def _holds_itself(name: str, definitions: Mapping[str, Any]) -> bool:
    seen: set[str] = set()
    ahead = _references(definitions[name])
    while ahead:
        each = ahead.pop()
        if each == name:
            return True
        if each not in seen and each in definitions:
            seen.add(each)
            ahead |= _references(definitions[each])
    return False


def _references(schema: Any) -> set[str]:
    if isinstance(schema, list):
        return set().union(*map(_references, schema)) if schema else set()
    if not isinstance(schema, Mapping):
        return set()
    given = schema.get("$ref")  # a property may have that name, and is then described by an object
    found = {given.removeprefix(_DEFINITIONS)} if isinstance(given, str) else set()
    return found.union(*(_references(v) for k, v in schema.items() if k not in _DATA))


def check_schema(where: str, schema: object, *, of_object: bool) -> JsonSchema:
    """Return an author's own schema; raises ConfigurationError unless it can be used as it is."""
    if not isinstance(schema, Mapping):
        raise ConfigurationError(f"{where} must be a JSON Schema, not {type(schema).__name__}")
    try:
        dumps(dict(schema))
        Draft202012Validator.check_schema(schema)
    except (SchemaError, TypeError, ValueError) as error:
        said = error.message if isinstance(error, SchemaError) else str(error)
        raise ConfigurationError(f"{where} is no JSON Schema: {said[:200]}") from error
    if of_object and schema.get("type", "object") != "object":
        raise ConfigurationError(f"{where} must describe an object, as arguments are one")
    known = {f"{_DEFINITIONS}{name}" for name in schema.get("$defs", {})} | {"#"}
    for reference in sorted(_references(schema)):
        if reference not in known and f"{_DEFINITIONS}{reference}" not in known:
            raise ConfigurationError(
                f"{where} refers to {reference!r}; only '#' and '#/$defs/NAME' that are in the"
                " schema itself can be used"
            )
    return schema
