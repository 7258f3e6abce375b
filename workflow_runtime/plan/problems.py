"""
Problems: what is wrong with a plan, where, and how to put it right.

``path`` is a JSON pointer (RFC 6901) into the plan as decoded; ``fix`` is a list of operations
(RFC 6902) on it, present only where it is certain. Codes are stable; ``docs/problems.md`` lists
them and a test compares.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

type Operation = dict[str, Any]

_MAX_MESSAGE = 400

CODES: dict[str, str] = {
    "not_json": "What was sent is not JSON, or holds a value JSON does not have.",
    "not_an_object": "A plan is an object with `tasks`.",
    "too_deep": "The plan is nested deeper than allowed.",
    "too_large": "The plan is larger than allowed.",
    "missing_field": "A field that this place needs is not there.",
    "unknown_field": "A field is not known here.",
    "wrong_type": "A field has a value of the wrong JSON type.",
    "wrong_value": "A field has a value that is not one of those allowed.",
    "not_offered": "A part of the plan language that this version does not offer.",
    "invalid_id": "A task id has characters or a length that ids may not have.",
    "reserved_id": "A task id is a word that templates use themselves.",
    "duplicate_id": "Two tasks have one id (case does not tell them apart).",
    "unknown_tool": "No tool of this name may be used in plans of this skill.",
    "tool_failed_to_load": "The tool's file did not load when the app started.",
    "unknown_agent": "No sub-agent of this name may be used by this skill.",
    "missing_argument": "A tool needs an argument that is not given.",
    "unknown_argument": "A tool has no argument of this name.",
    "invalid_argument": "An argument does not fit the tool's schema.",
    "mismatched_reference": "A reference gives a type that the argument does not take.",
    "unknown_reference": "A reference names nothing that is known here.",
    "incomplete_reference": "A reference names a task, but not what of it.",
    "impossible_reference": "A reference leads to a field that cannot be there.",
    "item_outside_for_each": "`item` and `index` have a value only in a task with `for_each`.",
    "template_unclosed": "A `${` has no closing brace.",
    "template_dialect": "A reference is written in another dialect.",
    "template_in_key": "Object keys are never templates.",
    "template_in_name": "Names of tools and agents are never templates.",
    "template_not_allowed": "A reference stands in a field that takes none.",
    "expression_invalid": "An expression is neither a plain path nor JMESPath.",
    "expression_too_long": "An expression is longer than allowed.",
    "expression_too_deep": "An expression is nested deeper than allowed.",
    "expression_unknown_function": "An expression calls a function that does not exist.",
    "expression_hides_dependencies": "`@` or `*` at the root hides which tasks are read.",
    "reference_in_filter": "A name of the plan stands where names belong to the element.",
    "invalid_condition": "`when` is not a condition.",
    "invalid_for_each": "`for_each` is neither one reference nor an array.",
    "unknown_dependency": "`depends_on` names a task that does not exist.",
    "cycle": "Tasks wait for each other.",
    "invalid_wait": "A wait needs exactly one of `duration`, `until` and `event`.",
    "invalid_duration": "A duration is not ISO 8601, or not greater than zero.",
    "invalid_instant": "An instant is not RFC 3339 with an offset.",
    "instant_in_the_past": "An instant is more than 60 seconds in the past.",
    "timeout_too_long": "A `timeout` is longer than an attempt or a wait may last.",
    "retry_not_possible": "`retry` stands on a tool that acts only once.",
    "wait_too_long": "A wait is longer than `max_wait`.",
    "too_many_tasks": "The plan has more than `max_tasks` tasks.",
    "too_many_items": "A literal `for_each` has more than `max_items` items.",
    "too_many_agent_runs": "The plan would run sub-agents more than `max_agent_runs` times.",
}


@dataclass(frozen=True, slots=True)
class Problem:
    """One broken rule, worded for the model that has to put it right."""

    code: str
    path: str
    message: str
    task: str | None = None
    fix: tuple[Operation, ...] | None = None
    expected: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the shape that models and clients see."""
        shown: dict[str, Any] = {"code": self.code}
        if self.task is not None:
            shown["task"] = self.task
        message = self.message
        if len(message) > _MAX_MESSAGE:
            message = f"{message[: _MAX_MESSAGE - 1]}…"
        shown |= {"path": self.path, "message": message}
        if self.fix is not None:
            shown["fix"] = list(self.fix)
        elif self.expected is not None:
            shown["expected"] = self.expected
        return shown

    def __str__(self) -> str:
        return f"{self.path or '/'}: {self.message} [{self.code}]"


def pointer(*parts: str | int) -> str:
    """Join parts into a JSON pointer."""
    return "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in parts)


def replace(path: str, value: Any) -> tuple[Operation, ...]:
    """Return the fix that puts *value* at *path*."""
    return ({"op": "replace", "path": path, "value": value},)


def add(path: str, value: Any) -> tuple[Operation, ...]:
    """Return the fix that puts *value* where there is nothing yet."""
    return ({"op": "add", "path": path, "value": value},)


def remove(path: str) -> tuple[Operation, ...]:
    """Return the fix that takes away what is at *path*."""
    return ({"op": "remove", "path": path},)


def move(source: str, path: str) -> tuple[Operation, ...]:
    """Return the fix that gives what is at *source* another name."""
    return ({"op": "move", "from": source, "path": path},)


# Likeness costs some 20 µs a word.
_MAX_COMPARED = 250


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that *word* most likely means, or None."""
    words = {candidate.lower(): candidate for candidate in sorted(known)}
    exact = words.get(word.lower())
    if exact is not None:
        return exact
    plain = {"".join(filter(str.isalnum, key)): value for key, value in words.items()}
    squeezed = plain.get("".join(filter(str.isalnum, word.lower()[:100])))
    if squeezed is not None:
        return squeezed
    if len(words) > _MAX_COMPARED:
        return None
    found = get_close_matches(word.lower()[:100], words, 1, 0.6)
    return words[found[0]] if found else None


def quoted(value: object, limit: int = 60) -> str:
    """Quote a short value in a message; longer ones are cut."""
    text = repr(value) if not isinstance(value, str) else repr(value[: limit + 1])
    return text if len(text) <= limit + 2 else text[:limit] + "…"


def listed(names: Iterable[str], limit: int = 12) -> str:
    """Write names in a row for a message."""
    names = sorted(names)
    more = [f"and {len(names) - limit} more"] if len(names) > limit else []
    return ", ".join([*names[:limit], *more]) or "none"
