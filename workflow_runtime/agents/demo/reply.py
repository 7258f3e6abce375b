"""
What the demo model answers: a small set of rules over what a language model would be given.

Every answer to a person ends with a line that says what wrote it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ...plan.encoding import dumps
from ..prompts import prompt
from .messages import DemoCall, DemoMessage, DemoReply, DemoRequest
from .plans import evidence_plan, portfolio_plan
from .reading import (
    Abilities,
    abilities,
    is_trouble,
    latest_plan,
    latest_run,
    notified_run,
    parsed,
)
from .specialists import specialist
from .summaries import summary

_MANAGEMENT = frozenset(
    {
        "start_workflow",
        "get_workflow_status",
        "list_workflows",
        "cancel_workflow",
        "terminate_workflow",
    }
)
_REVIEW = re.compile(r"\b(?:review|report|portfolio|assess\w*|overview|status of)\b", re.IGNORECASE)
_STOP = re.compile(r"^\W*(?:please\s+)?(?:cancel|stop|abort|terminate)\b", re.IGNORECASE)
_PROGRESS = re.compile(
    r"\b(?:how far|how is it going|progress|still running|is it done|workflow status)\b",
    re.IGNORECASE,
)
_ASKS = re.compile(r"\b(?:which|what|list|show|are there)\b", re.IGNORECASE)
_NUMBER = re.compile(r"(?:#|\bpr\s+|\brequest\s+)(\d{1,9})\b", re.IGNORECASE)
_LISTED = 12


def demo_reply(request: DemoRequest) -> DemoReply:
    """Answer one request of the loop."""
    last = request.messages[-1] if request.messages else DemoMessage(role="user")
    if last.results:
        return _after_calls(request)
    if "start_workflow" not in request.tools:
        return DemoReply(text=f"{specialist(last.text)}\n{prompt('demo_specialist_notice')}")
    run = notified_run(last.text)
    if run is not None:
        return _call("get_workflow_status", {"workflow_id": run})
    return _to_person(request, last.text)


def _to_person(request: DemoRequest, text: str) -> DemoReply:
    may = abilities(request)
    run = latest_run(request.messages)
    if run and _STOP.search(text):
        return _call("cancel_workflow", {"workflow_id": run, "reason": text[:200]})
    if run and _PROGRESS.search(text):
        return _call("get_workflow_status", {"workflow_id": run})
    direct = _direct_call(request, text)
    if direct is not None:
        return direct
    plan = evidence_plan(text, may) if is_trouble(text) else None
    if plan is None and _REVIEW.search(text):
        plan = portfolio_plan(text, may)
    if plan is not None:
        return _call("start_workflow", plan)
    if is_trouble(text) and any("service" in tool.parameters for tool in may.tools):
        return _said(prompt("demo_which_service", example=_example(may)))
    return _said(prompt("demo_small_talk", able=_able(may), example=_example(may)))


def _direct_call(request: DemoRequest, text: str) -> DemoReply | None:
    """Use a chat tool whose name says what the message asks for."""
    number = _NUMBER.search(text)
    words = {word.rstrip("s") for word in re.findall(r"[a-z]+", text.lower())}
    for name in request.tools:
        verb, _, noun = name.partition("_")
        if name in _MANAGEMENT:
            continue
        if verb in {"fetch", "get"} and number:
            return _call(name, {"number": int(number[1])})
        nouns = {word.rstrip("s") for word in noun.split("_")}
        if verb == "list" and nouns <= words and _ASKS.search(text) and not _REVIEW.search(text):
            return _call(name, {})
    return None


def _example(may: Abilities) -> str:
    reads_services = any("service" in tool.parameters for tool in may.tools)
    return prompt("demo_example_incident" if reads_services else "demo_example_review")


def _able(may: Abilities) -> str:
    names = ", ".join([*(tool.name for tool in may.tools), *may.agents])
    return names or "nothing yet"


def _after_calls(request: DemoRequest) -> DemoReply:
    """Go on after the calls of this turn have been answered."""
    turn = _turn(request.messages)
    call, text = turn[-1]
    answer = parsed(text)
    if not isinstance(answer, dict):
        answer = {} if answer is None else {"items": answer}
    if "error" in answer and "workflow_id" not in answer:
        return _said(_refused(answer))
    if answer.get("status") == "waiting_for_approval":
        return _said(prompt("demo_asked", tool=call.name))
    match call.name:
        case "start_workflow":
            return _said(_started(call))
        case "get_workflow_status":
            return _status(request, turn)
        case "cancel_workflow" | "terminate_workflow":
            return _said(f"The workflow is {str(answer.get('status')).lower()}.")
        case _:
            return _said(_listed(answer))


def _turn(messages: tuple[DemoMessage, ...]) -> list[tuple[DemoCall, str]]:
    """Return the calls since the last message of a user, each with its answer."""
    start = max((n for n, m in enumerate(messages) if m.role == "user"), default=-1) + 1
    calls = [call for message in messages[start:] for call in message.calls]
    results = [result for message in messages[start:] for result in message.results]
    return list(zip(calls, results, strict=False))


def _status(request: DemoRequest, turn: list[tuple[DemoCall, str]]) -> DemoReply:
    envelope: Mapping[str, Any] = {}
    parts: dict[str, Any] = {}
    for call, text in turn:
        answer, asked = parsed(text), parsed(call.arguments)
        if call.name != "get_workflow_status" or not isinstance(answer, dict):
            continue
        task = asked.get("task_id") if isinstance(asked, dict) else None
        if task is None:
            envelope = answer
        else:
            parts[task] = _value_of(answer)
    if envelope.get("status") in {"Pending", "Running", "Canceling", "Suspended"}:
        progress = envelope.get("progress") or {}
        done, total = progress.get("completed", 0), progress.get("total", 0)
        return _said(f"It is still going: {done} of {total} tasks have ended.")
    if not parts and _lacks_words(envelope.get("output")):
        task = _last_agent_task(request)
        if task is not None:
            run = str(envelope.get("workflow_id"))
            one = {"workflow_id": run, "task_id": task, "path": "result"}
            return _call("get_workflow_status", one)
    return _said(summary(envelope, parts))


def _lacks_words(output: Any) -> bool:
    """Whether what a specialist wrote is not in the output, or cut off there."""
    return isinstance(output, dict) and (bool(output.get("truncated")) or "html" in output)


def _value_of(answer: Mapping[str, Any]) -> Any:
    """Return the value out of the answer to a question for one task's result."""
    value = answer.get("value")
    return value.get("preview", value) if isinstance(value, dict) else value


def _last_agent_task(request: DemoRequest) -> str | None:
    tasks = latest_plan(request.messages).get("tasks")
    agents = [t for t in tasks if t.get("agent")] if isinstance(tasks, list) else []
    return str(agents[-1]["id"]) if agents else None


def _started(call: DemoCall) -> str:
    plan = parsed(call.arguments)
    tasks = plan.get("tasks", []) if isinstance(plan, dict) else []
    first = [str(task["id"]) for task in tasks if task.get("tool") and "${" not in dumps(task)]
    name = plan.get("name") if isinstance(plan, dict) else None
    return prompt("demo_started", name=str(name), first=", ".join(first))


def _refused(answer: Mapping[str, Any]) -> str:
    problems = answer.get("problems")
    if isinstance(problems, list) and problems:
        reasons = "\n".join(f"- {p.get('path')}: {p.get('message')}" for p in problems[:5])
    else:
        reasons = f"- {answer.get('message') or answer.get('error')}"
    return f"That did not work:\n{reasons}"


def _listed(answer: Mapping[str, Any]) -> str:
    items = answer.get("items")
    if isinstance(items, list):
        lines = [f"- {i if isinstance(i, str) else dumps(i)}" for i in items[:_LISTED]]
        more = [f"… and {len(items) - _LISTED} more"] if len(items) > _LISTED else []
        return "\n".join([*lines, *more])
    return "\n".join(
        f"- {name}: {value if isinstance(value, str) else dumps(value)}"
        for name, value in answer.items()
    )


def _call(name: str, arguments: dict[str, Any]) -> DemoReply:
    return DemoReply(calls=(DemoCall(name, dumps(arguments)),))


def _said(text: str) -> DemoReply:
    return DemoReply(text=f"{text}\n\n{prompt('demo_notice')}")
