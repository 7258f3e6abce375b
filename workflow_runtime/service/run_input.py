"""
The frozen input of a run: all that its orchestration ever knows of plan, limits and owner.

A redeploy never changes a running instance, so everything that decides what happens next stands
here, under a format number. What today's app allows is asked again for each step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from ..engine import Run
from ..errors import HistoryMismatchError
from ..plan.encoding import dumps, loads
from ..plan.grants import Limits
from ..plan.model import Plan, read_plan
from ..plan.policies import Policies
from ..plan.types import Json
from .owners import Owner

FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInput:
    """What a run is started with.

    ``tells``: its session is told when it ends. ``root`` is the id that idempotency keys are made
    from: the run's own, or that of the run of which this is a re-run. ``reuse`` has the results
    that a re-run may use again, by task and resolved inputs.
    """

    plan: Plan
    limits: Limits
    policies: Policies
    owner: Owner
    tells: bool
    root: str
    reuse: Mapping[str, list[Json]] = field(default_factory=dict)

    def new_run(self) -> Run:
        """Return the run before its first event."""
        return Run(self.plan, self.limits, self.policies, scope=self.root, reuse=self.reuse)

    def to_text(self) -> str:
        """Write the orchestration's input."""
        return dumps(
            {
                "format": FORMAT,
                "plan": self.plan.to_json(),
                "limits": dict(self.limits.to_json()),
                "policies": self.policies.to_json(),
                "owner": dict(self.owner.to_json()),
                "tells": self.tells,
                "root": self.root,
                "reuse": dict(self.reuse),
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
        policies=Policies.from_json(value["policies"]),
        owner=Owner(**value["owner"]),
        tells=bool(value["tells"]),
        root=value["root"],
        reuse=value["reuse"],
    )
