"""
Read ``${…}`` in the strings of a plan, with everything that is wrong in them.

``$${`` writes a literal ``${``. Other dialects (``{{logs.result}}``, ``${{ logs.result }}``) are
refused with the right spelling where they name a task or the item.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .expressions import ExpressionError, Query, find_end, parse_query
from .paths import Path, match_path
from .rewriting import LITERALS
from .templates import Array, Constant, Expression, Object, Template, Text, Whole
from .types import Json

_MARK = re.compile(r"\$\$\{|\$\{|\{\{")
_DOUBLE = re.compile(r"\{\{-?\s*([^{}]{1,1000}?)\s*-?\}\}")
_NEGATIVE_KEY = re.compile(r"\.(-[0-9]+)(?=[.\[\s}]|$)")


@dataclass(frozen=True, slots=True)
class TemplateProblem:
    """One thing wrong in a string, from ``start`` to ``end``.

    ``right`` is what should stand there instead, where that is certain.
    """

    code: str
    message: str
    start: int
    end: int
    right: str | None = None


def repair(text: str, problems: Sequence[TemplateProblem]) -> str:
    """Return *text* with everything put right that is certain."""
    done, pieces = 0, []
    for problem in problems:
        if problem.right is not None:
            pieces += [text[done : problem.start], problem.right]
            done = problem.end
    return "".join(pieces) + text[done:]


class Reader:
    """Parses the strings of one plan, each once, however many rules look at it.

    *names* are the ids of the plan's tasks.
    """

    def __init__(self, names: frozenset[str]) -> None:
        self.names = names
        self._texts: dict[str, tuple[Template, tuple[TemplateProblem, ...]]] = {}
        self._expressions: dict[str, Expression | ExpressionError] = {}

    def text(self, text: str) -> tuple[Template, tuple[TemplateProblem, ...]]:
        """Parse a string; return it with everything that is wrong in it."""
        found = self._texts.get(text)
        if found is None:
            found = self._texts[text] = parse_text(text, self.names)
        return found

    def expression(self, source: str) -> Expression:
        """Parse what stands between braces, or a bare condition; raises ExpressionError."""
        found = self._expressions.get(source)
        if found is None:
            try:
                found = parse_expression(source, self.names)
            except ExpressionError as error:
                found = error
            self._expressions[source] = found
        if isinstance(found, ExpressionError):
            raise found
        return found

    def value(self, value: Json) -> Template:
        """Parse a JSON value that is known to be right; raises ExpressionError otherwise."""
        match value:
            case str():
                template, problems = self.text(value)
                if problems:
                    raise ExpressionError(problems[0].code, problems[0].message)
                return template
            case list():
                return _array(tuple(map(self.value, value)))
            case dict():
                return _object(tuple((key, self.value(one)) for key, one in value.items()))
            case _:
                return Constant(value)


def _array(elements: tuple[Template, ...]) -> Template:
    if all(isinstance(one, Constant) for one in elements):
        return Constant([one.value for one in elements if isinstance(one, Constant)])
    return Array(elements)


def _object(members: tuple[tuple[str, Template], ...]) -> Template:
    if all(isinstance(one, Constant) for _, one in members):
        return Constant({key: one.value for key, one in members if isinstance(one, Constant)})
    return Object(members)


def parse_text(
    text: str, names: frozenset[str] = frozenset()
) -> tuple[Template, tuple[TemplateProblem, ...]]:
    """Parse one string; return it with every problem in it."""
    if "$" not in text and "{{" not in text:
        return Constant(text), ()
    pieces = [piece for _, _, piece in scan(text, names)]
    problems = tuple(piece for piece in pieces if isinstance(piece, TemplateProblem))
    return _text([piece for piece in pieces if not isinstance(piece, TemplateProblem)]), problems


type Piece = str | Expression | TemplateProblem


def scan(text: str, names: frozenset[str] = frozenset()) -> Iterator[tuple[int, int, Piece]]:
    """Yield the pieces of a string, in order, with where each starts and ends."""
    done = 0
    while mark := _MARK.search(text, done):
        start = mark.start()
        if start > done:
            yield done, start, text[done:start]
        if mark[0] == "$${":
            done = mark.end()
            yield start, done, "${"
        elif mark[0] == "{{":
            problem = _foreign(text, start, names)
            done = problem.end if problem else mark.end()
            yield start, done, problem or "{{"
        else:
            found, done = _expression(text, start, names)
            yield start, done, found
    if done < len(text):
        yield done, len(text), text[done:]


def _text(parts: list[str | Expression]) -> Template:
    if len(parts) == 1 and isinstance(parts[0], Expression):
        return Whole(parts[0])
    if any(isinstance(part, Expression) for part in parts):
        return Text(tuple(parts))
    return Constant("".join(part for part in parts if isinstance(part, str)))


def _expression(
    text: str, start: int, names: frozenset[str]
) -> tuple[Expression | TemplateProblem, int]:
    """Parse the ``${`` at *start*; return it with the position behind its ``}``."""
    inner = start + 2
    while inner < len(text) and text[inner].isspace():
        inner += 1
    if plain := match_path(text, inner):
        end = plain[1]
        while end < len(text) and text[end].isspace():
            end += 1
        if text[end : end + 1] == "}" and not _negative(plain[0]):
            return Expression(text[inner : plain[1]], plain[0]), end + 1
    if text.startswith("${{", start) and (other := _foreign(text, start + 1, names)):
        return other, other.end
    end = find_end(text, inner)
    if end < 0:
        message = "the '${' is not closed; write '$${' for a literal '${'"
        return TemplateProblem("template_unclosed", message, start, len(text)), len(text)
    source = text[inner:end].strip()
    try:
        return parse_expression(source, names), end + 1
    except ExpressionError as error:
        right = None if error.fix is None else f"${{{error.fix}}}"
        return TemplateProblem(error.code, str(error), start, end + 1, right), end + 1


def parse_expression(source: str, names: frozenset[str] = frozenset()) -> Expression:
    """Parse what stands between braces, or a bare condition; raises ExpressionError."""
    if not source:
        code, message = "expression_invalid", "there is nothing between the braces"
        raise ExpressionError(code, message)
    found = match_path(source)
    if found and found[1] == len(source) and source not in LITERALS.keys() - names:
        if _negative(found[0]):
            fix = _NEGATIVE_KEY.sub(r"[\1]", source)
            message = f"an element from the end is written in brackets: {fix}"
            raise ExpressionError("expression_invalid", message, fix)
        return Expression(source, found[0])
    return Expression(source, parse_query(source, names))


def _negative(path: Path) -> bool:
    keys = [key for key in path.segments if isinstance(key, str) and key.startswith("-")]
    return any(key[1:].isdigit() for key in keys)


def _foreign(text: str, start: int, names: frozenset[str]) -> TemplateProblem | None:
    """Refuse ``{{logs.result}}`` and ``${{ … }}`` where they name a task or the item."""
    found = _DOUBLE.match(text, start)
    if found is None:
        return None
    try:
        expression = parse_expression(found[1], names)
    except ExpressionError:
        return None
    if not any(_is_meant(path, names) for path in expression.paths):
        return None
    start -= text[start - 1 : start] == "$"
    is_filter = isinstance(expression.body, Query) and "|" in found[1]  # of Jinja, most likely
    right = None if is_filter else f"${{{found[1]}}}"
    message = f"references are written {right or '${task_id.result.field}'}"
    return TemplateProblem("template_dialect", message, start, found.end(), right)


def _is_meant(path: Path, names: frozenset[str]) -> bool:
    """Whether a path in another dialect names something of the plan."""
    if path.head in {"tasks", "steps"}:
        return bool(names.intersection(map(str, path.segments[:1])))
    return (
        path.head in names or path.head == "item" or (path.head == "input" and path.segments != ())
    )


def bare(text: str) -> str:
    """Take the ``${`` and ``}`` off a string that is exactly one reference."""
    stripped = text.strip()
    if stripped.startswith("${") and find_end(stripped, 2) == len(stripped) - 1:
        return stripped[2:-1].strip()
    return stripped
