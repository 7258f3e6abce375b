"""
Resolved arguments against a tool's JSON Schema, the last check before its code runs.

What is said names the path, what is wanted and what was found, and never repeats the text that
was given: it may be a megabyte or a secret.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any, cast

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from referencing import Registry

from ..plan.types import Json, JsonSchema, type_name

_SHOWN = 5
_ARTICLES = {"null": "null", "array": "an array", "object": "an object", "integer": "an integer"}
_WORDS = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "more than {}",
    "exclusiveMaximum": "less than {}",
    "multipleOf": "a multiple of {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "pattern": "matching {}",
    "format": "in the format {}",
}


class InvalidArgumentsError(Exception):
    """A tool's arguments are not what it takes; the text is safe to show."""


class ArgumentsCheck:
    """One validator, built once for each tool.

    A ``$ref`` that leaves the schema is never fetched.
    """

    def __init__(self, schema: JsonSchema | None) -> None:
        self._validator = Draft202012Validator(
            schema or {}, registry=Registry(), format_checker=None
        )

    def __call__(self, arguments: Json) -> None:
        """Raise InvalidArgumentsError, which names up to five problems, unless all is well."""
        if not isinstance(arguments, dict):
            message = f"the arguments must be an object, not {type_name(arguments)}"
            raise InvalidArgumentsError(message)
        errors = sorted(_leaves(self._validator.iter_errors(arguments)), key=_order)
        if errors:
            said = list(dict.fromkeys(text for error in errors for text in _say(error)))
            more = [f"and {len(said) - _SHOWN} more"] if len(said) > _SHOWN else []
            raise InvalidArgumentsError("; ".join(said[:_SHOWN] + more))


def _order(error: ValidationError) -> str:
    return error.json_path


def _leaves(errors: Iterable[ValidationError]) -> Iterator[ValidationError]:
    """Look into ``anyOf`` where one branch at least has the right type."""
    for error in errors:
        depth = len(error.absolute_path)
        inside = [e for e in error.context or () if len(e.absolute_path) > depth]
        wrong_type = {
            e.schema_path[0]
            for e in error.context or ()
            if len(e.absolute_path) == depth and e.validator == "type"
        }
        near = [e for e in inside if e.schema_path[0] not in wrong_type]
        yield from near or (error,)


def _say(error: ValidationError) -> Iterator[str]:
    path = pointer(error.absolute_path)
    schema = error.schema if isinstance(error.schema, Mapping) else {}
    properties = schema.get("properties", {})
    given: Any = error.instance
    if error.validator == "required":
        for name in cast("list[str]", error.validator_value):
            if name not in given:
                want = wanted(properties.get(name, {}))
                yield f"{path}/{name}: wanted {want}, found nothing (it is required)"
    elif error.validator in ("additionalProperties", "unevaluatedProperties"):
        patterns = schema.get("patternProperties", {})
        for name in given:
            if name in properties or any(re.search(pattern, name) for pattern in patterns):
                continue
            yield f"{path}/{_short(name)}: unknown argument; {_suggest(name, properties)}"
    else:
        yield f"{path or 'the arguments'}: wanted {wanted(schema)}, {found(given)}"


def _suggest(name: str, properties: Mapping[str, Any]) -> str:
    if near := get_close_matches(name[:100], properties, 1):
        return f"did you mean {near[0]!r}?"
    return f"known are {', '.join(list(properties)[:20])}" if properties else "there are none"


def pointer(path: Iterable[str | int]) -> str:
    """Write a path within the arguments as a JSON pointer."""
    return "".join(f"/{_short(str(part).replace('~', '~0').replace('/', '~1'))}" for part in path)


def wanted(schema: Any) -> str:
    """Say in a few words what a schema wants."""
    if not isinstance(schema, Mapping) or not schema:
        return "a value" if schema is not False else "nothing"
    if "const" in schema:
        return _short(repr(schema["const"]))
    if "enum" in schema:
        shown = ", ".join(_short(repr(each)) for each in schema["enum"][:12])
        return f"one of {shown}" + (", …" if len(schema["enum"]) > 12 else "")
    choices = schema.get("anyOf") or schema.get("oneOf")
    if choices and "type" not in schema:
        return " or ".join(dict.fromkeys(wanted(choice) for choice in choices[:8]))
    kinds = schema.get("type", ())
    kinds = [kinds] if isinstance(kinds, str) else kinds
    said = " or ".join(_ARTICLES.get(kind, f"a {kind}") for kind in kinds) or "a value"
    bounds = (
        text.format(_short(str(schema[word]))) for word, text in _WORDS.items() if word in schema
    )
    return " ".join([said, *bounds])


def found(value: Any) -> str:
    """Say what a value is; only a number that is short is shown itself."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        shown = f"{value!r}" if abs(value) < 1e15 else ""
        return f"found {type_name(value)} {shown}".rstrip()
    if isinstance(value, str | list):
        return f"found {type_name(value)} of length {len(value)}"
    return f"found {type_name(value)}"


def _short(text: str) -> str:
    flat = re.sub(r"\s+", " ", text)
    return flat if len(flat) <= 80 else flat[:79] + "…"
