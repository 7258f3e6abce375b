"""
Templates: JSON in which strings may hold ``${…}``, read once and rendered many times.

:mod:`.reading` makes them of text. A string that is exactly one ``${…}`` keeps the value's JSON
type. Inside longer text a string goes in as it is and every other value as compact JSON. ``$${``
writes a literal ``${``. Inserted text is never scanned again, and object keys are never templates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from ..errors import TemplateError
from .encoding import dumps
from .expressions import Query
from .paths import Path, look_up
from .types import Json


class Scope(Protocol):
    """Where names have their values; hosts of templates implement it."""

    def value(self, path: Path, *, strict: bool) -> Any:
        """Return what *path* leads to.

        What is missing raises TemplateError, or is None where not *strict*.
        """

    def tree(self, heads: frozenset[str]) -> Mapping[str, Any]:
        """Return plain JSON objects for the names that a JMESPath expression reads."""
        ...


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


def escaped(value: Json) -> Json:
    """Return the template that renders to *value*, whatever its strings contain."""
    match value:
        case str():
            return escape(value)
        case list():
            return [escaped(one) for one in value]
        case dict():
            return {key: escaped(one) for key, one in value.items()}
        case _:
            return value
