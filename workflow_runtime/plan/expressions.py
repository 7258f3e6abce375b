"""
JMESPath (https://jmespath.org/specification.html) as plans use it.

Two things differ from JMESPath itself, both because models write them so: **bare literals are
literals** (``a.ok == false``, ``n > 3``, ``s == "high"``) and ``and``, ``or``, ``not x`` and
``len(…)`` are read as ``&&``, ``||``, ``!x`` and ``length(…)``. Both are rewritten on JMESPath's own
tokens before parsing. Static analysis finds the names an expression reads, and refuses what would
hide them (``@`` and ``*`` at the root, root names inside a filter).
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
from jmespath.lexer import Lexer
from jmespath.parser import Parser

from ..errors import TemplateError
from .encoding import dumps
from .paths import Path, Segment

MAX_LENGTH = 1_000
MAX_DEPTH = 50

_FUNCTIONS: Mapping[str, Any] = Functions.FUNCTION_TABLE
_OPTIONS = jmespath.Options()
_COMPARATORS = frozenset({"eq", "ne", "lt", "lte", "gt", "gte"})
_BEFORE_OPERAND = _COMPARATORS | {
    "start", "and", "or", "not", "word_and", "word_or", "word_not", "pipe",
    "lparen", "comma", "filter", "lbracket", "colon", "lbrace",
}  # fmt: skip
_ENDS = _COMPARATORS | {"eof", "rparen", "rbracket", "rbrace", "comma", "colon", "dot"}
_OPENING = frozenset({"lbracket", "filter", "lparen", "lbrace"})
_CLOSING = frozenset({"rbracket", "rparen", "rbrace"})
_STOPS = frozenset({"word_and", "word_or", "and", "or", "pipe", "comma", "eof"})
_AFTER_NAME = frozenset({"dot", "lbracket", "filter", "flatten", "lparen", "colon"})
_WORDS = {"and": "&&", "or": "||", "not": "!"}
_LITERALS = frozenset({"true", "false", "null"})


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
            dumps(value)
        except JMESPathTypeError as error:
            message = f"{self.source!r}: {_type_error(error)}"
            raise TemplateError("expression_type", message) from None
        except (JMESPathError, ValueError, TypeError, ArithmeticError, RecursionError) as error:
            message = f"{self.source!r} has no JSON value: {error}"
            raise TemplateError("expression_type", message) from None
        return value


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
        parsed = Parser().parse(_rewrite(text, names))
        too_deep = _depth(parsed.parsed) > MAX_DEPTH
    except (JMESPathError, ValueError) as error:
        raise _syntax_error(text, error) from None
    except RecursionError:
        too_deep = True
    if too_deep:
        message = f"an expression may be nested {MAX_DEPTH} deep"
        raise ExpressionError("expression_too_deep", message)
    _refuse_unknown_functions(parsed.parsed)
    return Query(text, tuple(_root_paths(parsed.parsed, names)), parsed.search)


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


@dataclass(frozen=True, slots=True)
class _Token:
    type: str
    value: Any
    start: int
    end: int


def _tokens(text: str) -> list[_Token]:
    """Read JMESPath's tokens, with ``and``, ``or`` and ``not`` as the operators they are."""
    raw = list(Lexer().tokenize(text))
    starts = [token["start"] for token in raw[1:]] + [len(text)]
    tokens: list[_Token] = []
    for position, (token, end) in enumerate(zip(raw, starts, strict=True)):
        kind, start = token["type"], token["start"]
        before = tokens[-1].type if tokens else "start"
        after = raw[position + 1]["type"] if position + 1 < len(raw) else "eof"
        if kind == "unquoted_identifier" and token["value"] in _WORDS:
            is_prefix = token["value"] == "not"
            if is_prefix is (before in _BEFORE_OPERAND) and before != "dot":
                kind = kind if after in _ENDS else f"word_{token['value']}"
        tokens.append(_Token(kind, token["value"], start, start + len(text[start:end].rstrip())))
    return tokens


def _rewrite(text: str, names: frozenset[str]) -> str:
    """Spell bare literals, ``and``, ``or``, ``not`` and ``len`` the way JMESPath does.

    What ``not`` and ``!`` negate is put into parentheses: JMESPath's ``!a.b`` is ``(!a).b``, and
    ``not`` reaches as far as it does in Python.
    """
    tokens = _tokens(text)
    edits: list[tuple[int, int, str]] = []
    skip_to = 0
    for position, token in enumerate(tokens):
        before = tokens[position - 1].type if position else "start"
        spelling, used = _respell(tokens, position, before, names)
        if spelling is not None and position >= skip_to:
            edits.append((token.start, tokens[position + used - 1].end, spelling))
            skip_to = position + used
        if token.type in {"word_not", "not"}:
            last = _negated(tokens, position + 1, whole=token.type == "word_not")
            start, end = tokens[position + 1].start, tokens[last].end
            edits += [(start, start, "("), (end, end, ")")]
    done, pieces = 0, []
    for start, end, spelling in sorted(edits, key=lambda edit: edit[:2]):
        pieces += [text[done:start], spelling]
        done = end
    return "".join(pieces) + text[done:]


def _negated(tokens: list[_Token], first: int, *, whole: bool) -> int:
    """Return the position of the last token of what begins at *first*.

    *whole*: up to the next ``and`` or ``or``; otherwise the path alone.
    """
    depth, last = 0, first
    for position in range(first, len(tokens)):
        kind, before = tokens[position].type, tokens[position - 1].type
        opens, closes = kind in _OPENING, kind in _CLOSING
        depth += opens - closes
        joins = kind in {"dot", "flatten"} or before == "dot" or position == first
        joins = joins or before in {"not", "word_not"}
        goes_on = kind not in _STOPS if whole else joins or closes or opens
        if depth < 0 or not (depth or goes_on):
            break
        last = position
    return last


def _respell(
    tokens: list[_Token], position: int, before: str, names: frozenset[str]
) -> tuple[str | None, int]:
    """Return the spelling of the token at *position* and how many tokens it replaces."""
    token, after = tokens[position], tokens[min(position + 1, len(tokens) - 1)].type
    match token.type:
        case "word_and" | "word_or" | "word_not":
            return f" {_WORDS[token.value]} ", 1
        case "unquoted_identifier" if before in _BEFORE_OPERAND:
            return _respell_word(token, after), 1
        case "number" if before in _BEFORE_OPERAND:
            return _respell_number(tokens, position, before, after)
        case "quoted_identifier" if _is_string(tokens, position, before, after, names):
            escaped = token.value.replace("\\", "\\\\").replace("'", "\\'")
            literal = json.dumps(token.value, ensure_ascii=False).replace("`", "\\`")
            return (f"'{escaped}'" if "\\" not in token.value else f"`{literal}`"), 1
        case _:
            return None, 1


def _respell_word(token: _Token, after: str) -> str | None:
    word = token.value
    if word in _LITERALS and after not in _AFTER_NAME:
        return f"`{word}`"
    return "length" if word == "len" and after == "lparen" else None


def _respell_number(
    tokens: list[_Token], position: int, before: str, after: str
) -> tuple[str | None, int]:
    if (before == "lbracket" and after in {"rbracket", "colon"}) or _is_slice(tokens, position):
        return None, 1
    whole, rest = tokens[position], tokens[position + 1 : position + 3]
    is_fraction = (
        [t.type for t in rest] == ["dot", "number"]
        and rest[0].start == whole.end
        and rest[1].start == rest[0].end
        and rest[1].value >= 0
    )
    if is_fraction:
        digits = rest[1].end - rest[1].start
        sign = "-" if whole.value == 0 and whole.end - whole.start > 1 else ""
        return f"`{sign}{whole.value}.{rest[1].value:0{digits}d}`", 3
    return f"`{whole.value}`", 1


def _is_slice(tokens: list[_Token], position: int) -> bool:
    """Whether the number stands in ``[a:b:c]``: only numbers and colons back to the bracket."""
    while position and tokens[position].type in {"number", "colon"}:
        position -= 1
    return tokens[position].type == "lbracket" and tokens[position + 1].type in {"number", "colon"}


def _is_string(
    tokens: list[_Token], position: int, before: str, after: str, names: frozenset[str]
) -> bool:
    """Whether a double-quoted token is meant as text: an operand that names nothing known."""
    token = tokens[position]
    if before not in _BEFORE_OPERAND or after in _AFTER_NAME or token.value in names:
        return False
    if before in {"lbrace"} or (before == "comma" and after == "colon"):
        return False
    if after in _COMPARATORS:
        other = tokens[position + 2].type if position + 2 < len(tokens) else "eof"
        return other not in {"literal", "number", "quoted_identifier"}
    return True


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
            message = f"no function is called {node['value']!r}; there are {', '.join(sorted(_FUNCTIONS))}"
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
    if node["type"] in {"subexpression", "index_expression"}:
        for child in node["children"]:
            yield from _flatten_chain(child)
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
