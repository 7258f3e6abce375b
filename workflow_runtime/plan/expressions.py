"""
JMESPath (https://jmespath.org/specification.html) as plans use it.

Bare literals and words such as ``and`` are rewritten before parsing, see :mod:`.rewriting`. Static
analysis finds the names an expression reads, and refuses what would hide them (``@`` and ``*`` at
the root, root names inside a filter).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jmespath
from jmespath.exceptions import JMESPathError, JMESPathTypeError
from jmespath.functions import Functions
from jmespath.parser import Parser

from ..errors import TemplateError
from .encoding import dumps
from .paths import Path, Segment
from .rewriting import rewrite

MAX_LENGTH = 1_000
MAX_DEPTH = 50

_FUNCTIONS: Mapping[str, Any] = Functions.FUNCTION_TABLE
_OPTIONS = jmespath.Options()


class ExpressionError(ValueError):
    """An expression that cannot be read; ``code`` is a problem code, ``fix`` the right text."""

    def __init__(self, code: str, message: str, fix: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.fix = fix


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed JMESPath expression and the paths it reads from the root."""

    source: str
    paths: tuple[Path, ...]
    _search: Callable[..., Any]

    def evaluate(self, scope: Mapping[str, Any]) -> Any:
        """Evaluate over *scope*; what is missing is None, a type error raises TemplateError."""
        try:
            value = self._search(scope, options=_OPTIONS)
        except JMESPathTypeError as error:
            message = f"{self.source!r}: {_type_error(error)}"
            raise TemplateError("expression_type", message) from None
        except TypeError:
            message = f"{self.source!r} puts values of different types in order; see to_number()"
            raise TemplateError("expression_type", message) from None
        except (JMESPathError, ValueError, ArithmeticError, RecursionError) as error:
            raise self._no_value(error) from None
        try:
            dumps(value)
        except (ValueError, TypeError, RecursionError) as error:
            raise self._no_value(error) from None
        return value

    def _no_value(self, error: Exception) -> TemplateError:
        return TemplateError("expression_type", f"{self.source!r} has no JSON value: {error}")


def _type_error(error: JMESPathTypeError) -> str:
    wanted = " or ".join(str(kind) for kind in error.expected_types)
    return f"{error.function_name}() wants {wanted}, and got {error.actual_type}"


def find_end(text: str, start: int) -> int:
    """Return the position of the ``}`` that closes an expression begun at *start*, or -1.

    Quotes and braces are read as JMESPath's lexer reads them.
    """
    depth = 0
    position = start
    while position < len(text):
        char = text[position]
        if char in "'\"`":
            position = _skip_quoted(text, position)
            if position < 0:
                return -1
        elif char == "{":
            depth += 1
        elif char == "}" and depth == 0:
            return position
        elif char == "}":
            depth -= 1
        position += 1
    return -1


def _skip_quoted(text: str, position: int) -> int:
    quote = text[position]
    position += 1
    while position < len(text) and text[position] != quote:
        position += 2 if text[position] == "\\" else 1
    return position if position < len(text) else -1


def parse_query(text: str, names: frozenset[str] = frozenset()) -> Query:
    """Parse *text*; a double-quoted operand that is one of *names* stays a name.

    Raises ExpressionError with a code, a message and, where it is certain, the right text.
    """
    return _parse(text, names)


@lru_cache(maxsize=2048)
def _parse(text: str, names: frozenset[str]) -> Query:
    if len(text) > MAX_LENGTH:
        message = f"an expression may be {MAX_LENGTH} characters long, not {len(text)}"
        raise ExpressionError("expression_too_long", message)
    _refuse_bad_literals(text)
    try:
        parsed = Parser().parse(rewrite(text, names))
        tree: dict[str, Any] = dict(parsed.parsed)
        too_deep = _depth(tree) > MAX_DEPTH
    except (JMESPathError, ValueError) as error:
        raise _syntax_error(text, error) from None
    except RecursionError:
        too_deep = True
    if too_deep:
        message = f"an expression may be nested {MAX_DEPTH} deep"
        raise ExpressionError("expression_too_deep", message)
    _refuse_unknown_functions(tree)
    return Query(text, tuple(_root_paths(tree, names)), parsed.search)


def _syntax_error(text: str, error: Exception) -> ExpressionError:
    if "Unknown token '='" in str(error):
        fixed = text
        for operator in ("==", "!=", "<=", ">="):
            fixed = fixed.replace(operator, f"\0{operator[0]}\1")
        fixed = fixed.replace("=", "==").replace("\0", "").replace("\1", "=")
        try:
            _parse(fixed, frozenset())
        except ExpressionError:
            fixed = ""
        return ExpressionError("expression_invalid", "equality is written '=='", fixed or None)
    reason = str(error).splitlines()[0].split(": Parse error")[0]
    message = f"this is neither a plain path nor a JMESPath expression: {reason[:160]}"
    return ExpressionError("expression_invalid", message)


def _refuse_bad_literals(text: str) -> None:
    position = 0
    while position < len(text):
        if text[position] in "'\"`":
            end = _skip_quoted(text, position)
            if end < 0:
                message = f"the {text[position]} at character {position} is not closed"
                raise ExpressionError("expression_invalid", message)
            if text[position] == "`":
                _check_literal(text, position, end)
            position = end
        position += 1


def _check_literal(text: str, start: int, end: int) -> None:
    inner = text[start + 1 : end].replace("\\`", "`")
    try:
        value = json.loads(inner)
    except (ValueError, RecursionError):
        plain = "'" not in inner and "\\" not in inner
        fix = f"{text[:start]}'{inner}'{text[end + 1 :]}" if plain else None
        message = "backticks hold JSON; a string is written in single quotes"
        raise ExpressionError("expression_invalid", message, fix) from None
    if isinstance(value, float) and not math.isfinite(value):
        message = "NaN and Infinity are not JSON"
        raise ExpressionError("expression_invalid", message)


def _depth(node: dict[str, Any]) -> int:
    deepest, stack = 0, [(node, 1)]
    while stack:
        current, depth = stack.pop()
        deepest = max(deepest, depth)
        stack += [(c, depth + 1) for c in current.get("children", ()) if isinstance(c, dict)]
    return deepest


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("children", ()):
        if isinstance(child, dict):
            yield from _nodes(child)


def _refuse_unknown_functions(root: dict[str, Any]) -> None:
    for node in _nodes(root):
        if node["type"] != "function_expression":
            continue
        spec = _FUNCTIONS.get(node["value"])
        if spec is None:
            known = ", ".join(sorted(_FUNCTIONS))
            message = f"no function is called {node['value']!r}; there are {known}"
            raise ExpressionError("expression_unknown_function", message)
        wanted, given = spec["signature"], len(node["children"])
        variadic = bool(wanted) and bool(wanted[-1].get("variadic"))
        if given < len(wanted) or (given > len(wanted) and not variadic):
            message = f"{node['value']}() takes {len(wanted)} arguments, not {given}"
            raise ExpressionError("expression_invalid", message)


# Children of these nodes, by position, are evaluated against something else than the root.
_INNER = {
    "filter_projection": (1, 2),
    "projection": (1,),
    "value_projection": (1,),
    "pipe": (1,),
    "subexpression": (1,),
    "index_expression": (1,),
}


_PROJECTIONS = frozenset({"projection", "filter_projection", "value_projection", "flatten"})


def _root_paths(node: dict[str, Any], names: frozenset[str]) -> Iterator[Path]:
    """Yield the paths that *node*, evaluated against the root, reads."""
    kind, children = node["type"], node.get("children", [])
    if kind in {"current", "identity"}:
        message = "'@', '*' and '[*]' at the root hide what is read; name the task"
        raise ExpressionError("expression_hides_dependencies", message)
    chain = _chain(node)
    if chain is not None:
        path, rest = chain
        yield path
        has_item = path.segments == ("items",)
        for inner in rest:
            _check_inner(inner, names, has_item=has_item)
        return
    inner_positions = _INNER.get(kind, ())
    for position, child in enumerate(children):
        if not isinstance(child, dict):
            continue
        if position in inner_positions or kind == "expref":
            _check_inner(child, names, has_item=_reads_items(children[0]))
        else:
            yield from _root_paths(child, names)


def _reads_items(node: dict[str, Any]) -> bool:
    """Whether *node* is ``task.items``, whose elements have a field ``item`` of their own."""
    chain = _chain(node)
    return chain is not None and chain[0].segments == ("items",)


def _chain(node: dict[str, Any]) -> tuple[Path, list[dict[str, Any]]] | None:
    """Read ``a.b[0].c`` as a path; return it with the nodes behind what a path can say."""
    flat = list(_flatten_chain(node))
    if flat[0]["type"] != "field":
        return None
    segments: list[Segment] = []
    for position, part in enumerate(flat[1:], 1):
        if part["type"] not in {"field", "index"}:
            return Path(flat[0]["value"], tuple(segments)), flat[position:]
        segments.append(part["value"])
    return Path(flat[0]["value"], tuple(segments)), []


def _flatten_chain(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the steps of a chain; the parser nests ``a.b[*].c`` as ``a.(b[*].c)``."""
    if node["type"] in {"subexpression", "index_expression"}:
        for child in node["children"]:
            yield from _flatten_chain(child)
    elif node["type"] in _PROJECTIONS:
        first, *rest = node["children"]
        yield from _flatten_chain(first)
        yield {"type": "elements", "children": rest}
    else:
        yield node


def _check_inner(node: dict[str, Any], names: frozenset[str], *, has_item: bool) -> None:
    """Refuse root names in a place where names belong to an element."""
    for inner in _nodes(node):
        if inner["type"] != "subexpression":
            continue
        first, second = inner["children"][:2]
        if first["type"] != "field":
            continue
        head, key = first["value"], second.get("value")
        is_task = head in names and key == "result"
        if is_task or head == "input" or (head == "item" and not has_item):
            message = (
                f"inside [? ] and behind [*] names belong to the element, so {head!r} cannot be"
                " read there; compare outside of it, or pass the value in args"
            )
            raise ExpressionError("reference_in_filter", message)
