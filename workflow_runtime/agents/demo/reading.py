"""
What the demo model understands of a request: what it may use, and what a person wants.

It reads what a language model would read - the skill's instructions, the addendum, the message -
and looks for nothing that only one skill has.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from ...plan.encoding import loads
from .messages import DemoMessage, DemoRequest

_SIGNATURE = re.compile(r"^- ([A-Za-z_][\w.]*)\((.*?)\)(?: -> .*)?$", re.MULTILINE)
_AGENT = re.compile(r"^- ([A-Za-z_]\w*): ", re.MULTILINE)
_NOTIFICATION = re.compile(r"<workflow-notification>\s*(\{.*?\})\s*</", re.DOTALL)
_NOW = re.compile(r"^Now: (\S+)$", re.MULTILINE)
_NAMED = re.compile(r"`([A-Za-z_][\w.]*)`")
_SINCE = re.compile(r"\b(?:since|from|at|after|around)\s+(\d{1,2})[:.](\d{2})\b", re.IGNORECASE)
_FOR = re.compile(r"\b(?:last|past|for)\s+(\d{1,4})?\s*(minute|min|hour|h)", re.IGNORECASE)
_SERVICE = re.compile(
    r"\b(?:service|of|for|with|on|in|triage|investigate|check)\s+(?:the\s+)?[`'\"]?([a-z][\w-]+)"
    r"|\b[`'\"]?([a-z][\w-]+)[`'\"]?\s+(?:service\b|is|are|was|has|keeps|returns?|returning"
    r"|fails?|failing|throws|times|seems|looks|got|went|gives|shows)\b",
    re.IGNORECASE,
)
_NO_SERVICE = re.compile(
    "all?|any(?:thing)?|been|every(?:thing)?|going|he(?:lp|re)?|how|i|in|it|last|m[ey]|now|our|out"
    "|past|please|report|services?|she|since|something|th(?:at|e|em|ere|ey|is)|today|us|we|wh(?:at"
    "|en|ere|ich|o|y)|wrong|your?"
)
_TROUBLE = re.compile(
    r"\b(?:\d*5xx|50\d|errors?|fail\w*|slow\w*|down|outage|incident|latenc\w+|time-?outs?|broken"
    r"|crash\w*|unavailable|degraded|wrong|happen\w*|triage|investigate|alert\w*|problem\w*)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class PlanTool:
    """A tool for plans, as its line in the addendum says."""

    name: str
    parameters: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Abilities:
    """What the skill may use, in the order in which its instructions name it."""

    tools: tuple[PlanTool, ...]
    agents: tuple[str, ...]
    now: datetime
    wait: str


def abilities(request: DemoRequest) -> Abilities:
    """Read the addendum, and keep of it what the skill's own instructions name."""
    own, _, added = request.instructions.rpartition("# Workflows")
    listed, _, agents = added.partition("Sub-agents:")
    named = {name: place for place, name in reversed(list(enumerate(_NAMED.findall(own))))}
    tools = [
        PlanTool(name, tuple(re.findall(r"(?:^|, )(\w+):", parameters)))
        for name, parameters in _SIGNATURE.findall(_without_descriptions(listed))
    ]
    chosen = [tool for tool in tools if tool.name in named] or tools
    chosen.sort(key=lambda tool: named.get(tool.name, 0))
    found = list(_AGENT.findall(agents))
    found.sort(key=lambda name: named.get(name, len(named)))
    now = _NOW.search(added)
    waits = re.search(r"`(PT\d+[SM])`", own)
    return Abilities(
        tools=tuple(chosen),
        agents=tuple(found),
        now=datetime.fromisoformat(now[1]) if now else datetime(2026, 1, 1, tzinfo=UTC),
        wait=waits[1] if waits else "PT5S",
    )


def _without_descriptions(lines: str) -> str:
    """Cut the description off each signature, which comes after the result's shape."""
    return "\n".join(re.sub(r"(\)(?: -> .+?)?): .*$", r"\1", line) for line in lines.split("\n"))


def service_in(text: str) -> str | None:
    """Return the service that a report is about."""
    for match in _SERVICE.finditer(text):
        name = (match[1] or match[2]).lower()
        if not _NO_SERVICE.fullmatch(name) and not _TROUBLE.fullmatch(name):
            return name
    return None


def is_trouble(text: str) -> bool:
    """Tell whether a message reports trouble."""
    return _TROUBLE.search(text) is not None


def minutes_in(text: str, now: datetime) -> int:
    """Return how far back a report wants to look, in minutes: 5 to 1,440, 30 where it is silent."""
    if since := _SINCE.search(text):
        then = int(since[1]) % 24 * 60 + int(since[2]) % 60
        passed = (now.hour * 60 + now.minute - then) % 1_440
    elif window := _FOR.search(text):
        passed = int(window[1] or 1) * (60 if window[2].lower().startswith("h") else 1)
    else:
        passed = 30
    return max(5, min(1_440, passed))


def notified_run(text: str) -> str | None:
    """Return the id of the run that a notification is about."""
    found = re.search(
        r"<workflow-notification>\s*(\{.*?\})\s*</workflow-notification>", text, re.DOTALL
    )
    facts = parsed(found[1]) if found else None
    return str(facts["workflow_id"]) if isinstance(facts, dict) and "workflow_id" in facts else None


def latest_run(messages: tuple[DemoMessage, ...]) -> str | None:
    """Return the run that the conversation touched last."""
    for message in reversed(messages):
        for result in reversed(message.results):
            answer = parsed(result)
            if isinstance(answer, dict) and isinstance(answer.get("workflow_id"), str):
                return str(answer["workflow_id"])
    return None


def latest_plan(messages: tuple[DemoMessage, ...]) -> dict[str, Any]:
    """Return the plan that the conversation started last."""
    for message in reversed(messages):
        for call in reversed(message.calls):
            plan = parsed(call.arguments)
            if call.name == "start_workflow" and isinstance(plan, dict):
                return plan
    return {}


def parsed(text: str) -> Any:
    """Return the JSON in *text*, None where it is none."""
    try:
        return loads(text)
    except ValueError:
        return None


def json_in(text: str) -> Any:
    """Return the first JSON object or array that stands in a text, of its first 20 brackets."""
    decoder = json.JSONDecoder()
    for start in islice(re.finditer(r"[\[{]", text), 20):
        with suppress(ValueError, RecursionError):
            return decoder.raw_decode(text, start.start())[0]
    return None
