"""
What a worker's answer does: one transaction each.

Everything that keeps a step from running twice, or after its instance has ended, is in the
conditions of these functions. ``now`` is an argument.
"""

from __future__ import annotations

from uuid import uuid4

from durabletask.internal import orchestrator_service_pb2 as pb

from . import events
from .clock import Micros
from .ending import finish, remove, terminate
from .leases import TaskWork, TurnWork
from .starting import create, send
from .transaction import Instance, Transaction
from .turn import Identity, NewChild, Renewal, Turn, decide

_RUNNING = int(pb.ORCHESTRATION_STATUS_RUNNING)


def complete_task(
    tx: Transaction, now: Micros, work: TaskWork, response: pb.ActivityResponse
) -> None:
    """Take in an activity's result.

    The row of this scheduling is deleted, so a second result finds none. Nobody hears of a result
    whose instance has ended or has gone on to another generation.
    """
    delivered = tx.deliver_result(work.seq, events.task_ended(now, response))
    tx.execute("DELETE FROM tasks WHERE seq = ?", (work.seq,))
    if delivered:
        tx.make_ready(work.key)


def complete_turn(
    tx: Transaction, now: Micros, work: TurnWork, response: pb.OrchestratorResponse
) -> tuple[bytes, ...] | None:
    """Commit a turn; returns the events it appended, or None if history does not go on.

    The answer of a turn whose instance has meanwhile ended is dropped whole: nothing that it
    asks for is started.
    """
    who = tx.instance_by_key(work.key)
    if who is None or not who.is_active or who.generation != work.generation:
        return None
    identity = Identity(
        instance_id=who.id,
        execution=who.execution,
        generation=who.generation,
        name=who.name,
        version=who.version,
    )
    turn = decide(response, identity, _started(tx, work, response), now)
    tx.execute("DELETE FROM inbox WHERE key = ? AND seq <= ?", (who.key, work.inbox_upto))
    tx.clear(who.key, "ready")
    appended = (*work.new_events, *(event.SerializeToString() for event in turn.history))
    if turn.renewal is None:
        tx.append_history(who.key, who.history_count, appended)
    _record(tx, now, who, response, who.history_count + len(appended))
    _carry_out(tx, now, who, turn)
    if who.key in tx.effects.stopped:
        return None
    if turn.completion is not None:
        finish(tx, now, who, turn.completion)
        return None
    if turn.renewal is not None:
        _renew(tx, now, who, turn.renewal)
        return None
    if tx.has_mail(who.key):
        tx.make_ready(who.key)
    return appended


def _record(
    tx: Transaction, now: Micros, who: Instance, response: pb.OrchestratorResponse, count: int
) -> None:
    trace = (
        response.orchestrationTraceContext.SerializeToString()
        if response.HasField("orchestrationTraceContext")
        else None
    )
    tx.execute(
        "UPDATE instances SET status = ?, updated_us = ?, history_count = ?, custom_status = ?,"
        " trace = coalesce(?, trace) WHERE key = ?",
        (_RUNNING, now, count, events.optional(response, "customStatus"), trace, who.key),
    )
    if who.status != _RUNNING:
        tx.effects.changed.add(who.id)


def _carry_out(tx: Transaction, now: Micros, who: Instance, turn: Turn) -> None:
    tx.add_tasks(
        who.key,
        who.generation,
        [(task.task_id, task.name, task.version, task.request) for task in turn.tasks],
    )
    for timer in turn.timers:
        tx.add_timer(who.key, who.generation, timer.timer_id, timer.fire_at)
    for child in turn.children:
        _start_child(tx, now, who, child)
    for message in turn.messages:
        target = tx.instance(message.instance_id)
        if target is not None:
            send(tx, now, target, message.name, message.data)
    for ending in turn.terminations:
        if tx.instance(ending.instance_id) is not None:
            terminate(tx, now, ending.instance_id, reason=ending.reason, recurse=ending.recurse)


def _start_child(tx: Transaction, now: Micros, parent: Instance, child: NewChild) -> None:
    """Start a child; a finished one of the same parent and id gives way, as a retry needs it."""
    child_id = child.started.orchestrationInstance.instanceId
    existing = tx.instance(child_id)
    if existing is not None:
        if existing.is_active or existing.parent_id != parent.id:
            message = f"an orchestration instance {child_id!r} already exists"
            refusal = events.child_refused(now, child.parent.task_id, message)
            tx.deliver(parent, refusal, bound=True)
            tx.make_ready(parent.key)
            return
        remove(tx, existing)
    create(tx, now, child.started, parent=child.parent)


def _started(
    tx: Transaction, work: TurnWork, response: pb.OrchestratorResponse
) -> pb.ExecutionStartedEvent | None:
    """The execution's first event, looked up only for a continue-as-new."""
    if not any(
        action.completeOrchestration.orchestrationStatus == pb.ORCHESTRATION_STATUS_CONTINUED_AS_NEW
        for action in response.actions
        if action.HasField("completeOrchestration")
    ):
        return None
    stored = tx.execute(
        "SELECT event FROM history WHERE key = ? ORDER BY seq LIMIT 4", (work.key,)
    ).fetchall()
    for encoded in (*(row[0] for row in stored), *work.new_events):
        event = pb.HistoryEvent.FromString(encoded)
        if event.HasField("executionStarted"):
            started: pb.ExecutionStartedEvent = event.executionStarted
            return started
    return None


def _renew(tx: Transaction, now: Micros, who: Instance, renewal: Renewal) -> None:
    """Begin the next generation: what was bound to the old one falls away, events go on."""
    execution = uuid4().hex
    renewal.started.orchestrationInstance.executionId.value = execution
    waiting = tx.execute(
        "SELECT event FROM inbox WHERE key = ? AND generation IS NULL ORDER BY seq", (who.key,)
    ).fetchall()
    tx.clear(who.key, "inbox", "timers", "history")
    tx.execute(
        "UPDATE instances SET execution = ?, generation = generation + 1, history_count = 0,"
        " version = ?, trace = NULL WHERE key = ?",
        (execution, events.optional(renewal.started, "version"), who.key),
    )
    tx.execute(
        "UPDATE payloads SET input = ? WHERE key = ?",
        (events.optional(renewal.started, "input"), who.key),
    )
    renewed = tx.instance_by_key(who.key)
    assert renewed is not None
    tx.deliver(renewed, events.execution_started(now, renewal.started), bound=True)
    for carried in renewal.carried:
        tx.deliver(renewed, carried, bound=False)
    for (encoded,) in waiting:
        tx.deliver(renewed, pb.HistoryEvent.FromString(encoded), bound=False)
    tx.make_ready(who.key)
    tx.effects.renewed.add(who.key)
