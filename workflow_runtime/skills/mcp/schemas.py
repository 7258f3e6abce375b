"""
JSON Schemas of other people's servers, in the form that is used here.

They come from many libraries and drafts. What older drafts say in other words is said in those of
2020-12; a ``$ref`` to any place in the same document becomes one to ``#/$defs/NAME``. What then is
no JSON Schema, or refers to something outside of itself, is refused: nothing is ever fetched.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from ...errors import ConfigurationError
from ...plan.types import JsonSchema
from ..schemas import check_schema, plain

_NAMED = frozenset({"properties", "patternProperties", "dependentSchemas"})
_DATA = frozenset({"const", "default", "dependentRequired", "enum", "examples", "required"})
# What references name is gathered under the document's own "$defs".
_DROPPED = frozenset({"$schema", "$id", "id", "$anchor", "$comment", "$defs", "definitions"})
_UNUSABLE = ("$dynamicRef", "$recursiveRef")
_MAX_NODES = 20_000


def read_schema(where: str, schema: object, *, of_object: bool) -> JsonSchema:
    """Return the schema as it is used here; raises ConfigurationError unless it can be."""
    if not isinstance(schema, Mapping):
        return check_schema(where, schema, of_object=of_object)
    try:
        checked = check_schema(where, _Reader(where, schema).whole(), of_object=of_object)
        return plain(checked) if _written_out(checked) <= _MAX_NODES else checked
    except RecursionError as error:
        raise ConfigurationError(f"{where} is too deep") from error


def _written_out(schema: JsonSchema) -> int:
    """Return how many nodes the schema has with each reference replaced by what it names.

    Where references share much, that is exponential in its length.
    """
    definitions = schema.get("$defs", {})
    known: dict[str, int] = {}

    def count(node: Any) -> int:
        if isinstance(node, list):
            return 1 + sum(map(count, node))
        if not isinstance(node, Mapping):
            return 1
        return 1 + size_of(node.get("$ref")) + sum(map(count, node.values()))

    def size_of(reference: Any) -> int:
        name = str(reference or "").removeprefix("#/$defs/")
        if name in definitions and name not in known:
            known[name] = 1  # as long as it is being counted: one that holds itself stays
            known[name] = count(definitions[name])
        return known.get(name, 0)

    return count({word: value for word, value in schema.items() if word != "$defs"})


class _Reader:
    """Rewrites one document; what references name is gathered under its ``$defs``."""

    def __init__(self, where: str, document: Mapping[str, Any]) -> None:
        self._where = where
        self._document = document
        self._names: dict[str, str] = {}
        self._ahead: list[str] = []

    def whole(self) -> dict[str, Any]:
        """Return the document with all that it refers to under ``$defs``."""
        read: dict[str, Any] = self._read(self._document)
        definitions: dict[str, Any] = {}
        while self._ahead:
            reference = self._ahead.pop()
            definitions[self._names[reference]] = self._read(self._at(reference))
        return {**read, "$defs": definitions} if definitions else read

    def _read(self, schema: Any) -> Any:
        if isinstance(schema, list):
            return [self._read(each) for each in schema]
        if not isinstance(schema, Mapping):
            return schema
        read: dict[str, Any] = {}
        for word, value in _of_2020(schema).items():
            if word in _NAMED and isinstance(value, Mapping):
                read[word] = {k: self._read(v) for k, v in value.items()}
            elif word == "$ref" and isinstance(value, str):
                read[word] = self._hoisted(value)
            elif word in _UNUSABLE:
                raise ConfigurationError(f"{self._where} uses {word!r}, which cannot be used here")
            elif word in _DATA:
                read[word] = value
            elif word not in _DROPPED and not (word == "pattern" and not _compiles(value)):
                read[word] = self._read(value)
        return read

    def _hoisted(self, reference: str) -> str:
        """Return the reference as one to ``$defs``, where what it names will stand."""
        if reference == "#" or not reference.startswith("#/"):
            return reference  # of the whole, or refused by the check that follows
        if reference not in self._names:
            name = re.sub(r"[^A-Za-z0-9_.-]", "_", reference.rsplit("/", 1)[-1]) or "it"
            if name in self._names.values():
                name = f"{name}_{len(self._names)}"
            self._names[reference] = name
            self._ahead.append(reference)
        return f"#/$defs/{self._names[reference]}"

    def _at(self, reference: str) -> Any:
        place: Any = self._document
        for part in unquote(reference[2:]).split("/"):
            key = part.replace("~1", "/").replace("~0", "~")
            if isinstance(place, list) and key.isdecimal() and int(key[:9]) < len(place):
                place = place[int(key[:9])]
            elif isinstance(place, Mapping) and key in place:
                place = place[key]
            else:
                raise ConfigurationError(
                    f"{self._where} refers to {reference[:80]!r}, which is not in it"
                )
        return place


def _of_2020(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Say in the words of draft 2020-12 what drafts 4 to 2019-09 say of arrays by place."""
    items = schema.get("items")
    if not isinstance(items, list):
        return schema
    rest = {k: v for k, v in schema.items() if k not in ("items", "additionalItems")}
    more = schema.get("additionalItems")
    return {**rest, "prefixItems": items, **({} if more is None else {"items": more})}


def _compiles(pattern: object) -> bool:
    """Tell whether Python reads the pattern: what it does not read only the server can check."""
    if not isinstance(pattern, str):
        return True
    try:
        re.compile(pattern)
    except re.error:
        return False
    return True
