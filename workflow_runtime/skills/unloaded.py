"""
The tools that a file would have held, read from its text because it does not import.

So a plan that names one of them is told why it is not there. The file is parsed; where its syntax
is broken, its lines are looked at one by one.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

_DECORATOR = re.compile(r"\s*@(?:\w+\.)?workflow_tool\b(.*)")
_NAMED = re.compile(r"""\bname\s*=\s*["'](\w[\w-]{0,63})["']""")
_FUNCTION = re.compile(r"\s*(?:async\s+)?def\s+(\w+)")


def tool_names_in(path: Path) -> tuple[str, ...]:
    """Return the names of the ``@workflow_tool`` functions of a file."""
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return ()
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return tuple(dict.fromkeys(_by_lines(text)))
    return tuple(dict.fromkeys(_by_syntax(tree)))


def _by_syntax(tree: ast.Module) -> Iterator[str]:
    aliases = {"workflow_tool"} | {
        alias.asname
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name == "workflow_tool" and alias.asname
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        options = [each for each in node.decorator_list if isinstance(each, ast.Call)]
        if any(_last_name(each) in aliases for each in node.decorator_list):
            named = [k.value for call in options for k in call.keywords if k.arg == "name"]
            constant = next((v.value for v in named if isinstance(v, ast.Constant)), None)
            yield constant if isinstance(constant, str) else node.name


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Call):
        return _last_name(node.func)
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _by_lines(text: str) -> Iterator[str]:
    decorated, name = False, None
    for line in text.splitlines():
        if _DECORATOR.match(line):
            decorated, name = True, None
        if decorated and (found := _NAMED.search(line)):
            name = found[1]
        if found := _FUNCTION.match(line):
            if decorated:
                yield name or found[1]
            decorated = False
