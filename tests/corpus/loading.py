"""The corpus: plans as models write them, with what must be answered."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from workflow_runtime.plan import AgentGrant, Grants, ToolGrant

NOW = datetime(2026, 11, 30, 20, 5, tzinfo=UTC)
_FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One plan. ``answer`` holds the codes and paths of its problems; none when it is valid.

    ``repaired`` is the plan put right by hand, where some problem has no fix.
    """

    name: str
    skill: str
    plan: Any
    answer: tuple[tuple[str, str], ...]
    repaired: Any = None


def entries(*files: str) -> list[Entry]:
    """Read the plans of these files."""
    return [
        Entry(
            name=raw["name"],
            skill=raw["skill"],
            plan=raw["plan"],
            answer=tuple((code, path) for code, path in raw["answer"]),
            repaired=raw.get("repaired"),
        )
        for file in files
        for raw in json.loads((_FOLDER / file).read_text("utf-8"))
    ]


@cache
def grants(skill: str) -> Grants:
    """Return the tools and sub-agents of a skill: two bundled ones, and ``ops_desk``."""
    raw = json.loads((_FOLDER / "grants.json").read_text("utf-8"))[skill]
    return Grants(
        tools={tool["name"]: ToolGrant(**tool) for tool in raw["tools"]},
        agents={name: AgentGrant(name=name) for name in raw["agents"]},
    )
