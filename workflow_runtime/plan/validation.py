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
from .schemas import surely_valid
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
