"""``check``, ``run`` and ``graph``: one plan from a file."""

from __future__ import annotations

import argparse
import asyncio
import sys
from typing import Any

from ..app import now
from ..errors import HubUnavailableError
from ..plan import picture
from ..plan.check import check
from ..plan.encoding import loads
from ..plan.grants import Grants
from ..plan.types import Json
from ..service import Owner, WorkflowService, has_ended
from ..settings import local_environment
from ..skills import load_catalog
from .connecting import connected
from .inputs import read_json, read_text, text_or_file
from .output import (
    INTERRUPTED,
    Output,
    command_line,
    envelope_text,
    problem_lines,
    task_line,
    waiting_lines,
)

OPERATOR = "operator"
_LOOK = 0.25


def _grants(options: argparse.Namespace) -> Grants:
    root = options.app_root.resolve()
    catalog = load_catalog(root, environment=local_environment(root))
    catalog.require(options.skill)
    return catalog.grants(options.skill)


def check_plan(options: argparse.Namespace, out: Output) -> int:
    """Print every problem of the plan."""
    context, data = text_or_file(options.context), read_json(options.input, "--input")
    checked = check(read_text(options.plan), _grants(options), now(), context=context, data=data)
    problems = [problem.to_json() for problem in checked.problems]
    if out.as_json:
        out.answer({"problems": list(problems)})
    elif problems:
        out.text(problem_lines(problems))
    else:
        out.text("The plan is valid.")
    return 1 if problems else 0


def draw_plan(options: argparse.Namespace, out: Output) -> int:
    """Print the plan as a picture; without --skill names of tools are not checked."""
    text = read_text(options.plan)
    grants = _grants(options) if options.skill else _anything(text)
    checked = check(text, grants, now())
    if checked.plan is None:
        _reject(out, [problem.to_json() for problem in checked.problems])
        return 1
    draw = picture.mermaid if options.format == "mermaid" else picture.text
    drawn = draw(checked.plan)
    if out.as_json:
        out.answer({"format": options.format, "graph": drawn})
    else:
        out.text(drawn)
    return 0


def _anything(text: str) -> Grants:
    """Grant whatever a plan names, so that its shape alone is checked."""
    from ..plan.grants import AgentGrant, ToolGrant

    try:
        raw: Any = loads(text)
    except ValueError:
        return Grants()
    tasks = raw.get("tasks") if isinstance(raw, dict) else None
    found = [task for task in tasks if isinstance(task, dict)] if isinstance(tasks, list) else []
    tools = {t["tool"] for t in found if isinstance(t.get("tool"), str)}
    agents = {t["agent"] for t in found if isinstance(t.get("agent"), str)}
    return Grants(
        tools={name: ToolGrant(name=name) for name in tools},
        agents={name: AgentGrant(name=name) for name in agents},
    )


def _reject(out: Output, problems: list[dict[str, Any]]) -> None:
    if out.as_json:
        out.answer({"error": "invalid_plan", "problems": list(problems)})
    out.say(problem_lines(problems))


def run_plan(options: argparse.Namespace, out: Output) -> int:
    """Run the plan to its end, with live progress on stderr."""
    text = read_text(options.plan)
    context, data = text_or_file(options.context), read_json(options.input, "--input")
    began: list[str] = []
    try:
        return asyncio.run(_run(options, out, text, context, data, began))
    except KeyboardInterrupt:
        for workflow_id in began:
            out.say(
                f"interrupted; the run goes on with the next `serve` or `run` here, or is stopped:"
                f"\n  {command_line(options, 'cancel', workflow_id)}"
            )
        if began:
            return INTERRUPTED
        raise


async def _run(
    options: argparse.Namespace,
    out: Output,
    text: str,
    context: str | None,
    data: Json,
    began: list[str],
) -> int:
    owner = Owner(principal=OPERATOR, skill=options.skill, session="cli")
    async with connected(options, work=True) as service:
        answer: Any = await service.start(owner, text, context=context, data=data, tells=False)
        if "workflow_id" not in answer:
            if "problems" in answer:
                _reject(out, answer["problems"])
            else:
                out.answer(answer)
            return 1 if "problems" in answer else 0
        workflow_id = str(answer["workflow_id"])
        began.append(workflow_id)
        out.say(f"workflow {workflow_id}")
        envelope = await _follow(service, owner, workflow_id, options, out)
    if envelope is None:
        out.say("The host that worked on it has stopped; this command goes on with it.")
        async with connected(options, work=True) as service:
            envelope = await _follow(service, owner, workflow_id, options, out)
    if envelope is None:
        message = f"nobody works on {workflow_id} any more; it goes on when `serve` is started"
        raise HubUnavailableError(message)
    if out.as_json:
        out.answer(envelope)
    else:
        out.text(envelope_text(envelope, options))
    return 0 if envelope["status"] == "Completed" else 1


async def _follow(
    service: WorkflowService,
    owner: Owner,
    workflow_id: str,
    options: argparse.Namespace,
    out: Output,
) -> dict[str, Any] | None:
    """Print each task as its status changes, until the run ends; None when its host has gone."""
    shown: dict[str, str] = {}
    clock = asyncio.get_running_loop().time
    while True:
        began = clock()
        try:
            envelope: Any = await service.status(owner, workflow_id, max_bytes=sys.maxsize)
        except HubUnavailableError:
            return None
        for task in envelope.get("tasks", ()):
            if shown.get(task["id"]) != task["status"] and task["status"] != "pending":
                out.say(f"  {task_line(task)}")
            shown[task["id"]] = task["status"]
        for waiting in envelope["waiting_for"]:
            lines = waiting_lines(workflow_id, waiting, options)
            if shown.get(f"? {waiting['task']}") != lines[-1]:
                out.say("\n".join(f"    {line}" for line in lines))
            shown[f"? {waiting['task']}"] = lines[-1]
        if has_ended(envelope["status"]):
            return envelope  # type: ignore[no-any-return]
        # A look at a large run takes time from the run itself: at most a tenth of it.
        await asyncio.sleep(max(_LOOK, 9 * (clock() - began)))
