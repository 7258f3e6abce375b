"""
durabletask's history events as the entries the service folds.

Only what the engine has a use for is kept; payloads come back as the strings that were handed in.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from durabletask import history

from ..hub import HistoryEntry


def plain(serialized: str | None) -> str | None:
    """Take off what the SDK's codec put around a string of ours.

    A text that is not a JSON string (a reason that the extension stored as it came) stays as it is.
    """
    if serialized is None:
        return None
    try:
        value = json.loads(serialized)
    except (ValueError, RecursionError):
        return serialized
    return value if isinstance(value, str) else serialized


def entries(events: Iterable[history.HistoryEvent]) -> Iterator[HistoryEntry]:
    """Yield the entries of *events* in their order."""
    for event in events:
        entry = _entry(event)
        if entry is not None:
            yield entry


def _entry(event: history.HistoryEvent) -> HistoryEntry | None:  # noqa: PLR0911 one case per kind
    at, number = utc(event.timestamp), event.event_id
    match event:
        case history.OrchestratorStartedEvent():
            return HistoryEntry(kind="turn", at=at, id=number)
        case history.ExecutionStartedEvent(name=name, input=payload):
            return HistoryEntry(kind="started", at=at, id=number, name=name, payload=plain(payload))
        case history.TaskScheduledEvent(name=name, input=payload):
            return HistoryEntry(
                kind="scheduled", at=at, id=number, name=name, payload=plain(payload)
            )
        case history.TaskCompletedEvent(task_scheduled_id=of, result=payload):
            return HistoryEntry(kind="completed", at=at, id=number, of=of, payload=plain(payload))
        case history.TaskFailedEvent(task_scheduled_id=of, failure_details=failure):
            text = failure.message if failure is not None else None
            return HistoryEntry(kind="failed", at=at, id=number, of=of, payload=text)
        case history.TimerCreatedEvent():
            return HistoryEntry(kind="timer_created", at=at, id=number)
        case history.TimerFiredEvent(timer_id=of):
            return HistoryEntry(kind="timer_fired", at=at, id=number, of=of)
        case history.EventRaisedEvent(name=name, input=payload):
            return HistoryEntry(kind="event", at=at, id=number, name=name, payload=plain(payload))
        case _:
            return None


def utc(time: datetime) -> datetime:
    """Read durabletask's naive times for what they are: UTC."""
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
