"""
History events, as this hub writes them.

PURE. Every event carries the moment at which it became true: readers fold a history into times,
and the SDK takes an orchestrator's clock from its ``orchestratorStarted`` events.
"""

from __future__ import annotations

from dataclasses import dataclass

from durabletask.internal import orchestrator_service_pb2 as pb
from google.protobuf import wrappers_pb2

from .clock import Micros, to_timestamp

NO_ID = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Parent:
    """The task of another instance that waits for this one."""

    instance_id: str
    generation: int
    task_id: int


def text(value: str | None) -> wrappers_pb2.StringValue | None:
    """A string as the optional wrapper that the protocol uses."""
    return None if value is None else wrappers_pb2.StringValue(value=value)


def optional(message: object, name: str) -> str | None:
    """The value of an optional wrapped string field, None where it is absent."""
    present: bool = message.HasField(name)  # type: ignore[attr-defined]
    return str(getattr(message, name).value) if present else None


def _event(now: Micros, event_id: int = NO_ID) -> pb.HistoryEvent:
    return pb.HistoryEvent(eventId=event_id, timestamp=to_timestamp(now))


def turn_started(now: Micros) -> pb.HistoryEvent:
    """A turn begins; its timestamp is what the orchestrator sees as the time."""
    event = _event(now)
    event.orchestratorStarted.SetInParent()
    return event


def turn_completed(now: Micros) -> pb.HistoryEvent:
    """A turn was committed."""
    event = _event(now)
    event.orchestratorCompleted.SetInParent()
    return event


def execution_completed(now: Micros, completion: pb.ExecutionCompletedEvent) -> pb.HistoryEvent:
    """The last event of an instance."""
    event = _event(now)
    event.executionCompleted.CopyFrom(completion)
    return event


def execution_terminated(now: Micros, reason: str | None, *, recurse: bool) -> pb.HistoryEvent:
    """Somebody ended the instance from outside."""
    event = _event(now)
    event.executionTerminated.CopyFrom(
        pb.ExecutionTerminatedEvent(input=text(reason), recurse=recurse)
    )
    return event


def execution_started(now: Micros, started: pb.ExecutionStartedEvent) -> pb.HistoryEvent:
    """The first event of an execution."""
    event = _event(now)
    event.executionStarted.CopyFrom(started)
    return event


def event_raised(now: Micros, name: str, data: str | None) -> pb.HistoryEvent:
    """An event from outside."""
    event = _event(now)
    event.eventRaised.CopyFrom(pb.EventRaisedEvent(name=name, input=text(data)))
    return event


def task_ended(now: Micros, response: pb.ActivityResponse) -> pb.HistoryEvent:
    """An activity's result or failure."""
    event = _event(now)
    if response.HasField("failureDetails"):
        event.taskFailed.CopyFrom(
            pb.TaskFailedEvent(
                taskScheduledId=response.taskId, failureDetails=response.failureDetails
            )
        )
    else:
        event.taskCompleted.CopyFrom(
            pb.TaskCompletedEvent(
                taskScheduledId=response.taskId,
                result=response.result if response.HasField("result") else None,
            )
        )
    return event


def timer_fired(now: Micros, timer_id: int, fire_at: Micros) -> pb.HistoryEvent:
    """A timer came due."""
    event = _event(now)
    event.timerFired.CopyFrom(pb.TimerFiredEvent(fireAt=to_timestamp(fire_at), timerId=timer_id))
    return event


def child_ended(
    now: Micros, task_id: int, completion: pb.ExecutionCompletedEvent
) -> pb.HistoryEvent:
    """A sub-orchestration's result, or its failure if it did not complete."""
    event = _event(now)
    if completion.orchestrationStatus == pb.ORCHESTRATION_STATUS_COMPLETED:
        event.subOrchestrationInstanceCompleted.CopyFrom(
            pb.SubOrchestrationInstanceCompletedEvent(
                taskScheduledId=task_id,
                result=completion.result if completion.HasField("result") else None,
            )
        )
    else:
        details = (
            completion.failureDetails
            if completion.HasField("failureDetails")
            else pb.TaskFailureDetails(
                errorType="SubOrchestrationTerminated",
                errorMessage="the sub-orchestration was terminated",
            )
        )
        event.subOrchestrationInstanceFailed.CopyFrom(
            pb.SubOrchestrationInstanceFailedEvent(taskScheduledId=task_id, failureDetails=details)
        )
    return event


def child_refused(now: Micros, task_id: int, message: str) -> pb.HistoryEvent:
    """A sub-orchestration that could not be started."""
    return child_ended(
        now,
        task_id,
        pb.ExecutionCompletedEvent(
            orchestrationStatus=pb.ORCHESTRATION_STATUS_FAILED,
            failureDetails=pb.TaskFailureDetails(
                errorType="SubOrchestrationRefused", errorMessage=message
            ),
        ),
    )


def task_scheduled(now: Micros, action: pb.OrchestratorAction) -> pb.HistoryEvent:
    """The orchestrator asked for an activity."""
    asked = action.scheduleTask
    event = _event(now, action.id)
    event.taskScheduled.CopyFrom(
        pb.TaskScheduledEvent(
            name=asked.name,
            version=asked.version if asked.HasField("version") else None,
            input=asked.input if asked.HasField("input") else None,
            parentTraceContext=(
                asked.parentTraceContext if asked.HasField("parentTraceContext") else None
            ),
            tags=asked.tags,
        )
    )
    return event


def timer_created(now: Micros, action: pb.OrchestratorAction) -> pb.HistoryEvent:
    """The orchestrator asked for a timer."""
    event = _event(now, action.id)
    event.timerCreated.CopyFrom(pb.TimerCreatedEvent(fireAt=action.createTimer.fireAt))
    return event


def child_created(now: Micros, action: pb.OrchestratorAction, child_id: str) -> pb.HistoryEvent:
    """The orchestrator asked for a sub-orchestration."""
    asked = action.createSubOrchestration
    event = _event(now, action.id)
    event.subOrchestrationInstanceCreated.CopyFrom(
        pb.SubOrchestrationInstanceCreatedEvent(
            instanceId=child_id,
            name=asked.name,
            version=asked.version if asked.HasField("version") else None,
            input=asked.input if asked.HasField("input") else None,
            parentTraceContext=(
                asked.parentTraceContext if asked.HasField("parentTraceContext") else None
            ),
            tags=asked.tags,
        )
    )
    return event


def event_sent(now: Micros, action: pb.OrchestratorAction) -> pb.HistoryEvent:
    """The orchestrator sent an event to another instance."""
    asked = action.sendEvent
    event = _event(now, action.id)
    event.eventSent.CopyFrom(
        pb.EventSentEvent(
            instanceId=asked.instance.instanceId,
            name=asked.name,
            input=asked.data if asked.HasField("data") else None,
        )
    )
    return event
