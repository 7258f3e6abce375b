"""The JSON types that every layer speaks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

type Json = None | bool | int | float | str | list[Json] | dict[str, Json]
type JsonSchema = Mapping[str, Any]


def type_name(value: object) -> str:
    """Return the JSON name of a value's type, as people say it in messages."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int():
            return "an integer"
        case float():
            return "a number"
        case str():
            return "a string"
        case list() | tuple():
            return "an array"
        case dict():
            return "an object"
        case _:
            return type(value).__name__
