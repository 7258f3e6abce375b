"""
Bare literals and words, spelled the way JMESPath does.

Models write ``a.ok == false``, ``n > 3`` and ``s == "high"``, where JMESPath itself would read
names, and ``and``, ``or``, ``not x`` and ``len(…)`` for ``&&``, ``||``, ``!x`` and ``length(…)``.
All of it is rewritten on JMESPath's own tokens, before parsing; what is inside of quotes stays.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from jmespath.lexer import Lexer

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
LITERALS = {"true": "true", "false": "false", "null": "null"} | {
    "True": "true", "False": "false", "None": "null"
}  # fmt: skip


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


def rewrite(text: str, names: frozenset[str]) -> str:
    """Spell bare literals, ``and``, ``or``, ``not`` and ``len`` the way JMESPath does.

    What ``not`` and ``!`` negate is put into parentheses: JMESPath's ``!a.b`` is ``(!a).b``, and
    ``not`` reaches as far as it does in Python.
    """
    tokens = _tokens(text)
    edits: list[tuple[int, int, str]] = []
    skip_to = 0
    in_filter = _in_filter(tokens)
    for position, token in enumerate(tokens):
        before = tokens[position - 1].type if position else "start"
        known = frozenset() if in_filter[position] else names  # there, names are the element's
        spelling, used = _respell(tokens, position, before, known)
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


def _in_filter(tokens: list[_Token]) -> list[bool]:
    """Tell of each token whether it stands inside ``[? ]``."""
    opened: list[str] = []
    inside: list[bool] = []
    for token in tokens:
        if token.type in _CLOSING and opened:
            opened.pop()
        inside.append("filter" in opened)
        if token.type in _OPENING:
            opened.append(token.type)
    return inside


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
            return _respell_word(token, after, names), 1
        case "number" if before in _BEFORE_OPERAND:
            return _respell_number(tokens, position, before, after)
        case "quoted_identifier" if _is_string(tokens, position, before, after, names):
            escaped = token.value.replace("\\", "\\\\").replace("'", "\\'")
            literal = json.dumps(token.value, ensure_ascii=False).replace("`", "\\`")
            return (f"'{escaped}'" if "\\" not in token.value else f"`{literal}`"), 1
        case _:
            return None, 1


def _respell_word(token: _Token, after: str, names: frozenset[str]) -> str | None:
    word = token.value
    if word in LITERALS and after not in _AFTER_NAME and word not in names:
        return f"`{LITERALS[word]}`"
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
    if before == "lbrace" or (before == "comma" and after == "colon"):
        return False
    if after in _COMPARATORS:
        other = tokens[position + 2].type if position + 2 < len(tokens) else "eof"
        return other not in {"literal", "number", "quoted_identifier"}
    return True
