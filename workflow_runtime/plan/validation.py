"""Validate arguments against a tool's JSON Schema where references still leave holes in them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import UndefinedTypeCheck, UnknownType, ValidationError
from referencing import Registry
from referencing.exceptions import Unresolvable

from .encoding import dumps, loads
from .schemas import ANY, json_type
from .types import JsonSchema

type Parts = tuple[str | int, ...]

# Errors of these keywords hold whatever a reference deeper inside turns out to be.
_ABOUT_SHAPE = frozenset(
    {"type", "required", "additionalProperties", "propertyNames", "minProperties", "maxProperties"}
    | {"minItems", "maxItems"}
)
# What a schema that is none, or that holds itself without end, makes a validator raise.
_BAD_SCHEMA = (Unresolvable, UnknownType, UndefinedTypeCheck, RecursionError, TypeError, re.error)


@lru_cache(maxsize=512)
def _validator(schema_text: str) -> Draft202012Validator:
    # The empty registry: what a `$ref` names is in the schema or nowhere, and nothing is fetched.
    return Draft202012Validator(loads(schema_text), registry=Registry())


def is_valid(schema: JsonSchema, value: Any) -> bool:
    """Whether *value* is valid; also where the schema itself is not one."""
    return not errors(schema, value, {})


def errors(schema: JsonSchema, value: Any, holes: Mapping[Parts, Any]) -> list[ValidationError]:
    """Return what is wrong with *value* whatever will stand where the *holes* are.

    A schema that is not one finds nothing wrong.
    """
    if surely_valid(schema, value):
        return []
    try:
        found = list(_validator(dumps(dict(schema))).iter_errors(value))
    except _BAD_SCHEMA:
        return []
    return [error for error in found if not _is_open(error, holes)]


def _is_open(error: ValidationError, holes: Mapping[Parts, Any]) -> bool:
    """Whether a reference may still make this error go away."""
    at = tuple(error.absolute_path)
    if any(at[: len(hole)] == hole for hole in holes):
        return True
    inside = any(hole[: len(at)] == at for hole in holes)
    return inside and error.validator not in _ABOUT_SHAPE


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
