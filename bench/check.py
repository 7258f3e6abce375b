"""
How long a check takes: `python -m bench.check`, in the repository.

Each figure is processor time, the best of several runs, and stands beside what `json.loads` needs
for the same text in the same run: the ratio says something on any machine. Exits with 1 where a
plan of 200 tasks takes 20 ms or more, one of 1,000 tasks with 5,000 references 150 ms or more, or
where the time grows faster than n log n.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from time import process_time
from typing import Any

from workflow_runtime.plan import AgentGrant, Grants, Limits, ToolGrant, check

NOW = datetime(2026, 11, 30, 20, 5, tzinfo=UTC)
RUNS = 15
STRING = {"type": "string"}
INTEGER = {"type": "integer"}


def closed(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


LOGS = closed(service=STRING, lines={"type": "array", "items": STRING}, errors=INTEGER)
GRANTS = Grants(
    tools={
        "fetch_logs": ToolGrant(
            name="fetch_logs", arguments=closed(service=STRING, minutes=INTEGER), output=LOGS
        ),
        "post": ToolGrant(name="post", arguments=closed(channel=STRING, text=STRING)),
    },
    agents={"writer": AgentGrant(name="writer")},
    limits=Limits(max_tasks=1_000, max_agent_runs=10_000),
)


def plan(tasks: int, references: int) -> dict[str, Any]:
    """Return a plan in which tasks of all kinds read *references* values of others in all."""
    readers = max(1, tasks * 4 // 5)
    each = math.ceil(references / readers)
    made: list[dict[str, Any]] = []
    for n in range(tasks):
        source = f"t{n // 5 * 5}"
        text = " ".join(f"{k}: ${{{source}.result.lines[{k}]}}" for k in range(each))
        if n % 5 == 0:
            made.append(
                {"id": f"t{n}", "tool": "fetch_logs", "args": {"service": f"s{n}", "minutes": 30}}
                | {"retry": {"max_attempts": 5, "until": "result.errors < 9"}, "timeout": "PT20S"}
            )
        elif n % 5 == 1:
            made.append({"id": f"t{n}", "type": "sub_agent", "agent": "writer", "task": text})
        elif n % 5 == 2:
            made.append({"id": f"t{n}", "type": "approval", "message": text, "timeout": "P1D"})
        else:
            made.append(
                {"id": f"t{n}", "tool": "post", "args": {"channel": "#x", "text": text}}
                | {"when": f"{source}.result.errors > {n}"}
            )
    return {"tasks": made}


def broken(sent: dict[str, Any]) -> dict[str, Any]:
    """Return the plan with one fault in each task."""
    text = json.dumps(sent).replace(".result.lines", ".result.linse").replace("minutes", "minuets")
    broken: dict[str, Any] = json.loads(text)
    return broken


def best(work: Callable[[], object]) -> float:
    times = []
    for _ in range(RUNS):
        start = process_time()
        work()
        times.append(process_time() - start)
    return min(times)


def measure(name: str, sent: dict[str, Any], *, is_valid: bool) -> float:
    """Print a line and return the seconds that a check of the text takes."""
    text = json.dumps(sent)
    found = check(text, GRANTS, NOW)
    assert bool(found.plan) is is_valid, found.problems[:3]
    parsing, checking = best(lambda: json.loads(text)), best(lambda: check(text, GRANTS, NOW))
    print(
        f"{name:32} {text.count('${'):6} references {len(text) / 1024:6.0f} KiB "
        f"{checking * 1e3:8.1f} ms   {checking / parsing:5.0f} x json.loads"
    )
    return checking


def main() -> int:
    """Measure, and say what misses its bound."""
    small = measure("200 tasks", plan(200, 300), is_valid=True)
    large = measure("1,000 tasks", plan(1_000, 5_000), is_valid=True)
    measure("200 tasks, each with a fault", broken(plan(200, 300)), is_valid=False)
    measure("1,000 tasks, each with a fault", broken(plan(1_000, 4_000)), is_valid=False)
    sizes = {n: measure(f"{n} tasks", plan(n, n * 5), is_valid=True) for n in (125, 250, 500, 1000)}
    growth = (sizes[1000] / sizes[125]) / ((1000 * math.log(1000)) / (125 * math.log(125)))
    print(f"growth from 125 to 1,000 tasks: {growth:.2f} of n log n")
    missed = [
        name
        for name, is_met in (
            ("200 tasks in 20 ms", small < 0.020),
            ("1,000 tasks in 150 ms", large < 0.150),
            ("growth of n log n", growth < 1.25),  # a quarter for a busy machine
        )
        if not is_met
    ]
    print(f"missed: {', '.join(missed)}" if missed else "all bounds are met")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
