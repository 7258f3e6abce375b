"""What a command prints, and where."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..plan.types import Json

INTERRUPTED = 130
"""The exit code after Ctrl-C."""

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


def command_line(options: argparse.Namespace, action: str, *rest: str) -> str:
    """Write a ``workflows`` command for the places that *options* name, to be typed as it is."""
    is_module = Path(sys.argv[0]).name == "__main__.py"
    words = [sys.executable, "-m", "workflow_runtime"] if is_module else ["workflow-runtime"]
    words += ["workflows", action, *rest]
    if options.app_root != Path():
        words += ["--app-root", str(options.app_root)]
    if options.data is not None:
        words += ["--data", str(options.data)]
    return shlex.join(words)


def waiting_lines(
    workflow_id: str, waiting: Mapping[str, Any], options: argparse.Namespace
) -> list[str]:
    """Write what a run waits for, and the command that answers it."""
    until = f" until {waiting['until']}" if "until" in waiting else ""
    if "digest" in waiting:
        asked = json.dumps(waiting["args"], ensure_ascii=False) if "tool" in waiting else ""
        answer = (workflow_id, str(waiting["task"]), "--digest", str(waiting["digest"]))
        return [
            f"{waiting['task']} asks{until}: {waiting['message']} {asked}".rstrip(),
            f"  {command_line(options, 'approve', *answer)}",
            f"  {command_line(options, 'reject', *answer)}",
        ]
    if "event" in waiting:
        return [
            f"{waiting['task']} waits for an event{until}",
            f"  {command_line(options, 'event', workflow_id, str(waiting['event']))} JSON",
        ]
    return [f"{waiting['task']} waits{until}"]


def envelope_text(envelope: Mapping[str, Any], options: argparse.Namespace) -> str:
    """Write an envelope for people."""
    name = f"  {envelope['name']}" if envelope.get("name") else ""
    lines = [f"{envelope['workflow_id']}  {envelope['status']}{name}"]
    lines += [f"  {task_line(task)}" for task in envelope.get("tasks", ())]
    if envelope.get("tasks_omitted"):
        lines.append(f"  … and {envelope['tasks_omitted']} more")
    for waiting in envelope.get("waiting_for", ()):
        lines += [f"  {line}" for line in waiting_lines(envelope["workflow_id"], waiting, options)]
    if "hint" in envelope:
        lines.append(f"  {envelope['hint']}")
    elif "no_progress_for" in envelope and not envelope["waiting_for"]:
        lines.append(f"  nothing has happened for {envelope['no_progress_for']}")
    if error := envelope.get("error"):
        lines.append(f"  error {error['code']}: {error.get('message', '')}")
    if "output" in envelope:
        lines.append(json.dumps(envelope["output"], ensure_ascii=False, indent=2))
    return "\n".join(lines)
