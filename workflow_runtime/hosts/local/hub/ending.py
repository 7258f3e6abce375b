"""
How an instance ends and how it is deleted.

Whatever could start more of it goes in the same transaction. ``now`` is an argument.
"""

from __future__ import annotations

from collections.abc import Sequence

from durabletask.internal import orchestrator_service_pb2 as pb

from . import events
from .clock import Micros
from .refusal import Reason, RefusedError
from .transaction import Instance, Transaction


def terminate(
    tx: Transaction, now: Micros, instance_id: str, *, reason: str | None, recurse: bool
) -> None:
    """End an instance at once, and with ``recurse`` everything below it that has not ended."""
    top = tx.instance(instance_id)
    if top is None:
        raise not_found(instance_id)
    pending = [top]
    while pending:
        who = pending.pop()
        if who.is_active:
            _terminate_one(tx, now, who, reason, recurse=recurse)
        if recurse:
            pending.extend(tx.children(who.id))


def _terminate_one(
    tx: Transaction, now: Micros, who: Instance, reason: str | None, *, recurse: bool
) -> None:
    completion = pb.ExecutionCompletedEvent(
        orchestrationStatus=pb.ORCHESTRATION_STATUS_TERMINATED, result=events.text(reason)
    )
    ended = (
        events.execution_terminated(now, reason, recurse=recurse),
        events.execution_completed(now, completion),
    )
    tx.append_history(who.key, who.history_count, [event.SerializeToString() for event in ended])
    tx.execute(
        "UPDATE instances SET history_count = ? WHERE key = ?",
        (who.history_count + len(ended), who.key),
    )
    tx.clear(who.key, "tasks")
    finish(tx, now, who, completion)


def finish(
    tx: Transaction, now: Micros, who: Instance, completion: pb.ExecutionCompletedEvent
) -> None:
    """End an instance.

    Activities it asked for and did not wait for still run, unless it was terminated.
    """
    failure = (
        completion.failureDetails.SerializeToString()
        if completion.HasField("failureDetails")
        else None
    )
    tx.execute(
        "UPDATE instances SET status = ?, updated_us = ?, completed_us = ?, failure = ?"
        " WHERE key = ?",
        (completion.orchestrationStatus, now, now, failure, who.key),
    )
    tx.execute(
        "UPDATE payloads SET output = ? WHERE key = ?",
        (events.optional(completion, "result"), who.key),
    )
    tx.clear(who.key, "inbox", "ready", "timers")
    tx.effects.changed.add(who.id)
    tx.effects.stopped.add(who.key)
    if who.parent_id is None or who.parent_task is None:
        return
    parent = tx.instance(who.parent_id)
    if parent and parent.is_active and parent.generation == who.parent_generation:
        tx.deliver(parent, events.child_ended(now, who.parent_task, completion), bound=True)
        tx.make_ready(parent.key)


def remove(tx: Transaction, who: Instance) -> None:
    """Delete everything that is stored of an instance."""
    tx.clear(who.key, "instances", "payloads", "history", "inbox", "ready", "tasks", "timers")
    tx.effects.stopped.add(who.key)
    tx.effects.changed.add(who.id)


def remove_with_children(tx: Transaction, top: Instance) -> int:
    """Delete an instance and what has ended below it; returns how many."""
    removed = 0
    pending: Sequence[Instance] = [top]
    while pending:
        below: list[Instance] = []
        for who in pending:
            below.extend(child for child in tx.children(who.id) if not child.is_active)
            remove(tx, who)
            removed += 1
        pending = below
    return removed


def not_found(instance_id: str) -> RefusedError:
    return RefusedError(Reason.NOT_FOUND, f"there is no orchestration instance {instance_id!r}")
