"""The demo model as a specialist: answers by rules from the data in its task."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from .reading import json_in

_HIGH_RISK_LINES = 400
_MEDIUM_RISK_LINES = 100
_MOST_ACTIONS = 7
_SENSITIVE = re.compile(r"auth|payment|migration|secur|crypt|login", re.IGNORECASE)


def specialist(task: str) -> str:
    """Answer a task: assess one item, sum up assessments, or repeat what it is about."""
    data = json_in(task)
    if isinstance(data, dict) and ("checks" in data or "reviews" in data):
        return _assessment(data)
    if isinstance(data, list) and all(isinstance(each, str | None) for each in data):
        return _summary(data)
    first = next((line.strip() for line in task.splitlines() if line.strip()), "nothing")
    return f"The task is: {first[:200]}\n{_described(data)}".strip()


def _assessment(item: Mapping[str, Any]) -> str:
    checks = item.get("checks") or {}
    failed = sorted(name for name, state in checks.items() if state == "failed")
    running = sorted(name for name, state in checks.items() if state == "running")
    reviews = item.get("reviews") or []
    asked = sorted({r["by"] for r in reviews if r.get("verdict") == "changes_requested"})
    approved = sorted({r["by"] for r in reviews if r.get("verdict") == "approved"})
    author = str(item.get("author", "the author"))
    wanted = item.get("requested_reviewers") or ["a reviewer"]
    reviewers = f"{', '.join(wanted)} {'reviews' if len(wanted) == 1 else 'review'} it"
    if failed:
        status, action = "blocked", f"{author} repairs {', '.join(failed)}"
    elif item.get("mergeable") is False:
        status, action = "blocked", f"{author} resolves the merge conflict"
    elif asked:
        status, action = "waiting for author", f"{author} answers the review of {', '.join(asked)}"
    elif item.get("draft"):
        status, action = "waiting for author", f"{author} finishes the draft"
    elif approved and not running:
        status, action = "ready", f"{author} merges it"
    else:
        status, action = "waiting for review", reviewers
    facts = [
        f"{len(failed)} of {len(checks)} checks failed" if checks else "no checks ran",
        f"{len(approved)} approved, {len(asked)} asked for changes",
        f"open for {item.get('age_days', 'an unknown number of')} days",
    ]
    return "\n".join(
        (
            f"#{item.get('number', '?')} {item.get('title', '')}".strip(),
            f"Status: {status}",
            f"Risk: {_risk(item)}",
            f"Why: {'; '.join(facts)}.",
            f"Next action: {action}",
        )
    )


def _risk(item: Mapping[str, Any]) -> str:
    lines = int(item.get("additions") or 0) + int(item.get("deletions") or 0)
    sensitive = next((f for f in item.get("files") or [] if _SENSITIVE.search(str(f))), None)
    if lines >= _HIGH_RISK_LINES:
        return f"high - {lines} changed lines"
    if sensitive:
        return f"medium - it touches {sensitive}"
    if lines >= _MEDIUM_RISK_LINES:
        return f"medium - {lines} changed lines"
    return f"low - {lines} changed lines"


_URGENCY = ("blocked", "waiting for author", "waiting for review", "ready")


def _summary(assessments: list[str | None]) -> str:
    known = [text for text in assessments if text]
    states = [_field(text, "Status") or "unknown" for text in known]
    count = Counter(states)
    counted = ", ".join(f"{count[state]} {state}" for state in _URGENCY if count[state])
    missing = len(assessments) - len(known)
    lines = [f"{len(assessments)} items: {counted or 'none assessed'}."]
    if missing:
        lines[0] += f" {missing} could not be assessed."
    ranked = sorted(
        zip(states, known, strict=True),
        key=lambda pair: _URGENCY.index(pair[0]) if pair[0] in _URGENCY else len(_URGENCY),
    )
    lines += ["", "Next actions"]
    for state, text in ranked[:_MOST_ACTIONS]:
        title = text.splitlines()[0]
        lines.append(f"- {_field(text, 'Next action') or 'look at it'} ({title}, {state})")
    risky = [text for _, text in ranked if (_field(text, "Risk") or "").startswith("high")]
    if risky:
        lines += ["", "Risks"]
        lines += [f"- {text.splitlines()[0]}: {_field(text, 'Risk')}" for text in risky]
    return "\n".join(lines)


def _field(text: str, name: str) -> str | None:
    found = re.search(rf"^{name}: (.+)$", text, re.MULTILINE)
    return found[1].strip() if found else None


def _described(data: Any) -> str:
    match data:
        case dict():
            return f"It comes with {', '.join(map(str, data)) or 'an empty object'}."
        case list():
            return f"It comes with a list of {len(data)}."
        case _:
            return ""
