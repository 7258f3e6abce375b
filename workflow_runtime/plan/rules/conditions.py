"""Conditions and collections: ``when`` and ``for_each``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ..counting import known_items
from ..draft import Draft
from ..draft_task import DraftTask
from ..encoding import loads
from ..expressions import ExpressionError
from ..problems import Problem, nearest, quoted, replace
from ..reading import bare, scan
from ..schemas import types_of, written
from ..templates import Constant, Expression, Whole
from ..types import type_name
from . import words
from .references import check_path, right_source

_OPERATORS = {"==": "equals", "eq": "equals", "equal": "equals", "is": "equals"} | {
    "!=": "not_equals", "ne": "not_equals", "not_equal": "not_equals", "is_not": "not_equals"
}  # fmt: skip
_FINISHED = ("completed", "failed", "skipped")
_STATUS = re.compile(
    r"(?<![\w.])(?P<task>[A-Za-z_]\w*)\.status\s*[!=]=\s*(?P<quote>['\"])(?P<value>\w+)(?P=quote)"
)
_SHAPE = "a.result.ok == true, or {ref, operator, value}"


def conditions(draft: Draft) -> Iterator[Problem]:
    """Each ``when`` is a bare expression, or ``{ref, operator, value}``."""
    for task in draft.tasks:
        given = task.raw.get("when")
        path = task.path("when")
        match given:
            case None:
                continue
            case str():
                yield from _expression(draft, task, given, path)
            case dict():
                yield from _object(draft, task, given)
            case bool():
                message = "when is a condition on results; a fixed true or false says nothing"
                yield Problem("invalid_condition", path, message, task.id, expected=_SHAPE)
            case _:
                message = f"when is an expression, not {type_name(given)}"
                yield Problem("invalid_condition", path, message, task.id, expected=_SHAPE)


def _expression(draft: Draft, task: DraftTask, text: str, path: str) -> Iterator[Problem]:
    source = bare(text)
    if "${" in source:
        yield _braces(draft, task, text, path)
        return
    try:
        expression = draft.reader.expression(source)
    except ExpressionError as error:
        fix = replace(path, error.fix) if error.fix is not None else None
        yield Problem(error.code, path, str(error), task.id, fix, _SHAPE)
        return
    yield from _paths(draft, task, expression, path)
    yield from _statuses(draft, task, source, path)
    types = (types_of(draft.views.of(expression, task)) or frozenset()) - {"null"}
    if types and "boolean" not in types:
        message = f"a condition gives true or false, and {quoted(source)} gives {written(types)}"
        expected = f"a comparison, such as {source} == …"
        yield Problem("invalid_condition", path, message, task.id, expected=expected)


def _statuses(draft: Draft, task: DraftTask, source: str, path: str) -> Iterator[Problem]:
    """A task's status is compared with one that a finished task can have."""
    for found in _STATUS.finditer(source):
        value = found["value"]
        if found["task"] not in draft.names or value in _FINISHED:
            continue
        message = f"a finished task's status is never {quoted(value)}"
        right = words.STATUSES.get(value.lower()) or nearest(value, _FINISHED)
        start, end = found.span("value")
        fix = replace(path, f"{source[:start]}{right}{source[end:]}") if right else None
        expected = " or ".join(_FINISHED)
        yield Problem("invalid_condition", path, message, task.id, fix, expected)


def _paths(draft: Draft, task: DraftTask, expression: Expression, path: str) -> Iterator[Problem]:
    for one in expression.paths:
        found = check_path(draft, task, one, has_item=task.iterates)
        if found is None:
            continue
        right = right_source(expression, one, found)
        fix = replace(path, right) if right is not None else None
        expected = found.expected or "the name of a task and a field"
        yield Problem(found.code, path, found.message, task.id, fix, expected)


def _braces(draft: Draft, task: DraftTask, text: str, path: str) -> Problem:
    """Braces around a part of the condition: give the bare form where it can be read."""
    pieces: list[str] = []
    for start, end, piece in scan(text, draft.names):
        inner = piece.source if isinstance(piece, Expression) else text[start:end]
        in_quotes = "".join(pieces).count("'") % 2 or "".join(pieces).count('"') % 2
        if isinstance(piece, Expression) and in_quotes:
            message = "a condition is written bare, and a reference in quotes is text"
            return Problem("invalid_condition", path, message, task.id, expected=_SHAPE)
        pieces.append(inner)
    candidate = "".join(pieces).strip()
    try:
        draft.reader.expression(candidate)
    except ExpressionError:
        message = "a condition is written bare, without ${ }"
        return Problem("invalid_condition", path, message, task.id, expected=_SHAPE)
    message = f"a condition is written bare: {quoted(candidate, 120)}"
    fix = replace(path, candidate) if "${" not in candidate else None
    return Problem("invalid_condition", path, message, task.id, fix=fix, expected=_SHAPE)


def _object(draft: Draft, task: DraftTask, given: dict[str, Any]) -> Iterator[Problem]:
    for key in [key for key in given if key not in {"ref", "operator", "value"}]:
        message = f"a condition has ref, operator and value, and no {quoted(key)}"
        yield Problem("unknown_field", task.path("when", key), message, task.id, expected=_SHAPE)
    ref = given.get("ref")
    if not isinstance(ref, str):
        path = task.path("when") if ref is None else task.path("when", "ref")
        message = "a condition needs 'ref', the value that is compared"
        yield Problem("invalid_condition", path, message, task.id, expected=_SHAPE)
    else:
        yield from _expression_of_ref(draft, task, ref)
    operator = given.get("operator", "equals")
    if operator not in ("equals", "not_equals"):
        path = task.path("when", "operator")
        known = ("equals", "not_equals")
        right = None
        if isinstance(operator, str):
            right = _OPERATORS.get(operator.lower()) or nearest(operator, known)
        message = f"operator is 'equals' or 'not_equals', not {quoted(operator)}"
        fix = replace(path, right) if right else None
        expected = "an expression such as a.result.n > 3 for other comparisons"
        yield Problem("wrong_value", path, message, task.id, fix, expected)
    if isinstance(given.get("value"), dict | list):
        path = task.path("when", "value")
        message = "a condition compares with a scalar"
        yield Problem("invalid_condition", path, message, task.id, expected="text, number, …")


def _expression_of_ref(draft: Draft, task: DraftTask, ref: str) -> Iterator[Problem]:
    path = task.path("when", "ref")
    try:
        expression = draft.reader.expression(bare(ref))
    except ExpressionError as error:
        fix = replace(path, f"${{{error.fix}}}") if error.fix is not None else None
        yield Problem(error.code, path, str(error), task.id, fix, "${a.result.ok}")
        return
    for problem in _paths(draft, task, expression, path):
        if problem.fix is not None:
            fix = replace(path, f"${{{problem.fix[0]['value']}}}")
            problem = Problem(problem.code, path, problem.message, problem.task, fix)  # noqa: PLW2901
        yield problem


def collections(draft: Draft) -> Iterator[Problem]:
    """Each ``for_each`` is one reference or expression to an array, or an array."""
    for task in draft.tasks:
        given = task.raw.get("for_each")
        path = task.path("for_each")
        if given is None or task.kind in {"wait", "approval"}:
            continue
        if isinstance(given, list):
            yield from _items(draft, task, given, path)
        elif not isinstance(given, str):
            message = f"for_each is one reference to an array, not {type_name(given)}"
            yield Problem("invalid_for_each", path, message, task.id, expected="${a.result}")
        else:
            yield from _for_each(draft, task, given, path)


def _items(draft: Draft, task: DraftTask, given: list[Any], path: str) -> Iterator[Problem]:
    limit = draft.grants.limits.max_items
    if len(given) > limit:
        message = f"for_each has {len(given)} items; max_items is {limit}"
        yield Problem("too_many_items", path, message, task.id, expected=f"at most {limit} items")


def _for_each(draft: Draft, task: DraftTask, given: str, path: str) -> Iterator[Problem]:
    template, problems = draft.reader.text(given)
    if problems:
        return  # said by the rule on syntax
    if isinstance(template, Whole):
        types = types_of(draft.views.of(template.expression, task))
        if types and "array" not in types:
            message = f"for_each wants an array, and {given} gives {written(types)}"
            expected = "a reference to an array"
            yield Problem("invalid_for_each", path, message, task.id, expected=expected)
        items = known_items(template, draft.raw.get("input"))
        yield from _items(draft, task, items or [], path)
        return
    if isinstance(template, Constant):
        yield _bare_for_each(draft, task, given, path)
        return
    message = "for_each is exactly one reference, with no text around it"
    yield Problem("invalid_for_each", path, message, task.id, expected="${a.result}")


def _list_in(text: str) -> list[Any] | None:
    try:
        value = loads(text)
    except ValueError:
        return None
    return value if isinstance(value, list) else None


def _bare_for_each(draft: Draft, task: DraftTask, given: str, path: str) -> Problem:
    if (items := _list_in(given)) is not None:
        message = "for_each is an array, and is one written as text"
        return Problem("invalid_for_each", path, message, task.id, replace(path, items))
    message = "for_each is one reference, written ${…}"
    try:
        expression = draft.reader.expression(given.strip())
    except ExpressionError:
        return Problem("invalid_for_each", path, message, task.id, expected="${a.result}")
    is_known = bool(expression.heads) and expression.heads <= draft.names | {"input"}
    fix = replace(path, f"${{{given.strip()}}}") if is_known else None
    return Problem("invalid_for_each", path, message, task.id, fix, "${a.result}")
