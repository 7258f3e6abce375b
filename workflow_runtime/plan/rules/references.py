"""References: well written, to names that are known, to fields that can be there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .. import templates
from ..draft import Draft
from ..draft_task import DraftTask
from ..paths import Path, parse_path, spell
from ..problems import Problem, listed, nearest, pointer, replace
from ..reading import repair, scan
from ..schemas import ANY
from ..templates import Constant, Expression, Template
from ..walking import Absent

# What models write for the fields of a task's view.
_VIEW_WORDS = {
    "output": "result", "outputs": "result", "results": "result", "value": "result",
    "response": "result", "data": "result", "answer": "result", "state": "status",
    "errors": "error",
}  # fmt: skip
REFERENCES_STAND_IN = "args, task, message, until, for_each and output"
_CONSTANTS = frozenset({"input", "context", "item", "index"})


@dataclass(frozen=True, slots=True)
class Place:
    """A string that may hold references: where it stands, and the task it belongs to."""

    path: str
    text: str
    task: DraftTask | None
    has_item: bool = False


def places(draft: Draft) -> Iterator[Place]:
    """Yield every string in which references may stand."""
    for task in draft.tasks:
        for name in ("args", "task", "message", "until", "for_each"):
            if name in task.raw:
                where = Place(task.path(name), "", task, task.iterates and name != "for_each")
                yield from _strings(task.raw[name], where.path, where)
    if "output" in draft.raw:
        where = Place(pointer("output"), "", None)
        yield from _strings(draft.raw["output"], where.path, where)


def _strings(value: Any, path: str, where: Place) -> Iterator[Place]:
    match value:
        case str():
            if "$" in value or "{{" in value:
                yield Place(path, value, where.task, where.has_item)
        case list():
            for index, one in enumerate(value):
                yield from _strings(one, f"{path}/{index}", where)
        case dict():
            for key, one in value.items():
                yield from _strings(one, path + pointer(key), where)


def syntax(draft: Draft) -> Iterator[Problem]:
    """Each ``${…}`` can be read."""
    for place in places(draft):
        _, problems = draft.reader.text(place.text)
        right = repair(place.text, problems)
        for problem in problems:
            fix = replace(place.path, right) if problem.right is not None else None
            expected = "a reference such as ${task_id.result.field}"
            task = place.task.id if place.task else None
            yield Problem(problem.code, place.path, problem.message, task, fix, expected)


def known_names(draft: Draft) -> Iterator[Problem]:
    """Each reference leads from a known name to a field that can be there."""
    for place in places(draft):
        template, problems = draft.reader.text(place.text)
        if not problems and not isinstance(template, Constant):
            yield from _check_place(draft, place, template)


def _check_place(draft: Draft, place: Place, template: Template) -> Iterator[Problem]:
    """Check every path in a string; what can be put right is, all at once, in each fix."""
    found: list[BadPath] = []
    right: dict[str, str] = {}
    for expression in templates.expressions(template):
        for path in expression.paths:
            bad = check_path(draft, place.task, path, has_item=place.has_item)
            if bad is None:
                continue
            found.append(bad)
            old = right.get(expression.source, expression.source)
            new = (
                f"${expression.source}"
                if bad.is_literal
                else right_source(expression, path, bad, old)
            )
            right |= {expression.source: new} if new is not None else {}
    text = _put_right(place.text, right, draft.names) if right else place.text
    name = place.task.id if place.task else None
    for bad in dict.fromkeys(found):
        is_mended = text != place.text and (bad.right is not None or bad.is_literal)
        fix = replace(place.path, text) if is_mended else None
        yield Problem(bad.code, place.path, bad.message, name, fix, bad.expected)


def _put_right(text: str, right: dict[str, str], names: frozenset[str]) -> str:
    """Return *text* with other expressions in the place of those that are wrong.

    One that is meant as text stands in *right* with a ``$`` before it.
    """
    pieces = []
    for start, end, piece in scan(text, names):
        new = right.get(piece.source) if isinstance(piece, Expression) else None
        if new is not None and new.startswith("$"):
            pieces.append(f"$${{{new[1:]}}}")
        else:
            pieces.append(text[start:end] if new is None else f"${{{new}}}")
    return "".join(pieces)


def right_source(
    expression: Expression, path: Path, found: BadPath, source: str | None = None
) -> str | None:
    """Return the expression's text with the right path in it.

    *source* is its text with paths put right before.
    """
    if found.right is None:
        return None
    as_text = f'"{path}"'
    if not path.segments and as_text in expression.source:  # a text that a task is called like
        return expression.source.replace(as_text, f"'{path}'")
    if isinstance(expression.body, Path):
        return found.right
    source = source or expression.source
    # Not as the beginning of a longer path, but before what JMESPath adds to one.
    whole = rf"(?<![\w.\]]){re.escape(str(path))}(?!\w|\.\w|\[(?![?*\]]))"
    new = re.sub(whole, lambda _: str(found.right), source)
    return new if new != source else None


@dataclass(frozen=True, slots=True, kw_only=True)
class BadPath:
    """A path that cannot be right; ``right`` is what should stand there, where certain.

    ``is_literal``: most likely no reference was meant at all.

    """

    code: str
    message: str
    right: str | None = None
    expected: str | None = None
    is_literal: bool = False


def check_path(
    draft: Draft, task: DraftTask | None, path: Path, *, has_item: bool
) -> BadPath | None:
    """Say what is wrong with one path used in *task* (None: in ``output``), if anything is.

    *has_item*: whether ``item`` and ``index`` have values in this place.
    """
    head = path.head
    if head in draft.names:
        if task is not None and head == task.id:
            message = f"task {head!r} cannot read its own result"
            return BadPath(code="cycle", message=message, expected="another task's result")
        return _check_view(draft, task, path)
    if head in {"item", "index"} and not has_item:
        where = "output" if task is None else f"task {task.label!r}"
        where = f"the for_each of {where}" if task is not None and task.iterates else where
        message = f"{head!r} has a value only in a task with for_each, not in {where}"
        expected = "for_each on this task, or another name"
        return BadPath(code="item_outside_for_each", message=message, expected=expected)
    if head == "input" and path.segments and draft.raw.get("input") is None:
        message = f"${{{path}}} has no value: the plan has no 'input'"
        return BadPath(code="unknown_reference", message=message, expected="an input in the plan")
    if head in _CONSTANTS:
        return _check_schema(draft, task, path)
    return _unknown_name(draft, task, path)


def _unknown_name(draft: Draft, task: DraftTask | None, path: Path) -> BadPath:
    known = {name for name in draft.names if parse_path(name)} | {"input", "context"}
    known -= {task.id} if task is not None else set()
    known |= {"item", "index"} if task is not None and task.iterates else set()
    code = "unknown_reference"
    if path.head in {"tasks", "steps"} and path.segments and path.segments[0] in draft.names:
        right = str(Path(str(path.segments[0]), path.segments[1:]))
        message = f"tasks are named directly: ${{{right}}}"
        return BadPath(code=code, message=message, right=right)
    near = nearest(path.head, known)
    hint = f"; did you mean {near!r}?" if near else ""
    message = f"${{{path}}}: nothing is called {path.head!r}{hint}"
    if near is None and not path.segments:
        message += f". If it is meant as text, write $${{{path}}}"
        return BadPath(code=code, message=message, is_literal=True)
    corrected = str(Path(near, path.segments)) if near else None
    expected = f"one of {listed(known)}"
    return BadPath(code=code, message=message, right=corrected, expected=expected)


def _check_view(draft: Draft, task: DraftTask | None, path: Path) -> BadPath | None:
    if not path.segments:
        message = f"${{{path}}} names a task; its result is ${{{path}.result}}"
        return BadPath(code="incomplete_reference", message=message, right=f"{path}.result")
    fields = draft.views.fields(path.head)
    if path.segments[0] in fields:
        return _check_schema(draft, task, path)
    message = f"${{{path}}}: a task has {', '.join(fields)}, and no {path.segments[0]!r}"
    return BadPath(
        code="impossible_reference",
        message=message,
        right=_view_candidate(draft, task, path),
        expected=f"${{{path.head}.result…}}",
    )


def _view_candidate(draft: Draft, task: DraftTask | None, path: Path) -> str | None:
    """Guess what was meant by a path whose first key no view has."""
    inside = Path(path.head, ("result", *path.segments))
    word = _VIEW_WORDS.get(str(path.segments[0]).lower())
    renamed = Path(path.head, (word, *path.segments[1:])) if word else None
    is_declared = draft.views.schema(Path(path.head, ("result",)), task) not in (ANY, {})
    order = [inside, renamed] if is_declared else [renamed, inside]
    for candidate in order:
        if candidate is None or isinstance(draft.views.schema(candidate, task), Absent):
            continue
        if check_path(draft, task, candidate, has_item=False) is None:
            return str(candidate)
    return None


def _check_schema(draft: Draft, task: DraftTask | None, path: Path) -> BadPath | None:
    found = draft.views.schema(path, task)
    if not isinstance(found, Absent):
        return None
    done = len(found.at)
    near = nearest(str(found.segment), found.keys) if found.keys else None
    right = None
    if near is not None:
        candidate = Path(path.head, (*path.segments[:done], near, *path.segments[done + 1 :]))
        right = None if isinstance(draft.views.schema(candidate, task), Absent) else str(candidate)
    where = path.head + "".join(map(spell, found.at))
    return BadPath(
        code="impossible_reference",
        message=f"${{{path}}} cannot have a value: in {where} {found}",
        right=right,
        expected=f"one of {', '.join(found.keys[:20])}" if found.keys else "a path that can exist",
    )


def keys(draft: Draft) -> Iterator[Problem]:
    """No object key holds a reference."""
    for task in draft.tasks:
        for name in ("args", "for_each"):
            yield from _keys(draft, task.raw.get(name), task.path(name), task.id)
    yield from _keys(draft, draft.raw.get("output"), pointer("output"), None)


def _keys(draft: Draft, value: Any, path: str, task: str | None) -> Iterator[Problem]:
    if isinstance(value, dict):
        for key, one in value.items():
            here = path + pointer(key)
            if "${" in key and any(templates.expressions(draft.reader.text(key)[0])):
                message = "a key is never a template; put the value into an array of pairs"
                yield Problem("template_in_key", here, message, task, expected="a fixed key")
            yield from _keys(draft, one, here, task)
    elif isinstance(value, list):
        for index, one in enumerate(value):
            yield from _keys(draft, one, f"{path}/{index}", task)


def constants(draft: Draft) -> Iterator[Problem]:
    """``name`` and ``context`` take no references; other ``${…}`` in them is text."""
    known = draft.names | {"item", "input"}
    for name in ("name", "context"):
        value = draft.raw.get(name)
        if not isinstance(value, str) or "${" not in value:
            continue
        found = templates.expressions(draft.reader.text(value)[0])
        if any(expression.heads & known for expression in found):
            message = (
                f"{name} takes no references; args, task, message, until, for_each and output do"
            )
            yield Problem("template_not_allowed", pointer(name), message, expected="fixed text")
