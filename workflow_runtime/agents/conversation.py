"""
What a model is told of a session: a bounded tail of its records.

The newest turns that fit into ``MAX_RECORDS`` records and ``MAX_CHARACTERS`` characters, whole
turns only, and always the turn that is going on. Tool calls are told again as calls, for the newest
``TURNS_WITH_CALLS`` turns that have some: what a model reads of its calls in plain text it soon
writes in plain text. A turn that failed leaves its calls, if it made any, and no words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ..plan.encoding import dumps, loads
from .sessions import Record, ToolCall

MAX_RECORDS = 80
MAX_CHARACTERS = 60_000
TURNS_WITH_CALLS = 3
MAX_CALL_CHARACTERS = 12_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One message to a model; ``calls`` and their answers come before the text."""

    role: Literal["user", "assistant"]
    text: str
    calls: tuple[ToolCall, ...] = ()


def kept(call: ToolCall) -> ToolCall:
    """Return the call as it is stored: long arguments are left out, a long answer is cut."""
    arguments, result = call.arguments, call.result
    if len(arguments) > MAX_CALL_CHARACTERS:
        arguments = dumps({"omitted": f"{len(arguments)} characters"})
    if len(result) > MAX_CALL_CHARACTERS:
        result = f"{result[:MAX_CALL_CHARACTERS]}… (cut)"
    return replace(call, arguments=arguments, result=result)


def entries(records: Sequence[Record]) -> tuple[Entry, ...]:
    """Return what a model is told of these records, of which the last begins the turn."""
    turns = _turns(records)
    chosen: list[list[Record]] = []
    size = number = with_calls = 0
    for turn in reversed(turns):
        if any(record.calls for record in turn):
            with_calls += 1
            if with_calls > TURNS_WITH_CALLS:
                turn = [replace(record, calls=()) for record in turn]  # noqa: PLW2901
        size += sum(_size(record) for record in turn)
        number += len(turn)
        if chosen and (size > MAX_CHARACTERS or number > MAX_RECORDS):
            break
        chosen.append(turn)
    told = [_entry(record) for turn in reversed(chosen) for record in turn]
    return tuple(_merged([entry for entry in told if entry.text or entry.calls]))


def _turns(records: Sequence[Record]) -> list[list[Record]]:
    turns: list[list[Record]] = []
    for record in records:
        if record.kind in {"user", "notification"} or not turns:
            turns.append([record])
        else:
            turns[-1].append(record)
    return turns


def _entry(record: Record) -> Entry:
    if record.kind in {"user", "notification"}:
        text = record.text
        if record.context:
            text = f"{text}\n\n<context>\n{record.context}\n</context>"
        return Entry(role="user", text=text)
    calls = tuple(call for call in record.calls if _is_object(call.arguments))
    return Entry(role="assistant", text="" if record.kind == "failed" else record.text, calls=calls)


def _merged(told: Sequence[Entry]) -> list[Entry]:
    """Join neighbours of one role: some providers want the roles to alternate."""
    merged: list[Entry] = []
    for entry in told:
        last = merged[-1] if merged else None
        if last and last.role == entry.role == "user":
            merged[-1] = replace(last, text=f"{last.text}\n\n{entry.text}")
        else:
            merged.append(entry)
    return merged


def _size(record: Record) -> int:
    calls = sum(len(call.arguments) + len(call.result) for call in record.calls)
    return len(record.text) + len(record.context or "") + calls


def _is_object(text: str) -> bool:
    try:
        return isinstance(loads(text), dict)
    except ValueError:
        return False
