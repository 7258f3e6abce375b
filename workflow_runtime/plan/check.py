"""Check a plan as it was sent: everything that is wrong with it, all at once."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any

from .decoding import decode
from .draft import Draft, draft
from .draft_task import OWN_FIELDS
from .grants import Grants
from .model import Plan, read_plan
from .problems import Problem
from .rules import RULES
from .types import Json

MAX_PROBLEMS = 100
"""More are not looked for: nobody repairs more at a time, and each costs its reader."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What a check found.

    ``plan`` is there exactly when there are no ``problems``. ``decoded`` is what was sent, as the
    pointers in the problems see it; None where it is not a JSON object at all.
    """

    plan: Plan | None
    problems: tuple[Problem, ...]
    decoded: dict[str, Any] | None


def check(
    submission: Any,
    grants: Grants,
    now: datetime,
    *,
    context: str | None = None,
    data: Json = None,
) -> Checked:
    """Return the plan that may run, or every problem of *submission*.

    *submission* is anything at all: the decoded arguments of a call, or their text. *now* is
    aware. *context* and *data* are what the caller brings for a plan that names no ``context`` or
    ``input`` of its own. Of a plan with very many problems the first MAX_PROBLEMS are returned.
    Never raises.
    """
    decoded, problem = decode(submission)
    if decoded is None:
        return Checked(None, (problem,) if problem else (), None)
    brought = {"context": context, "input": data}
    missing = {k: v for k, v in brought.items() if v is not None and decoded.get(k) is None}
    made = draft({**decoded, **missing}, grants, now)
    found = list(islice((problem for rule in RULES for problem in rule(made)), MAX_PROBLEMS))
    if found:
        return Checked(None, tuple(sorted(found, key=_place)), decoded)
    return Checked(read_plan(_normal(made), made.reader), (), decoded)


def _place(problem: Problem) -> tuple[int, int]:
    """Sort the plan's own problems first, then those of each task together."""
    parts = problem.path.split("/")
    in_task = len(parts) > 2 and parts[1] == "tasks" and parts[2].isdigit()
    return (1, int(parts[2])) if in_task else (0, 0)


def _normal(made: Draft) -> dict[str, Any]:
    """Return the plan in its normal form: types written out, empty fields left out."""
    tasks = []
    for task in made.tasks:
        kept = {k: v for k, v in task.raw.items() if v is not None and k != "type"}
        tasks.append({"id": task.id, "type": task.kind or next(iter(OWN_FIELDS))} | kept)
    kept = {k: v for k, v in made.raw.items() if k == "output" or v is not None}
    return kept | {"tasks": tasks}
