"""
Our own JSON: what every payload, history entry and message to a model is written in.

Compact, with real characters. Unlike :mod:`json` it never writes NaN or a lone surrogate, never
reads ``NaN`` or ``Infinity``, and answers every bad text with one ValueError.
"""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

from .types import Json


def dumps(value: Json) -> str:
    """Write *value* as compact JSON; a lone surrogate becomes U+FFFD.

    Raises ValueError for NaN, infinities, cycles and nesting that is too deep, TypeError for what
    is not JSON.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except RecursionError:
        message = "the value is nested too deeply"
        raise ValueError(message) from None
    return text if text.isascii() else scrub(text)


def canonical(value: Json) -> str:
    """Write *value* so that equal values give equal texts; raises as :func:`dumps`."""
    try:
        text = json.dumps(value, allow_nan=False, separators=(",", ":"), sort_keys=True)
    except RecursionError:
        message = "the value is nested too deeply"
        raise ValueError(message) from None
    return text


def scrub(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot carry."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def loads(text: str | bytes) -> Any:
    """Read JSON; raises ValueError, and nothing else, for whatever is not.

    Duplicate keys keep the last value, as in :mod:`json`.
    """
    try:
        return json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)
    except RecursionError:
        message = "the JSON is nested too deeply"
        raise ValueError(message) from None


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        message = "a number is too large"
        raise ValueError(message)
    return value


def _refuse_constant(name: str) -> NoReturn:
    message = f"{name} is not JSON"
    raise ValueError(message)
