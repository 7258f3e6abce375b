"""
Reading instances: one, a page of many, a history.

Ranges of ids go through the index on ``id``, in the order of ids, so a page costs what it returns
and a continuation token (the last id seen) stays right while instances come and go. Without
payloads, no payload is read.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from durabletask.internal import orchestrator_service_pb2 as pb

from . import events
from .clock import Micros, to_timestamp

PAGE = 100
MAX_PAGE = 1_000
# Clients refuse messages above 4 MiB unless told otherwise; a page ends well below.
PAGE_BYTES = 2 * 1024 * 1024
_HISTORY_CHUNK = 200

_COLUMNS = (
    "i.id, i.name, i.version, i.status, i.scheduled_us, i.created_us, i.updated_us,"
    " i.completed_us, i.execution, i.parent_id, i.tags, i.custom_status, i.failure"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Criteria:
    """Which instances; times are a half-open range, ``after`` is the last id already seen."""

    prefix: str = ""
    statuses: tuple[int, ...] = ()
    created_from: Micros | None = None
    created_to: Micros | None = None
    after: str | None = None


def prefix_end(prefix: str) -> str | None:
    """The smallest string above all that start with ``prefix``; None if there is none."""
    for length in range(len(prefix), 0, -1):
        code = ord(prefix[length - 1])
        if code < 0x10FFFF:
            # Surrogates are no characters: after U+D7FF comes U+E000.
            following = 0xE000 if code == 0xD7FF else code + 1
            return prefix[: length - 1] + chr(following)
    return None


def select(criteria: Criteria, limit: int, *, payloads: bool) -> tuple[str, list[Any]]:
    """The statement for a page, and its arguments."""
    conditions: list[str] = []
    arguments: list[Any] = []

    def add(condition: str, *values: Any) -> None:
        conditions.append(condition)
        arguments.extend(values)

    if criteria.after is not None and criteria.after >= criteria.prefix:
        add("i.id > ?", criteria.after)
    elif criteria.prefix:
        add("i.id >= ?", criteria.prefix)
    if (end := prefix_end(criteria.prefix)) is not None:
        add("i.id < ?", end)
    if criteria.statuses:
        marks = ", ".join("?" * len(criteria.statuses))
        add(f"i.status IN ({marks})", *criteria.statuses)
    if criteria.created_from is not None:
        add("i.created_us >= ?", criteria.created_from)
    if criteria.created_to is not None:
        add("i.created_us < ?", criteria.created_to)
    source = "instances i"
    columns = _COLUMNS
    if payloads:
        source += " JOIN payloads p ON p.key = i.key"
        columns += ", p.input, p.output"
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    statement = f"SELECT {columns} FROM {source}{where} ORDER BY i.id LIMIT ?"  # noqa: S608
    return statement, [*arguments, limit]


def page(
    reader: sqlite3.Connection, criteria: Criteria, limit: int, *, payloads: bool
) -> tuple[list[pb.OrchestrationState], str | None]:
    """A page of instances in the order of their ids, and the token for the next one."""
    limit = min(limit, MAX_PAGE) if limit > 0 else PAGE
    statement, arguments = select(criteria, limit + 1, payloads=payloads)
    states: list[pb.OrchestrationState] = []
    size = 0
    for row in reader.execute(statement, arguments):
        if len(states) == limit or size > PAGE_BYTES:
            return states, states[-1].instanceId
        state = _state(row)
        size += state.ByteSize()
        states.append(state)
    return states, None


def one(
    reader: sqlite3.Connection, instance_id: str, *, payloads: bool
) -> pb.OrchestrationState | None:
    """One instance, or None."""
    columns, source = _COLUMNS, "instances i"
    if payloads:
        columns += ", p.input, p.output"
        source += " JOIN payloads p ON p.key = i.key"
    row = reader.execute(
        f"SELECT {columns} FROM {source} WHERE i.id = ?",  # noqa: S608
        (instance_id,),
    ).fetchone()
    return None if row is None else _state(row)


def status(reader: sqlite3.Connection, instance_id: str) -> int | None:
    """Only the status of an instance, or None."""
    row = reader.execute("SELECT status FROM instances WHERE id = ?", (instance_id,)).fetchone()
    return None if row is None else int(row[0])


def history(reader: sqlite3.Connection, instance_id: str) -> list[bytes] | None:
    """The committed history of an instance, encoded, or None if there is no such instance."""
    row = reader.execute("SELECT key FROM instances WHERE id = ?", (instance_id,)).fetchone()
    if row is None:
        return None
    rows = reader.execute("SELECT event FROM history WHERE key = ? ORDER BY seq", (row[0],))
    return [event for (event,) in rows]


def chunks(history_events: Sequence[bytes]) -> Iterator[pb.HistoryChunk]:
    """A history in messages that every client accepts."""
    chunk = pb.HistoryChunk()
    size = 0
    for event in history_events:
        if chunk.events and (len(chunk.events) == _HISTORY_CHUNK or size + len(event) > PAGE_BYTES):
            yield chunk
            chunk, size = pb.HistoryChunk(), 0
        chunk.events.add().ParseFromString(event)
        size += len(event)
    if chunk.events:
        yield chunk


def completed_ids(
    reader: sqlite3.Connection,
    *,
    statuses: Sequence[int],
    completed_from: Micros | None,
    completed_to: Micros | None,
    after: tuple[Micros, str] | None,
    limit: int,
) -> list[tuple[Micros, str]]:
    """Ids of instances that have ended, in the order in which they did."""
    conditions = ["completed_us IS NOT NULL"]
    arguments: list[Any] = []
    if after is not None:
        conditions.append("(completed_us, id) > (?, ?)")
        arguments.extend(after)
    if completed_from is not None:
        conditions.append("completed_us >= ?")
        arguments.append(completed_from)
    if completed_to is not None:
        conditions.append("completed_us < ?")
        arguments.append(completed_to)
    if statuses:
        conditions.append(f"status IN ({', '.join('?' * len(statuses))})")
        arguments.extend(statuses)
    statement = (
        f"SELECT completed_us, id FROM instances WHERE {' AND '.join(conditions)}"  # noqa: S608
        " ORDER BY completed_us, id LIMIT ?"
    )
    return reader.execute(statement, [*arguments, limit]).fetchall()


def _state(row: Sequence[Any]) -> pb.OrchestrationState:
    (
        instance_id, name, version, status_, scheduled, created, updated, completed,
        execution, parent_id, tags, custom_status, failure, *payloads,
    ) = row  # fmt: skip
    state = pb.OrchestrationState(
        instanceId=instance_id,
        name=name,
        version=events.text(version),
        orchestrationStatus=status_,
        scheduledStartTimestamp=None if scheduled is None else to_timestamp(scheduled),
        createdTimestamp=to_timestamp(created),
        lastUpdatedTimestamp=to_timestamp(updated),
        completedTimestamp=None if completed is None else to_timestamp(completed),
        executionId=events.text(execution),
        parentInstanceId=events.text(parent_id),
        customStatus=events.text(custom_status),
        tags=json.loads(tags) if tags else None,
    )
    if failure is not None:
        state.failureDetails.ParseFromString(failure)
    if payloads:
        given, output = payloads
        if given is not None:
            state.input.value = given
        if output is not None:
            state.output.value = output
    return state
