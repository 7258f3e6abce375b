"""
What a tool returned, as JSON: the one rule, which ``docs/tools.md`` states.

It converts by the value's own type, never by an annotation, and what it does not know it refuses
by type and path. So a result either is JSON or fails its task, and never reaches a history half
written.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any
from uuid import UUID

from pydantic import BaseModel
from pydantic_core import PydanticSerializationError, to_jsonable_python

from ..errors import WorkflowRuntimeError
from ..plan.encoding import scrub
from ..plan.types import Json

MAX_DEPTH = 100
"""How deep arrays and objects may be nested."""
MAX_INTEGER_BITS = 14_000
"""About 4,200 decimal digits: what every JSON reader of the runtime can read back."""

MAX_RESULT_BYTES = 1_000_000
"""How large a result may be, as JSON in UTF-8: what Durable Task Scheduler takes as one payload."""

_LONGEST_PATH = 400


class ResultNotJsonError(WorkflowRuntimeError):
    """A value has no place in JSON; ``type`` names its type, ``path`` where it stands."""

    def __init__(self, kind: str, path: str, why: str) -> None:
        super().__init__(f"{path} is of type {kind!r}: {why}")
        self.type = kind
        self.path = path


class ResultTooLargeError(WorkflowRuntimeError):
    """A result is larger than MAX_RESULT_BYTES."""

    def __init__(self, size: int) -> None:
        super().__init__(
            f"its result has {size:,} bytes as JSON and at most {MAX_RESULT_BYTES:,} are kept;"
            " return less, or store it and return where it is"
        )


class _Refusal(Exception):  # noqa: N818 - never leaves this module
    """Carries the path up, one segment a level, so that a value that is fine pays nothing."""

    def __init__(self, value: object, why: str) -> None:
        super().__init__()
        self.kind = type(value).__qualname__
        self.why = why
        self.segments: list[str] = []


def to_json(value: Any, name: str = "result") -> Json:
    """Convert *value*; raises ResultNotJsonError naming the type and the path.

    ``name`` is what the path begins with.
    """
    try:
        return _convert(value, 0)
    except _Refusal as refusal:
        path = name + "".join(reversed(refusal.segments))
        short = path if len(path) <= _LONGEST_PATH else path[: _LONGEST_PATH - 1] + "…"
        raise ResultNotJsonError(refusal.kind, short, refusal.why) from None


def _convert(value: Any, depth: int) -> Json:
    if depth > MAX_DEPTH:
        raise _Refusal(value, f"nested deeper than {MAX_DEPTH} levels, or it holds itself")
    if isinstance(value, Enum):
        return _convert(value.value, depth + 1)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str | PurePath):
        text = str(value)
        return text if text.isascii() else scrub(text)
    if isinstance(value, int | float | Decimal):
        return _number(value)
    if isinstance(value, date | time | timedelta | UUID):
        return str(to_jsonable_python(value))
    return _container(value, depth)


def _number(value: float | Decimal) -> Json:
    if isinstance(value, int):
        if value.bit_length() > MAX_INTEGER_BITS:
            raise _Refusal(value, "it has too many digits; return it as text")
        return int(value)
    finite = value.is_finite() if isinstance(value, Decimal) else math.isfinite(value)
    if not finite:
        raise _Refusal(value, f"{value!s} is no JSON number; return None for what is not known")
    return str(value) if isinstance(value, Decimal) else float(value)


def _container(value: Any, depth: int) -> Json:
    if isinstance(value, BaseModel):
        return _convert(_dumped(value), depth + 1)
    if is_dataclass(value) and not isinstance(value, type):
        return _object(((f.name, getattr(value, f.name)) for f in fields(value)), depth)
    if isinstance(value, Mapping):
        return _object(value.items(), depth)
    if isinstance(value, list | tuple):
        return _array(value, depth)
    raise _Refusal(value, _advice(value))


def _array(values: Iterable[Any], depth: int) -> Json:
    converted: list[Json] = []
    try:
        for each in values:
            converted.append(_convert(each, depth + 1))  # noqa: PERF401 - the index is wanted
    except _Refusal as refusal:
        refusal.segments.append(f"[{len(converted)}]")
        raise
    return converted


def _object(items: Iterable[tuple[Any, Any]], depth: int) -> Json:
    converted: dict[str, Json] = {}
    for key, each in items:
        name = _key(key)
        if name in converted:
            raise _Refusal(key, f"two keys are both {name[:80]!r} as text")
        try:
            converted[name] = _convert(each, depth + 1)
        except _Refusal as refusal:
            refusal.segments.append(f".{name[:80]}")
            raise
    return converted


def _key(key: Any) -> str:
    try:
        name = _convert(key, 0) if isinstance(key, str | int | date | UUID | Enum) else None
    except _Refusal:
        name = None
    if isinstance(name, str | int) and not isinstance(name, bool):
        return str(name)
    refusal = _Refusal(key, "keys are text, whole numbers, dates, UUIDs or enums")
    refusal.segments.append(".<key>")
    raise refusal


def _dumped(model: BaseModel) -> Any:
    try:
        return model.model_dump(mode="json", by_alias=True, warnings=False)
    except (PydanticSerializationError, ValueError) as error:
        raise _Refusal(model, "pydantic cannot serialise one of its fields") from error


def _advice(value: object) -> str:
    if isinstance(value, set | frozenset):
        return "a set has no order; return a list, such as sorted(values)"
    if isinstance(value, bytes | bytearray | memoryview):
        return "decode it to text, or encode it with base64"
    return "return JSON values, dataclasses or pydantic models"
