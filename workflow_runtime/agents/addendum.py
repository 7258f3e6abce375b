"""
What is added to a skill's instructions so that its model uses workflows: as few tokens as will do.

Tools stand as one-line signatures, not as JSON Schemas; a specialist stands with the line that says
when to use it.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from ..plan.grants import Grants, ToolGrant
from ..plan.shown import signature
from .prompts import prompt

_DESCRIPTION_LIMIT = 80
_ASKED = "a person is asked by itself"
_END = re.compile(r"[.:] ")


def addendum(grants: Grants, now: datetime) -> str:
    """Return the addendum of a skill with these grants; *now* is aware."""
    tools = [f"- {signature(tool)}{_said(tool)}" for tool in grants.tools.values()]
    agents = [f"- {agent.name}: {_line(agent.description)}" for agent in grants.agents.values()]
    return prompt(
        "addendum",
        tools="\n".join(tools) or "- none",
        agents="\n".join(["Sub-agents:", *agents]) if agents else "",
        now=now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    )


def _said(tool: ToolGrant) -> str:
    """Return the description's first sentence, or what stands before its colon, after a colon."""
    paragraph = " ".join(tool.description.split("\n\n", 1)[0].split())
    first = _END.split(paragraph, maxsplit=1)[0]
    if len(first) > _DESCRIPTION_LIMIT:
        first = f"{first[:_DESCRIPTION_LIMIT].rsplit(' ', 1)[0]}…"
    said = [first.rstrip(".")] if first else []
    if tool.policy.approval:
        said.append(_ASKED)
    return f": {'; '.join(said)}" if said else ""


def _line(text: str) -> str:
    return " ".join(text.split())
