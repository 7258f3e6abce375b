"""Texts and JSON that a command is given, inline or in a file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from ..errors import InvalidRequestError
from ..plan.encoding import loads
from ..plan.types import Json


def read_text(source: str) -> str:
    """Read a file, or standard input for ``-``; raises InvalidRequestError."""
    try:
        return sys.stdin.read() if source == "-" else Path(source).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        message = f"{source!r} cannot be read: {reason}"
        raise InvalidRequestError(message) from None


def text_or_file(given: str | None) -> str | None:
    """Return the text, or what is in the file of ``@FILE``."""
    return read_text(given[1:]) if given is not None and given.startswith("@") else given


def read_json(given: str | None, what: str) -> Json:
    """Return the JSON that was given, inline or as ``@FILE``; raises InvalidRequestError."""
    text = text_or_file(given)
    if text is None:
        return None
    try:
        value: Any = loads(text)
    except ValueError as error:
        message = f"{what} is not JSON: {error}"
        raise InvalidRequestError(message) from None
    return value  # type: ignore[no-any-return]
