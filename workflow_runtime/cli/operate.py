"""``workflows``: what an operator does with the runs of a data directory, whosever they are."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from ..hub import InstanceState
from ..plan.types import Json
from ..service import WorkflowService, known_status
from .connecting import connected, is_served
from .inputs import read_json, read_text
from .output import Output, envelope_text, problem_lines

_MAX_BYTES = 1024 * 1024
_MAX_LISTED = 10_000


def list_runs(options: argparse.Namespace, out: Output) -> int:
    """List the newest runs of all sessions."""

    async def run() -> list[dict[str, Json]]:
        async with connected(options, work=False) as service:
            status = None if options.status is None else known_status(options.status)
            return await service.list_prefix("", limit=_MAX_LISTED, status=status)

    found: Any = asyncio.run(run())  # ids begin with the owner: the newest are anywhere
    found = sorted(found, key=lambda one: one["created_at"], reverse=True)[: options.limit]
    if out.as_json:
        out.answer({"workflows": found})
        return 0
    for one in found:
        progress = one["progress"]
        done = f"{progress.get('completed', 0)}/{progress.get('total', '?')}"
        when, name = one["created_at"][:19], one["name"]
        out.text(f"{one['workflow_id']}  {one['status']:<19} {done:>9}  {when}Z  {name}")
    if not found:
        out.say("There are no runs.")
    return 0


def show_run(options: argparse.Namespace, out: Output) -> int:
    """Show one run, one of its tasks, or a value."""

    async def look(service: WorkflowService, state: InstanceState) -> dict[str, Json]:
        return await service.read(
            state, task_id=options.task, path=options.path, max_bytes=_MAX_BYTES
        )

    envelope = asyncio.run(_with_run(options, look))
    if out.as_json or "status" not in envelope:
        out.answer(envelope)
    else:
        out.text(envelope_text(envelope, options))
    return 0


def cancel_run(options: argparse.Namespace, out: Output) -> int:
    """Ask a run to stop."""

    async def cancel(service: WorkflowService, state: InstanceState) -> dict[str, Json]:
        return await service.cancel_instance(state, options.reason)

    return _stopped(_change(options, out, cancel), out)


def terminate_run(options: argparse.Namespace, out: Output) -> int:
    """End a run at once."""

    async def terminate(service: WorkflowService, state: InstanceState) -> dict[str, Json]:
        return await service.terminate_instance(state, options.reason)

    return _stopped(asyncio.run(_with_run(options, terminate)), out)


def rerun_run(options: argparse.Namespace, out: Output) -> int:
    """Run an ended one again."""
    plan = None if options.plan is None else read_text(options.plan)

    async def rerun(service: WorkflowService, state: InstanceState) -> dict[str, Json]:
        return await service.rerun_instance(state, plan)

    answer: Any = _change(options, out, rerun, plans=True)
    if out.as_json:
        out.answer(answer)
    elif "problems" in answer:
        out.text(problem_lines(answer["problems"]))
    else:
        out.text(f"{answer['workflow_id']}  {answer['status']}")
    return 1 if "problems" in answer else 0


def approve_run(options: argparse.Namespace, out: Output) -> int:
    """Approve what a task asks now."""
    return _decide(options, out, approved=True)


def reject_run(options: argparse.Namespace, out: Output) -> int:
    """Reject what a task asks now."""
    return _decide(options, out, approved=False)


def _decide(options: argparse.Namespace, out: Output, *, approved: bool) -> int:
    async def decide(service: WorkflowService, state: InstanceState) -> dict[str, Json]:
        return await service.approve_instance(
            state,
            options.task,
            approved=approved,
            digest=options.digest,
            by=options.by,
            comment=options.comment,
        )

    answer = _change(options, out, decide)
    if out.as_json:
        out.answer(answer)
    else:
        out.text(f"{options.task}  {'approved' if approved else 'rejected'}")
    return 0


def send_event(options: argparse.Namespace, out: Output) -> int:
    """Tell a run of an event."""
    payload = read_json(options.payload, "the event's payload")

    async def send(service: WorkflowService, state: InstanceState) -> dict[str, Json]:
        return await service.send_event_to(state, options.name, payload, event_id=options.event_id)

    answer = _change(options, out, send)
    if out.as_json:
        out.answer(answer)
    else:
        out.text(f"event {options.name} sent")
    return 0


def _change(
    options: argparse.Namespace,
    out: Output,
    act: Callable[[WorkflowService, InstanceState], Awaitable[dict[str, Json]]],
    *,
    plans: bool = False,
) -> dict[str, Json]:
    """Change something about a run, and say so where nobody is there to take note of it."""
    is_idle = not is_served(options)
    answer = asyncio.run(_with_run(options, act, plans=plans))
    if is_idle and "problems" not in answer and "already_finished" not in answer:
        out.say("No host serves this data directory: the run goes on when `serve` is started.")
    return answer


async def _with_run(
    options: argparse.Namespace,
    act: Callable[[WorkflowService, InstanceState], Awaitable[dict[str, Json]]],
    *,
    plans: bool = False,
) -> dict[str, Json]:
    async with connected(options, work=False, plans=plans) as service:
        return await act(service, await service.find(options.id))


def _stopped(answer: dict[str, Json], out: Output) -> int:
    if out.as_json:
        out.answer(answer)
    elif answer.get("already_finished"):
        out.text(f"{answer['workflow_id']} had ended already: {answer['status']}")
    else:
        out.text(f"{answer['workflow_id']}  {answer['status']}")
    return 0
