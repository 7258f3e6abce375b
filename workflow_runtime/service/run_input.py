"""
The frozen input of a run: all that its orchestration ever knows of plan, limits and owner.

A redeploy never changes a running instance, so everything that decides what happens next stands
here, under a format number. What today's app allows is asked again for each step.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ..errors import HistoryMismatchError
from ..plan.encoding import dumps, loads
from ..plan.grants import Limits
from ..plan.model import Plan, read_plan
from .owners import Owner

FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInput:
    """What a run is started with; ``tells`` says whether its session is told when it ends."""

    plan: Plan
    limits: Limits
    owner: Owner
    tells: bool

    def to_text(self) -> str:
        """Write the orchestration's input."""
        return dumps(
            {
                "format": FORMAT,
                "plan": self.plan.to_json(),
                "limits": dict(self.limits.to_json()),
                "owner": dict(self.owner.to_json()),
                "tells": self.tells,
            }
        )


@lru_cache(maxsize=256)
def read_run_input(text: str) -> RunInput:
    """Read an input, once per process: an orchestration is replayed at each of its turns.

    Raises HistoryMismatchError where this version cannot run it.
    """
    value: Any = loads(text)
    found = value.get("format") if isinstance(value, dict) else None
    if found != FORMAT:
        message = (
            f"this run was started in format {found!r}, and this version of the app runs format"
            f" {FORMAT}; let the version that started it finish it, or start it again"
        )
        raise HistoryMismatchError(message)
    return RunInput(
        plan=read_plan(value["plan"]),
        limits=Limits.from_json(value["limits"]),
        owner=Owner(**value["owner"]),
        tells=bool(value["tells"]),
    )
