"""
``${…}`` inside strings: parse once, render many times.

A string that is exactly one ``${…}`` keeps the value's JSON type. Inside longer text a string goes
in as it is and every other value as compact JSON. ``$${`` writes a literal ``${``. Inserted text is
never scanned again, and object keys are never templates.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ..errors import TemplateError
from .encoding import dumps
from .expressions import ExpressionError, Query, find_end, parse_query
from .paths import Path, look_up, match_path
from .types import Json

MAX_DEPTH = 32
_MARK = re.compile(r"\$\$\{|\$\{|\{\{")
_DOUBLE = re.compile(r"\{\{-?\s*(.{1,1000}?)\s*-?\}\}", re.DOTALL)
_NEGATIVE_KEY = re.compile(r"\.(-[0-9]+)(?=[.\[\s}]|$)")


class Scope(Protocol):
    """Where names have their values; hosts of templates implement it."""

    def value(self, path: Path, *, strict: bool) -> Any:
        """Return what *path* leads to.

        What is missing raises TemplateError, or is None where not *strict*.
        """

    def tree(self, heads: frozenset[str]) -> Mapping[str, Any]:
        """Return plain JSON objects for the names that a JMESPath expression reads."""
        ...


class PlainScope:
    """A scope over plain values."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def value(self, path: Path, *, strict: bool) -> Any:
        """Walk the path from the value of its head."""
        if not strict:
            return look_up_leniently(self._values.get(path.head), path)
        if path.head not in self._values:
            message = f"${{{path}}}: nothing here is called {path.head!r}"
            raise TemplateError("reference_missing", message)
        return look_up(self._values[path.head], path)

    def tree(self, heads: frozenset[str]) -> Mapping[str, Any]:
        """Return the values themselves."""
        return {head: self._values[head] for head in heads if head in self._values}


def look_up_leniently(value: Any, path: Path) -> Any:
    """Walk the path, with None for what is missing."""
    try:
        return look_up(value, path)
    except TemplateError:
        return None


@dataclass(frozen=True, slots=True)
class Expression:
    """What stands between the braces: a plain path, or JMESPath for anything more."""

    source: str
    body: Path | Query

    @property
    def paths(self) -> tuple[Path, ...]:
        """Every path it reads."""
        return (self.body,) if isinstance(self.body, Path) else self.body.paths

    @property
    def heads(self) -> frozenset[str]:
        """The names it depends on."""
        return frozenset(path.head for path in self.paths)

    def evaluate(self, scope: Scope, *, strict: bool = True) -> Any:
        """Return its value; raises TemplateError."""
        if isinstance(self.body, Path):
            return scope.value(self.body, strict=strict)
        return self.body.evaluate(scope.tree(self.heads))


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


@dataclass(frozen=True, slots=True)
class Whole:
    """A string that is exactly one expression."""

    expression: Expression


@dataclass(frozen=True, slots=True)
class Text:
    """A string with expressions inside."""

    parts: tuple[str | Expression, ...]


@dataclass(frozen=True, slots=True)
class Constant:
    """A value without any expression."""

    value: Json


@dataclass(frozen=True, slots=True)
class Array:
    """An array in which some element is not constant."""

    elements: tuple[Template, ...]


@dataclass(frozen=True, slots=True)
class Object:
    """An object in which some value is not constant."""

    members: tuple[tuple[str, Template], ...]


type Template = Constant | Whole | Text | Array | Object


def parse(value: Json, names: frozenset[str] = frozenset()) -> Template:
    """Parse a JSON value that is known to be right; raises ExpressionError otherwise."""
    match value:
        case str():
            template, problems = parse_text(value, names)
            if problems:
                raise ExpressionError(problems[0].code, problems[0].message)
            return template
        case list():
            elements = tuple(parse(element, names) for element in value)
            if all(isinstance(element, Constant) for element in elements):
                return Constant([e.value for e in elements if isinstance(e, Constant)])
            return Array(elements)
        case dict():
            members = tuple((key, parse(member, names)) for key, member in value.items())
            if all(isinstance(member, Constant) for _, member in members):
                return Constant({k: m.value for k, m in members if isinstance(m, Constant)})
            return Object(members)
        case _:
            return Constant(value)


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
    if found and found[1] == len(source) and source not in {"true", "false", "null"}:
        if _negative(found[0]):
            fix = _NEGATIVE_KEY.sub(r"[\1]", source)
            message = f"an element from the end is written in brackets: {fix}"
            raise ExpressionError("expression_invalid", message, fix)
        return Expression(source, found[0])
    return Expression(source, parse_query(source, names))


def _negative(path: Path) -> bool:
    return any(isinstance(s, str) and s[1:].isdigit() and s[0] == "-" for s in path.segments)


def _foreign(text: str, start: int, names: frozenset[str]) -> TemplateProblem | None:
    """Refuse ``{{logs.result}}`` where it names a task or the item."""
    found = _DOUBLE.match(text, start)
    if found is None:
        return None
    try:
        expression = parse_expression(found[1], names)
    except ExpressionError:
        return None
    heads = expression.heads
    if not heads & names and found[1] != "item" and not found[1].startswith(("item.", "input.")):
        return None
    right = f"${{{found[1]}}}"
    message = f"references are written {right}"
    return TemplateProblem("template_dialect", message, start, found.end(), right)


def render(template: Template, scope: Scope) -> Any:
    """Return the value with every expression replaced; raises TemplateError."""
    match template:
        case Constant(value):
            return value
        case Whole(expression):
            return expression.evaluate(scope)
        case Text(parts):
            return "".join(p if isinstance(p, str) else _as_text(p.evaluate(scope)) for p in parts)
        case Array(elements):
            return [render(element, scope) for element in elements]
        case Object(members):
            return {key: render(member, scope) for key, member in members}


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else dumps(value)


def expressions(template: Template) -> Iterator[Expression]:
    """Yield every expression inside, in order."""
    match template:
        case Whole(expression):
            yield expression
        case Text(parts):
            yield from (part for part in parts if isinstance(part, Expression))
        case Array(elements):
            for element in elements:
                yield from expressions(element)
        case Object(members):
            for _, member in members:
                yield from expressions(member)
        case Constant():
            return


def escape(text: str) -> str:
    """Return the template that renders to *text* whatever it contains."""
    return text.replace("${", "$${")
