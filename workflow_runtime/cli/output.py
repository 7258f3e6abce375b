"""What a command prints, and where."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping
from typing import Any

from ..plan.types import Json

_MARKS = {
    "completed": "✓", "failed": "✗", "running": "▸", "waiting": "…", "skipped": "-",
    "canceled": "✗", "pending": "·", "not_run": "·", "outcome_unknown": "?",
}  # fmt: skip


class Output:
    """Answers on stdout, everything else on stderr; all for people on stderr with ``--json``."""

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json

    def say(self, text: str) -> None:
        """Print a line for people."""
        print(text, file=sys.stderr, flush=True)

    def problem(self, text: str) -> None:
        """Print what went wrong, in one line."""
        if self.as_json:
            self.answer({"error": text})
        self.say(f"error: {text}")

    def answer(self, value: Json) -> None:
        """Print a JSON answer."""
        print(json.dumps(value, ensure_ascii=False, indent=2), flush=True)

    def text(self, text: str) -> None:
        """Print a text answer."""
        print(text, flush=True)


def problem_lines(problems: list[dict[str, Any]]) -> str:
    """Write problems for people."""
    lines = []
    for problem in problems:
        lines.append(f"{problem['path'] or '/'}: {problem['message']} [{problem['code']}]")
        if "fix" in problem:
            lines.append(f"    fix: {json.dumps(problem['fix'], ensure_ascii=False)}")
        elif "expected" in problem:
            lines.append(f"    expected: {problem['expected']}")
    return "\n".join(lines)


def task_line(task: Mapping[str, Any]) -> str:
    """Write one task of an envelope for people."""
    error = task.get("error")
    why = f"  {error['code']}: {error['message']}" if error else ""
    return f"{_MARKS.get(task['status'], ' ')} {task['id']}  {task['status']}{why}"


def waiting_lines(workflow_id: str, waiting: Mapping[str, Any]) -> list[str]:
    """Write what a run waits for, and the command that answers it."""
    until = f" until {waiting['until']}" if "until" in waiting else ""
    if "digest" in waiting:
        asked = json.dumps(waiting["args"], ensure_ascii=False) if "tool" in waiting else ""
        task = shlex.quote(str(waiting["task"]))
        answer = f"{workflow_id} {task} --digest {waiting['digest']}"
        return [
            f"{waiting['task']} asks{until}: {waiting['message']} {asked}".rstrip(),
            f"  workflows approve {answer}",
            f"  workflows reject {answer}",
        ]
    if "event" in waiting:
        name = shlex.quote(str(waiting["event"]))
        return [
            f"{waiting['task']} waits for an event{until}",
            f"  workflows event {workflow_id} {name} JSON",
        ]
    return [f"{waiting['task']} waits{until}"]


def envelope_text(envelope: Mapping[str, Any]) -> str:
    """Write an envelope for people."""
    name = f"  {envelope['name']}" if envelope.get("name") else ""
    lines = [f"{envelope['workflow_id']}  {envelope['status']}{name}"]
    lines += [f"  {task_line(task)}" for task in envelope.get("tasks", ())]
    if envelope.get("tasks_omitted"):
        lines.append(f"  … and {envelope['tasks_omitted']} more")
    for waiting in envelope.get("waiting_for", ()):
        lines += [f"  {line}" for line in waiting_lines(envelope["workflow_id"], waiting)]
    if "hint" in envelope:
        lines.append(f"  {envelope['hint']}")
    elif "no_progress_for" in envelope and not envelope["waiting_for"]:
        lines.append(f"  nothing has happened for {envelope['no_progress_for']}")
    if error := envelope.get("error"):
        lines.append(f"  error {error['code']}: {error.get('message', '')}")
    if "output" in envelope:
        lines.append(json.dumps(envelope["output"], ensure_ascii=False, indent=2))
    return "\n".join(lines)
