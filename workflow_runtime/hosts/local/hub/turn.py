"""
What one answer of an orchestrator means.

PURE: from an ``OrchestratorResponse`` to the events it adds to the history and to what must then
be so. It reads no tables and no clock; the transition that applies it does.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from durabletask.internal import orchestrator_service_pb2 as pb

from . import events
from .clock import Micros, from_timestamp

TERMINAL = frozenset(
    {
        pb.ORCHESTRATION_STATUS_COMPLETED,
        pb.ORCHESTRATION_STATUS_FAILED,
        pb.ORCHESTRATION_STATUS_TERMINATED,
        pb.ORCHESTRATION_STATUS_CANCELED,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Which execution of which instance answered."""

    instance_id: str
    execution: str
    generation: int
    name: str
    version: str | None


@dataclass(frozen=True, slots=True)
class NewTask:
    """An activity to run."""

    task_id: int
    name: str
    version: str | None
    request: bytes


@dataclass(frozen=True, slots=True)
class NewTimer:
    """A timer to keep."""

    timer_id: int
    fire_at: Micros


@dataclass(frozen=True, slots=True)
class NewChild:
    """A sub-orchestration to start."""

    started: pb.ExecutionStartedEvent
    parent: events.Parent


@dataclass(frozen=True, slots=True)
class Message:
    """An event for another instance."""

    instance_id: str
    name: str
    data: str | None


@dataclass(frozen=True, slots=True)
class Termination:
    """Another instance to end."""

    instance_id: str
    reason: str | None
    recurse: bool


@dataclass(frozen=True, slots=True)
class Renewal:
    """Continue-as-new: the next generation's first events and its version."""

    started: pb.ExecutionStartedEvent
    carried: tuple[pb.HistoryEvent, ...]


@dataclass(slots=True)
class Turn:
    """All that follows from one answer; ``history`` in the order in which it is appended."""

    history: list[pb.HistoryEvent] = field(default_factory=list)
    tasks: list[NewTask] = field(default_factory=list)
    timers: list[NewTimer] = field(default_factory=list)
    children: list[NewChild] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    terminations: list[Termination] = field(default_factory=list)
    completion: pb.ExecutionCompletedEvent | None = None
    renewal: Renewal | None = None


def decide(
    response: pb.OrchestratorResponse,
    who: Identity,
    started: pb.ExecutionStartedEvent | None,
    now: Micros,
) -> Turn:
    """Read an answer; ``started`` is the execution's first event, needed only for a renewal."""
    turn = Turn()
    ending: pb.CompleteOrchestrationAction | None = None
    for action in response.actions:
        kind = action.WhichOneof("orchestratorActionType")
        if kind == "completeOrchestration":
            ending = action.completeOrchestration
        elif kind in _ACTIONS:
            _ACTIONS[kind](turn, action, who, now)
        else:
            return _not_built(str(kind), now)
    if ending is None:
        turn.history.append(events.turn_completed(now))
    elif ending.orchestrationStatus == pb.ORCHESTRATION_STATUS_CONTINUED_AS_NEW:
        turn.renewal = _renew(ending, who, started)
    else:
        _end(turn, _completion(ending), now)
    return turn


def _end(turn: Turn, completion: pb.ExecutionCompletedEvent, now: Micros) -> None:
    turn.completion = completion
    turn.history.append(events.turn_completed(now))
    turn.history.append(events.execution_completed(now, completion))


def _completion(ending: pb.CompleteOrchestrationAction) -> pb.ExecutionCompletedEvent:
    return pb.ExecutionCompletedEvent(
        orchestrationStatus=ending.orchestrationStatus,
        result=ending.result if ending.HasField("result") else None,
        failureDetails=ending.failureDetails if ending.HasField("failureDetails") else None,
    )


def _not_built(kind: str, now: Micros) -> Turn:
    """Fail the instance: what it asks for does not exist here, and trying again will not help."""
    turn = Turn()
    message = f"the local task hub does not carry out {kind!r}; it has no entities and no rewind"
    _end(
        turn,
        pb.ExecutionCompletedEvent(
            orchestrationStatus=pb.ORCHESTRATION_STATUS_FAILED,
            failureDetails=pb.TaskFailureDetails(
                errorType="NotSupported", errorMessage=message, isNonRetriable=True
            ),
        ),
        now,
    )
    return turn


def _renew(
    ending: pb.CompleteOrchestrationAction,
    who: Identity,
    started: pb.ExecutionStartedEvent | None,
) -> Renewal:
    fresh = pb.ExecutionStartedEvent()
    if started is not None:
        fresh.CopyFrom(started)
    fresh.name = who.name
    fresh.orchestrationInstance.instanceId = who.instance_id
    fresh.ClearField("input")
    if ending.HasField("result"):
        fresh.input.CopyFrom(ending.result)
    if ending.HasField("newVersion"):
        fresh.version.CopyFrom(ending.newVersion)
    for key, value in ending.tags.items():
        fresh.tags[key] = value
    return Renewal(fresh, tuple(ending.carryoverEvents))


def _schedule_task(turn: Turn, action: pb.OrchestratorAction, who: Identity, now: Micros) -> None:
    asked = action.scheduleTask
    request = pb.ActivityRequest(
        name=asked.name,
        version=asked.version if asked.HasField("version") else None,
        input=asked.input if asked.HasField("input") else None,
        orchestrationInstance=pb.OrchestrationInstance(
            instanceId=who.instance_id, executionId=events.text(who.execution)
        ),
        taskId=action.id,
        parentTraceContext=(
            asked.parentTraceContext if asked.HasField("parentTraceContext") else None
        ),
        tags=asked.tags,
    )
    turn.history.append(events.task_scheduled(now, action))
    turn.tasks.append(
        NewTask(
            action.id, asked.name, events.optional(asked, "version"), request.SerializeToString()
        )
    )


def _create_timer(turn: Turn, action: pb.OrchestratorAction, who: Identity, now: Micros) -> None:
    del who
    turn.history.append(events.timer_created(now, action))
    turn.timers.append(NewTimer(action.id, from_timestamp(action.createTimer.fireAt)))


def _create_child(turn: Turn, action: pb.OrchestratorAction, who: Identity, now: Micros) -> None:
    asked = action.createSubOrchestration
    child_id = asked.instanceId or f"{who.execution}:{action.id:04x}"
    started = pb.ExecutionStartedEvent(
        name=asked.name,
        version=asked.version if asked.HasField("version") else None,
        input=asked.input if asked.HasField("input") else None,
        orchestrationInstance=pb.OrchestrationInstance(instanceId=child_id),
        parentInstance=pb.ParentInstanceInfo(
            taskScheduledId=action.id,
            name=events.text(who.name),
            version=events.text(who.version),
            orchestrationInstance=pb.OrchestrationInstance(
                instanceId=who.instance_id, executionId=events.text(who.execution)
            ),
        ),
        parentTraceContext=(
            asked.parentTraceContext if asked.HasField("parentTraceContext") else None
        ),
        tags=asked.tags,
    )
    parent = events.Parent(
        instance_id=who.instance_id, generation=who.generation, task_id=action.id
    )
    turn.history.append(events.child_created(now, action, child_id))
    turn.children.append(NewChild(started, parent))


def _send_event(turn: Turn, action: pb.OrchestratorAction, who: Identity, now: Micros) -> None:
    del who
    asked = action.sendEvent
    turn.history.append(events.event_sent(now, action))
    turn.messages.append(
        Message(asked.instance.instanceId, asked.name, events.optional(asked, "data"))
    )


def _terminate(turn: Turn, action: pb.OrchestratorAction, who: Identity, now: Micros) -> None:
    del who, now
    asked = action.terminateOrchestration
    turn.terminations.append(
        Termination(asked.instanceId, events.optional(asked, "reason"), asked.recurse)
    )


_ACTIONS = {
    "scheduleTask": _schedule_task,
    "createTimer": _create_timer,
    "createSubOrchestration": _create_child,
    "sendEvent": _send_event,
    "terminateOrchestration": _terminate,
}
