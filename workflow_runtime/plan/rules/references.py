"""References: well written, to names that are known, to fields that can be there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .. import templates
from ..draft import Draft, DraftTask
from ..paths import Path, spell
from ..problems import Problem, listed, nearest, pointer, replace
from ..schemas import ANY, Absent
from ..templates import Expression, repair
from ..views import Views

# What models write for the fields of a task's view.
_VIEW_WORDS = {
    "output": "result", "outputs": "result", "results": "result", "value": "result",
    "response": "result", "data": "result", "answer": "result", "state": "status",
    "errors": "error",
}  # fmt: skip
_CONSTANTS = frozenset({"input", "context", "item", "index"})


@dataclass(frozen=True, slots=True)
class Place:
    """A string that may hold references: where it stands, and the task it belongs to."""

    path: str
    text: str
    task: DraftTask | None


def places(draft: Draft) -> Iterator[Place]:
    """Yield every string in which references may stand."""
    for task in draft.tasks:
        for name in ("args", "task", "until", "for_each"):
            if name in task.raw:
                yield from _strings(task.raw[name], task.path(name), task)
    if "output" in draft.raw:
        yield from _strings(draft.raw["output"], pointer("output"), None)


def _strings(value: Any, path: str, task: DraftTask | None) -> Iterator[Place]:
    match value:
        case str():
            if "$" in value or "{{" in value:
                yield Place(path, value, task)
        case list():
            for index, one in enumerate(value):
                yield from _strings(one, f"{path}/{index}", task)
        case dict():
            for key, one in value.items():
                yield from _strings(one, path + pointer(key), task)


def syntax(draft: Draft) -> Iterator[Problem]:
    """Each ``${…}`` can be read."""
    for place in places(draft):
        _, problems = templates.parse_text(place.text, draft.names)
        right = repair(place.text, problems)
        for problem in problems:
            fix = replace(place.path, right) if problem.right is not None else None
            expected = "a reference such as ${task_id.result.field}"
            task = place.task.id if place.task else None
            yield Problem(problem.code, place.path, problem.message, task, fix, expected)


def known_names(draft: Draft) -> Iterator[Problem]:
    """Each reference leads from a known name to a field that can be there."""
    views = Views(draft)
    for place in places(draft):
        template, problems = templates.parse_text(place.text, draft.names)
        if problems:
            continue
        for expression in templates.expressions(template):
            yield from check_expression(draft, views, place, expression)


def check_expression(
    draft: Draft, views: Views, place: Place, expression: Expression
) -> Iterator[Problem]:
    """Check every path that an expression reads."""
    for path in expression.paths:
        found = check_path(draft, views, place.task, path)
        if found is not None:
            new = _put_right(place.text, expression, path, found, draft.names)
            fix = replace(place.path, new) if new is not None else None
            name = place.task.id if place.task else None
            yield Problem(found.code, place.path, found.message, name, fix, found.expected)


def _put_right(
    text: str, expression: Expression, path: Path, found: BadPath, names: frozenset[str]
) -> str | None:
    """Return *text* with the right spelling wherever the expression stands in it."""
    if found.is_literal:
        new = f"$${{{expression.source}}}"
    else:
        source = right_source(expression, path, found)
        if source is None:
            return None
        new = f"${{{source}}}"
    pieces = [
        new if isinstance(piece, Expression) and piece.source == expression.source else text[a:b]
        for a, b, piece in templates.scan(text, names)
    ]
    return "".join(pieces)


def right_source(expression: Expression, path: Path, found: BadPath) -> str | None:
    """Return the expression's text with the right path in it."""
    if found.right is None:
        return None
    if isinstance(expression.body, Path):
        return found.right
    old = str(path)
    return expression.source.replace(old, found.right) if old in expression.source else None


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


def check_path(draft: Draft, views: Views, task: DraftTask | None, path: Path) -> BadPath | None:
    """Say what is wrong with one path used in *task* (None: in ``output``), if anything is."""
    head = path.head
    if head in draft.names:
        if task is not None and head == task.id:
            message = f"task {head!r} cannot read its own result"
            return BadPath(code="cycle", message=message, expected="another task's result")
        return _check_view(draft, views, task, path)
    if head in {"item", "index"} and (task is None or not task.iterates):
        where = "output" if task is None else f"task {task.label!r}"
        message = f"{head!r} has a value only in a task with for_each, not in {where}"
        expected = "for_each on this task, or another name"
        return BadPath(code="item_outside_for_each", message=message, expected=expected)
    if head == "input" and "input" not in draft.raw:
        return None  # the caller may give one
    if head in _CONSTANTS:
        return _check_schema(views, task, path)
    return _unknown_name(draft, task, path)


def _unknown_name(draft: Draft, task: DraftTask | None, path: Path) -> BadPath:
    known = {*draft.names, "input", "context"} - ({task.id} if task is not None else set())
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
    right = str(Path(near, path.segments)) if near else None
    return BadPath(code=code, message=message, right=right, expected=f"one of {listed(known)}")


def _check_view(
    draft: Draft, views: Views, task: DraftTask | None, path: Path
) -> BadPath | None:
    if not path.segments:
        message = f"${{{path}}} names a task; its result is ${{{path}.result}}"
        return BadPath(code="incomplete_reference", message=message, right=f"{path}.result")
    fields = views.fields(path.head)
    if path.segments[0] in fields:
        return _check_schema(views, task, path)
    message = f"${{{path}}}: a task has {', '.join(fields)}, and no {path.segments[0]!r}"
    return BadPath(
        code="impossible_reference",
        message=message,
        right=_view_candidate(draft, views, task, path),
        expected=f"${{{path.head}.result…}}",
    )


def _view_candidate(
    draft: Draft, views: Views, task: DraftTask | None, path: Path
) -> str | None:
    """Guess what was meant by a path whose first key no view has."""
    inside = Path(path.head, ("result", *path.segments))
    word = _VIEW_WORDS.get(str(path.segments[0]).lower())
    renamed = Path(path.head, (word, *path.segments[1:])) if word else None
    is_declared = views.schema(Path(path.head, ("result",)), task) not in (ANY, {})
    order = [inside, renamed] if is_declared else [renamed, inside]
    for candidate in order:
        if candidate is None or isinstance(views.schema(candidate, task), Absent):
            continue
        if check_path(draft, views, task, candidate) is None:
            return str(candidate)
    return None


def _check_schema(views: Views, task: DraftTask | None, path: Path) -> BadPath | None:
    found = views.schema(path, task)
    if not isinstance(found, Absent):
        return None
    done = len(found.at)
    near = nearest(str(found.segment), found.keys) if found.keys else None
    right = None
    if near is not None:
        candidate = Path(path.head, (*path.segments[:done], near, *path.segments[done + 1 :]))
        right = None if isinstance(views.schema(candidate, task), Absent) else str(candidate)
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
        yield from _keys(task.raw.get("args"), task.path("args"), task.id, draft.names)
    yield from _keys(draft.raw.get("output"), pointer("output"), None, draft.names)


def _keys(value: Any, path: str, task: str | None, names: frozenset[str]) -> Iterator[Problem]:
    if isinstance(value, dict):
        for key, one in value.items():
            here = path + pointer(key)
            if "${" in key and any(templates.expressions(templates.parse_text(key, names)[0])):
                message = "a key is never a template; put the value into an array of pairs"
                yield Problem("template_in_key", here, message, task, expected="a fixed key")
            yield from _keys(one, here, task, names)
    elif isinstance(value, list):
        for index, one in enumerate(value):
            yield from _keys(one, f"{path}/{index}", task, names)


def constants(draft: Draft) -> Iterator[Problem]:
    """``name``, ``context`` and ``duration`` take no references."""
    checked: list[tuple[Any, str, str | None]] = [
        (draft.raw.get("name"), pointer("name"), None),
        (draft.raw.get("context"), pointer("context"), None),
    ]
    checked += [(t.raw.get("duration"), t.path("duration"), t.id) for t in draft.tasks]
    known = draft.names | {"item", "input"}
    for value, path, task in checked:
        if not isinstance(value, str) or "${" not in value:
            continue
        found = templates.expressions(templates.parse_text(value, draft.names)[0])
        if any(expression.heads & known for expression in found):
            name = path.rsplit("/", 1)[-1]
            message = f"{name} takes no references; args, task, until, for_each and output do"
            expected = "a duration such as PT30S" if name == "duration" else "fixed text"
            yield Problem("template_not_allowed", path, message, task, expected=expected)
