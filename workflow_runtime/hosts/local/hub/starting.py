"""
How an instance starts, and how it hears from outside.

A transition decides before it writes: it raises RefusedError first or not at all. ``now`` is an
argument.
"""

from __future__ import annotations

import json
from uuid import uuid4

from durabletask.internal import orchestrator_service_pb2 as pb

from . import events
from .clock import Micros, from_timestamp
from .ending import not_found, remove, terminate
from .refusal import Reason, RefusedError
from .schema import START_TIMER
from .transaction import Instance, Transaction

_PENDING = int(pb.ORCHESTRATION_STATUS_PENDING)


def start(tx: Transaction, now: Micros, request: pb.CreateInstanceRequest) -> str:
    """Start an instance; one that is there already is replaced only if the policy says so."""
    instance_id = request.instanceId or uuid4().hex
    existing = tx.instance(instance_id)
    if existing is not None:
        replaceable = request.orchestrationIdReusePolicy.replaceableStatus
        if existing.status not in replaceable:
            status = pb.OrchestrationStatus.Name(existing.status)
            raise RefusedError(
                Reason.ALREADY_EXISTS,
                f"an orchestration instance {instance_id!r} already exists ({status})",
            )
        if existing.is_active:
            terminate(tx, now, instance_id, reason=None, recurse=True)
        remove(tx, existing)
    scheduled = (
        from_timestamp(request.scheduledStartTimestamp)
        if request.HasField("scheduledStartTimestamp")
        else None
    )
    started = pb.ExecutionStartedEvent(
        name=request.name,
        version=request.version if request.HasField("version") else None,
        input=request.input if request.HasField("input") else None,
        orchestrationInstance=pb.OrchestrationInstance(instanceId=instance_id),
        scheduledStartTimestamp=(
            request.scheduledStartTimestamp if scheduled is not None else None
        ),
        parentTraceContext=(
            request.parentTraceContext if request.HasField("parentTraceContext") else None
        ),
        tags=request.tags,
    )
    create(tx, now, started, parent=None, scheduled=scheduled)
    return instance_id


def create(
    tx: Transaction,
    now: Micros,
    started: pb.ExecutionStartedEvent,
    *,
    parent: events.Parent | None,
    scheduled: Micros | None = None,
) -> None:
    key = tx.sequences.instance
    tx.sequences.instance = key + 1
    execution = uuid4().hex
    instance_id = started.orchestrationInstance.instanceId
    started.orchestrationInstance.executionId.value = execution
    tx.execute(
        "INSERT INTO instances (key, id, execution, generation, name, version, status, created_us,"
        " updated_us, scheduled_us, history_count, parent_id, parent_generation, parent_task, tags)"
        " VALUES (?, ?, ?, 0, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?)",
        (
            key,
            instance_id,
            execution,
            started.name,
            events.optional(started, "version"),
            _PENDING,
            now,
            now,
            scheduled,
            parent.instance_id if parent else None,
            parent.generation if parent else None,
            parent.task_id if parent else None,
            json.dumps(dict(started.tags)) if started.tags else None,
        ),
    )
    tx.execute(
        "INSERT INTO payloads (key, input) VALUES (?, ?)", (key, events.optional(started, "input"))
    )
    created = tx.instance_by_key(key)
    assert created is not None
    tx.deliver(created, events.execution_started(now, started), bound=True)
    if scheduled is not None and scheduled > now:
        tx.add_timer(key, 0, START_TIMER, scheduled)
    else:
        tx.make_ready(key)
    tx.effects.changed.add(instance_id)


def raise_event(
    tx: Transaction, now: Micros, instance_id: str, name: str, data: str | None
) -> None:
    """Send an event to an instance; one that has ended hears nothing."""
    target = tx.instance(instance_id)
    if target is None:
        raise not_found(instance_id)
    send(tx, now, target, name, data)


def send(tx: Transaction, now: Micros, target: Instance, name: str, data: str | None) -> None:
    if not target.is_active:
        return
    tx.deliver(target, events.event_raised(now, name, data), bound=False)
    if not _waits_for_its_start(target, now):
        tx.make_ready(target.key)


def _waits_for_its_start(target: Instance, now: Micros) -> bool:
    """Whether an instance was started for a later time; its timer makes it ready."""
    return (
        target.status == _PENDING and target.scheduled_us is not None and target.scheduled_us > now
    )
