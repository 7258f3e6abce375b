"""
The custom status: what a list shows of a run without reading its history, in 512 bytes.

The orchestrator writes it at every turn; what does not fit is left out, last what matters most.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Self

from ..engine import Run, RunStatus, Step, Wait
from ..plan.encoding import dumps, loads
from ..plan.times import format_instant
from ..plan.types import Json

MAX_BYTES = 512
_MAX_SHOWN = 5
_MAX_NAME = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Where a run stands, in short. ``waiting_for`` holds ``{task, kind, until}``, people first."""

    status: RunStatus
    name: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    waiting_for: tuple[dict[str, Json], ...] = ()
    now: tuple[str, ...] = ()
    error: str | None = None

    @classmethod
    def of(cls, run: Run) -> Self:
        """Summarise a run, in work that does not grow with it."""
        failure = run.outcome.error if run.outcome is not None else None
        waiting = islice((step for step in run.waiting if step.waits_for is not Wait.RETRY), 200)
        return cls(
            status=run.status,
            name=run.plan.name[:_MAX_NAME],
            counts=run.counts.to_json(),
            waiting_for=tuple(_waits_for(step) for step in _soonest(waiting)),
            now=tuple(step.id for step in islice(run.running, _MAX_SHOWN)),
            error=failure.code if failure is not None else None,
        )

    def to_text(self) -> str:
        """Write at most MAX_BYTES of JSON."""
        for shown, name in ((_MAX_SHOWN, self.name), (2, self.name), (0, self.name), (0, "")):
            parts: dict[str, Json] = {
                "status": self.status,
                "name": name,
                "counts": dict(self.counts),
                "waiting_for": list(self.waiting_for[:shown]),
                "now": list(self.now[:shown]),
                "error": self.error,
            }
            text = dumps({key: part for key, part in parts.items() if part})
            if len(text.encode()) <= MAX_BYTES:
                break
        return text

    @classmethod
    def from_text(cls, text: str | None) -> Self | None:
        """Read a custom status; None where there is none, or it is not ours."""
        try:
            value: Any = loads(text) if text else None
            return cls(
                status=value["status"],
                name=value.get("name", ""),
                counts=value.get("counts", {}),
                waiting_for=tuple(value.get("waiting_for", ())),
                now=tuple(value.get("now", ())),
                error=value.get("error"),
            )
        except (ValueError, TypeError, KeyError, AttributeError):
            return None


def _soonest(waiting: Iterable[Step]) -> list[Step]:
    """Return a few of the waiting steps: those that ask a person, then the soonest."""
    return heapq.nsmallest(
        _MAX_SHOWN,
        waiting,
        key=lambda step: (step.waits_for is not Wait.APPROVAL, step.until, step.id),
    )


def _waits_for(step: Step) -> dict[str, Json]:
    shown: dict[str, Json] = {"task": step.id, "kind": str(step.waits_for)}
    if step.until is not None:
        shown["until"] = format_instant(step.until)
    return shown
