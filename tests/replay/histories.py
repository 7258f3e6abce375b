"""
Recorded histories: read one, split it into its turns, run each turn again.

A file holds the events of one run as the hub gave them, and what the run was seen to be then.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from durabletask import history
from durabletask.internal import orchestrator_service_pb2 as pb
from durabletask.serialization import JsonDataConverter
from durabletask.worker import _OrchestrationExecutor, _Registry
from google.protobuf.json_format import MessageToDict, ParseDict

from workflow_runtime.engine import Run
from workflow_runtime.hosts.durable import orchestrate
from workflow_runtime.hosts.entries import entries
from workflow_runtime.plan.types import Json
from workflow_runtime.service import ORCHESTRATOR
from workflow_runtime.service.fold import fold

FOLDER = Path(__file__).parent / "recorded"
ACTIONS = ("taskScheduled", "timerCreated", "subOrchestrationInstanceCreated", "eventSent")

type Events = list[pb.HistoryEvent]
type Action = tuple[int, str, Any]


def write(path: Path, events: Sequence[pb.HistoryEvent], seen: dict[str, Json]) -> None:
    """Keep a history."""
    for event in events:
        if event.HasField("taskFailed"):  # it names the folders of the machine
            event.taskFailed.failureDetails.ClearField("stackTrace")
    value = {"seen": seen, "events": [MessageToDict(event) for event in events]}
    text = json.dumps(value, indent=1, ensure_ascii=False, sort_keys=True)
    path.write_text(text + "\n", encoding="utf-8")


def read(path: Path) -> tuple[Events, dict[str, Json]]:
    """Return the events, and what the run was seen to be."""
    value = json.loads(path.read_text(encoding="utf-8"))
    return [ParseDict(event, pb.HistoryEvent()) for event in value["events"]], value["seen"]


def turns(events: Events) -> Iterator[tuple[Events, Events, list[Action]]]:
    """Yield of each turn: the history before it, what it brought, the actions it took."""
    starts = [n for n, event in enumerate(events) if event.HasField("orchestratorStarted")]
    for start, end in zip(starts, [*starts[1:], len(events)], strict=True):
        turn = events[start:end]
        taken = [_recorded(event) for event in turn]
        first = next((n for n, action in enumerate(taken) if action is not None), len(turn))
        brought = [one for one in turn[:first] if not one.HasField("orchestratorCompleted")]
        yield events[:start], brought, [action for action in taken if action is not None]


def _recorded(event: pb.HistoryEvent) -> Action | None:
    kind = event.WhichOneof("eventType")
    match kind:
        case "taskScheduled":
            return event.eventId, event.taskScheduled.name, event.taskScheduled.input.value
        case "timerCreated":
            return event.eventId, "timer", event.timerCreated.fireAt.ToDatetime()
        case "executionCompleted":
            return 0, "end", event.executionCompleted.result.value
        case _:
            assert kind not in ACTIONS, kind
            return None


def run_again(instance_id: str, past: Events, brought: Events) -> list[Action]:
    """Return what today's orchestrator does in a turn, as durabletask's worker runs it."""
    registry = _Registry()
    orchestrator: Any = orchestrate
    registry.add_named_orchestrator(ORCHESTRATOR, orchestrator)
    log = logging.getLogger("tests.replay")
    executor = _OrchestrationExecutor(registry, log, JsonDataConverter())
    done = executor.execute(instance_id, past, brought)
    return [_taken(action) for action in done.actions]


def _taken(action: pb.OrchestratorAction) -> Action:
    match action.WhichOneof("orchestratorActionType"):
        case "scheduleTask":
            return action.id, action.scheduleTask.name, action.scheduleTask.input.value
        case "createTimer":
            return action.id, "timer", action.createTimer.fireAt.ToDatetime()
        case "completeOrchestration":
            end = action.completeOrchestration
            assert end.orchestrationStatus == pb.ORCHESTRATION_STATUS_COMPLETED, end.failureDetails
            return 0, "end", end.result.value
        case kind:
            raise AssertionError(kind)


def instance_of(events: Events) -> str:
    """Return the id of the run."""
    started = next(event for event in events if event.HasField("executionStarted"))
    return str(started.executionStarted.orchestrationInstance.instanceId)


def folded(events: Events) -> Run:
    """Return the run as the service reads it."""
    found = fold(entries(history._from_protobuf(event) for event in events))
    assert found is not None
    return found[1]


def seen(run: Run) -> dict[str, Json]:
    """Return what can be seen of a run that has ended."""
    outcome = run.outcome
    assert outcome is not None
    steps = [step for state in run.tasks.values() for step in state.steps]
    return {
        "status": outcome.status,
        "output": outcome.output,
        "error": None if outcome.error is None else outcome.error.to_json(),
        "counts": dict(run.counts.to_json()),
        "usage": dict(run.usage.to_json()),
        "tasks": {state.id: str(state.status) for state in run.tasks.values()},
        "steps": {step.id: [str(step.status), step.attempts, step.is_reused] for step in steps},
    }
