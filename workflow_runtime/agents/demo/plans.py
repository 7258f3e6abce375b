"""The plans that the demo model writes, from what the skill may use and what a person wants."""

from __future__ import annotations

import re
from typing import Any

from .reading import Abilities, PlanTool, minutes_in, service_in

_REPOSITORY = re.compile(r"\b([\w.-]+/[\w.-]+)\b")
_VERB = re.compile(r"^(?:fetch|get|list|read|load|query|render|make)_")


def evidence_plan(message: str, may: Abilities) -> dict[str, Any] | None:
    """Ask every tool about one service at once, let late samples in, give all of it."""
    tools = [tool for tool in may.tools if "service" in tool.parameters]
    service = service_in(message)
    if not tools or service is None:
        return None
    minutes = minutes_in(message, may.now)
    tasks: list[dict[str, Any]] = []
    for tool in tools:
        args: dict[str, Any] = {"service": service}
        if "window_minutes" in tool.parameters:
            args["window_minutes"] = minutes
        tasks.append({"id": _id(tool), "tool": tool.name, "args": args})
    names = [task["id"] for task in tasks]
    tasks.append({"id": "settle", "type": "wait", "duration": may.wait, "depends_on": names})
    return {
        "name": f"Triage of {service}",
        "context": message,
        "tasks": tasks,
        "output": {name: f"${{{name}.result}}" for name in names},
    }


def portfolio_plan(message: str, may: Abilities) -> dict[str, Any] | None:
    """List items, get the details of each, have each assessed, have it all summed up."""
    listing = next((t for t in may.tools if t.name.startswith("list_")), None)
    if listing is None or len(may.agents) < 2:
        return None
    analyst, writer = may.agents[:2]
    found = _REPOSITORY.search(message)
    where = {"repository": found[1]} if found else {}
    tasks: list[dict[str, Any]] = [
        {"id": "list", "tool": listing.name, "args": _only(listing, where)}
    ]
    each = "list"
    detail = next((t for t in may.tools if t.parameters[:1] == ("number",)), None)
    if detail is not None:
        args = {"number": "${item.number}", **_only(detail, where)}
        tasks.append(
            {"id": "details", "tool": detail.name, "args": args, "for_each": "${list.result}"}
        )
        each = "details"
    tasks += [
        {
            "id": "assess",
            "type": "sub_agent",
            "agent": analyst,
            "for_each": f"${{{each}.result}}",
            "task": "Assess this item:\n${item}",
            "on_error": "continue",
        },
        {
            "id": "summary",
            "type": "sub_agent",
            "agent": writer,
            "task": "Sum up these assessments:\n${assess.result}",
        },
    ]
    output = {"summary": "${summary.result}", "assessments": "${assess.result}"}
    report = next((t for t in may.tools if {"summary", "sections"} <= {*t.parameters}), None)
    if report is None:
        return {"name": "Portfolio review", "context": message, "tasks": tasks, "output": output}
    args = {
        "title": f"Pull requests of {found[1]}" if found else "Open pull requests",
        "summary": "${summary.result}",
        "sections": "${assess.result}",
    }
    tasks.append({"id": "report", "tool": report.name, "args": args})
    return {
        "name": "Portfolio review",
        "context": message,
        "tasks": tasks,
        "output": "${report.result}",
    }


def _id(tool: PlanTool) -> str:
    return _VERB.sub("", tool.name).replace(".", "_") or "evidence"


def _only(tool: PlanTool, args: dict[str, str]) -> dict[str, Any]:
    return {name: value for name, value in args.items() if name in tool.parameters}
