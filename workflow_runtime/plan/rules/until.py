"""``retry.until``: a condition over the attempt's own result, and over nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..draft import Draft
from ..draft_task import DraftTask
from ..expressions import ExpressionError
from ..paths import Path, spell
from ..policies import reads_only_result
from ..problems import Problem, nearest, quoted, replace
from ..reading import bare, parse_expression
from ..schemas import types_of, written
from ..templates import Expression
from ..types import JsonSchema, type_name
from ..walking import Absent, walk

_EXPECTED = "a condition over the result, such as result.passed == true"
_BARE = "until is written bare and reads the attempt's own result, under the name 'result'"
_BRACES = re.compile(r"\$\{([^{}]*)\}")


def untils(draft: Draft) -> Iterator[Problem]:
    """Each ``until`` is a condition over ``result``, and over fields that can be there."""
    for task in draft.tasks:
        retry = task.raw.get("retry")
        if task.kind not in {"tool", "sub_agent"} or not isinstance(retry, dict):
            continue
        value = retry.get("until")
        if isinstance(value, str):
            yield from _check(draft, task, value)
        elif value is not None:
            message = f"until is a condition over the result, not {type_name(value)}"
            yield _problem(task, "invalid_condition", message)


def _problem(task: DraftTask, code: str, message: str, right: str | None = None) -> Problem:
    path = task.path("retry", "until")
    fix = replace(path, right) if right is not None else None
    return Problem(code, path, message, task.id, fix=fix, expected=_EXPECTED)


def _check(draft: Draft, task: DraftTask, value: str) -> Iterator[Problem]:
    schema = draft.views.attempt(task)
    try:
        expression = parse_expression(bare(value))
    except ExpressionError as error:
        right = error.fix or _right(task, schema, value)
        message = _BARE if "${" in bare(value) else str(error)
        yield _problem(task, error.code, message, right)
        return
    if not reads_only_result(expression) or bare(value) != value:
        yield _problem(task, "invalid_condition", _BARE, _right(task, schema, value))
        return
    yield from _fields(task, schema, expression)


def _fields(task: DraftTask, schema: JsonSchema, expression: Expression) -> Iterator[Problem]:
    for path in expression.paths:
        found = walk(schema, path.segments)
        if isinstance(found, Absent):
            where = path.head + "".join(map(spell, found.at))
            message = f"{path} cannot have a value: in {where} {found}"
            yield _problem(task, "impossible_reference", message, _near(expression, path, found))
            return
    if isinstance(expression.body, Path):
        reached = walk(schema, expression.body.segments)
        types = None if isinstance(reached, Absent) else types_of(reached)
        if types and "boolean" not in types:
            message = f"until gives true or false, and {quoted(expression.source)} gives "
            yield _problem(task, "invalid_condition", message + written(types))


def _near(expression: Expression, path: Path, found: Absent) -> str | None:
    """Return the expression with the nearest field in the place of the one that is not there."""
    near = nearest(str(found.segment), found.keys) if found.keys else None
    if near is None:
        return None
    done = len(found.at)
    wanted = str(Path(path.head, (*path.segments[:done], near, *path.segments[done + 1 :])))
    right = re.sub(rf"(?<![\w.]){re.escape(str(path))}(?![\w.\[])", wanted, expression.source)
    return right if right != expression.source else None


def _right(task: DraftTask, schema: JsonSchema, value: str) -> str | None:
    """Return the condition that was meant, where it is certain."""
    text = _BRACES.sub(lambda found: found[1].strip(), bare(value)).strip()
    if task.id:
        text = re.sub(rf"(?<![\w.'\"]){re.escape(task.id)}\.(?=result\b)", "", text)
    try:
        expression = parse_expression(text)
        fields = schema.get("properties", {})
        for head in expression.heads - {"result"}:
            if head not in fields:
                return None
            text = re.sub(rf"(?<![\w.'\"]){re.escape(head)}(?![\w(])", f"result.{head}", text)
        return text if reads_only_result(parse_expression(text)) else None
    except ExpressionError:
        return None
