"""
Plain paths: ``name(.key | .digits | [int] | ["key"])*``, the reference most plans need.

A path is strict: what is not there is an error that names the missing segment and what is there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import TemplateError
from .types import type_name

type Segment = str | int

_STEP = re.compile(
    r"\.(?P<key>[A-Za-z0-9_-]+)"
    r"|\[\s*(?P<index>-?[0-9]+)\s*\]"
    r'|\[\s*(?P<quoted>"(?:[^"\\]|\\.)*")\s*\]',
    re.ASCII,
)
_HEAD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_MAX_DIGITS = 9
_SHOWN_KEYS = 12


@dataclass(frozen=True, slots=True)
class Path:
    """A parsed plain path; ``head`` is a task id, ``input``, ``context``, ``item`` or ``index``."""

    head: str
    segments: tuple[Segment, ...]

    def __str__(self) -> str:
        return self.head + "".join(map(spell, self.segments))


def spell(segment: Segment) -> str:
    """Write one segment the way the documentation does."""
    if isinstance(segment, int):
        return f"[{segment}]"
    if re.fullmatch(r"[A-Za-z0-9_-]+", segment, re.ASCII):
        return f".{segment}"
    return f"[{json.dumps(segment, ensure_ascii=False)}]"


def match_path(text: str, start: int = 0) -> tuple[Path, int] | None:
    """Parse a path at *start*; return it with the position behind it, or None."""
    head = _HEAD.match(text, start)
    if head is None:
        return None
    segments: list[Segment] = []
    end = head.end()
    while found := _STEP.match(text, end):
        segment = _segment(found)
        if segment is None:
            return None
        segments.append(segment)
        end = found.end()
    return Path(head[0], tuple(segments)), end


def parse_path(text: str) -> Path | None:
    """Parse *text*, or return None where it is not wholly a plain path."""
    found = match_path(text)
    return found[0] if found and found[1] == len(text) else None


def _segment(found: re.Match[str]) -> Segment | None:
    if found["quoted"] is not None:
        try:
            return str(json.loads(found["quoted"]))
        except ValueError:
            return None
    key = found["key"]
    if key is None:
        return int(found["index"]) if len(found["index"]) <= _MAX_DIGITS else None
    is_number = key.isdigit() and key.isascii() and len(key) <= _MAX_DIGITS
    return int(key) if is_number and (key == "0" or key[0] != "0") else key


def look_up(value: Any, path: Path, done: Iterable[Segment] = ()) -> Any:
    """Walk *path*'s segments from *value*, strictly; *done* were walked before.

    Raises TemplateError (``reference_missing``) at the first segment that is not there. A number
    walks an array, and an object that has it as a key.
    """
    done = list(done)
    for segment in path.segments[len(done) :]:
        match value:
            case list() if isinstance(segment, int) and -len(value) <= segment < len(value):
                value = value[segment]
            case dict() if segment in value:
                value = value[segment]
            case dict() if isinstance(segment, int) and str(segment) in value:
                value = value[str(segment)]
            case _:
                raise _missing(path, segment, value, path.head + "".join(map(spell, done)))
        done.append(segment)
    return value


def _missing(path: Path, segment: Segment, value: Any, where: str) -> TemplateError:
    match value:
        case Mapping():
            keys = [repr(str(key)) for key in list(value)[:_SHOWN_KEYS]]
            keys += ["…"] if len(value) > _SHOWN_KEYS else []
            there = f"has the keys {', '.join(keys)}" if keys else "is an empty object"
        case list() if value and isinstance(segment, int):
            there = f"has {len(value)} elements"
        case list():
            there = f"is an array of {len(value)} elements"
        case _:
            there = f"is {type_name(value)}"
    message = f"${{{path}}} has no value at {spell(segment)}: {where} {there}"
    return TemplateError("reference_missing", message)
