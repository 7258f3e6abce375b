"""
Fold a history into a run: what readers see is computed by the engine that made it happen.

An orchestrator handles one event at a time, each at the time of its turn; so does the fold. It has
one timer: a hub also fires those that were canceled for an earlier one, and nobody listens then.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from ..engine import (
    Answered,
    Asked,
    CancelRequested,
    Event,
    EventArrived,
    Failed,
    Failure,
    Run,
    Started,
    Succeeded,
)
from ..errors import HistoryMismatchError
from ..hub import HistoryEntry
from ..plan.encoding import loads
from .run_input import RunInput, read_run_input

INBOX = "inbox"


def fold(history: Iterable[HistoryEntry]) -> tuple[RunInput, Run] | None:
    """Return the run that *history* tells of, as far as it tells; None before it has begun.

    Raises HistoryMismatchError where the history is not that of a run of this version.
    """
    run_input: RunInput | None = None
    run: Run | None = None
    steps: dict[int, str] = {}
    turn: datetime | None = None
    timer: int | None = None
    for entry in history:
        if entry.kind == "turn":
            turn = entry.at
        elif entry.kind == "started" and entry.payload is not None:
            run_input = read_run_input(entry.payload)
            run = run_input.new_run()
            run.handle([Started()], turn or entry.at)
        elif entry.kind == "scheduled":
            step = step_of(entry.payload)
            if step is not None:
                steps[entry.id] = step
        elif entry.kind == "timer_created":
            timer = entry.id
        elif run is not None and not (entry.kind == "timer_fired" and entry.of != timer):
            now = max(turn or entry.at, entry.at) if entry.kind == "timer_fired" else turn
            for events in _events(entry, steps):
                run.handle(events, now or entry.at)
    return None if run is None or run_input is None else (run_input, run)


def _events(entry: HistoryEntry, steps: dict[int, str]) -> Iterator[list[Event]]:
    match entry.kind:
        case "timer_fired":
            yield []
        case "completed" if entry.of in steps:
            yield [attempt_ended(steps[entry.of], entry.payload or "")]
        case "failed" if entry.of in steps:
            yield [attempt_lost(steps[entry.of])]
        case "event" if entry.name.lower() == INBOX:
            event = inbox_event(entry.payload or "")
            yield [event] if event is not None else []


def step_of(payload: str | None) -> str | None:
    """Return the step that an activity's input is for, or None for another activity's."""
    try:
        value: Any = loads(payload or "")
        return str(value["attempt"]["task_id"])
    except (ValueError, TypeError, KeyError):
        return None


def attempt_ended(step: str, result: str) -> Event:
    """Read what an activity returned."""
    try:
        value: Any = loads(result)
        if "failure" in value:
            return Failed(step, Failure.from_json(value["failure"]))
        usage = value.get("usage") or {}
        given, answered = int(usage.get("input_tokens", 0)), int(usage.get("output_tokens", 0))
        if "ask" in value:
            ask = value["ask"]
            return Asked(
                step=step,
                tool=str(ask["tool"]),
                args=ask["args"],
                transcript=ask["transcript"],
                input_tokens=given,
                output_tokens=answered,
            )
        return Succeeded(step, value["value"], given, answered)
    except (ValueError, TypeError, KeyError, AttributeError):
        message = f"the result of {step!r} is not in the format of this version"
        raise HistoryMismatchError(message) from None


def attempt_lost(step: str) -> Event:
    """Return the failure of an activity that could not be run or kept."""
    message = "the activity could not be run; the log of the app has the reason"
    return Failed(step, Failure(code="activity_failed", message=message))


def inbox_event(payload: str) -> Event | None:
    """Read a message to a run; None for one this version does not know."""
    try:
        value: Any = loads(payload)
        match value["kind"]:
            case "cancel":
                return CancelRequested(str(value.get("reason") or "canceled"))
            case "event":
                return EventArrived(
                    id=str(value["id"]), name=str(value["name"]), payload=value.get("payload")
                )
            case "approval":
                return Answered(
                    id=str(value["id"]),
                    step=str(value["step"]),
                    digest=str(value["digest"]),
                    approved=value["approved"] is True,
                    by=str(value.get("by") or ""),
                    comment=str(value.get("comment") or ""),
                    at=str(value.get("at") or ""),
                )
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    return None
