"""
``@workflow_tool`` and ``@tool``: how a function says that it is a tool.

A decorator only leaves a declaration on the function; the catalog builds the tool when the whole
file has been imported. The function itself stays what it was, so that it can be called and tested.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, overload

from ..errors import ConfigurationError
from ..plan.grants import SideEffects
from ..plan.types import JsonSchema
from .schemas import check_schema
from .spelling import nearest

_MARK = "__workflow_runtime_tool__"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_SIDE_EFFECTS = ("none", "idempotent", "once")


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """What the decorators of one function say; None is what they leave open."""

    in_plans: bool = False
    in_chat: bool = False
    name: str | None = None
    description: str | None = None
    side_effects: SideEffects | None = None
    arguments: JsonSchema | None = None
    output: JsonSchema | None = None


OPTIONS = tuple(f.name for f in fields(Declaration) if not f.name.startswith("in_"))


@overload
def workflow_tool[**P, R](function: Callable[P, R], /) -> Callable[P, R]: ...
@overload
def workflow_tool[**P, R](
    *,
    name: str | None = None,
    description: str | None = None,
    side_effects: SideEffects | None = None,
    arguments: JsonSchema | None = None,
    output: JsonSchema | None = None,
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def workflow_tool(function: Any = None, /, **options: Any) -> Any:
    """Make a function a tool that plans may call.

    ``name`` and ``description`` default to the function's name and docstring, ``side_effects`` is
    ``none`` (default), ``idempotent`` or ``once``; ``arguments`` and ``output`` are JSON Schemas
    where the annotations do not say it all. Raises ConfigurationError for any other option.
    """
    return _decorate("workflow_tool", function, options, Declaration(in_plans=True))


@overload
def tool[**P, R](function: Callable[P, R], /) -> Callable[P, R]: ...
@overload
def tool[**P, R](
    *,
    name: str | None = None,
    description: str | None = None,
    side_effects: SideEffects | None = None,
    arguments: JsonSchema | None = None,
    output: JsonSchema | None = None,
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def tool(function: Any = None, /, **options: Any) -> Any:
    """Make a function a tool that a skill calls in a turn; options as of :func:`workflow_tool`."""
    return _decorate("tool", function, options, Declaration(in_chat=True))


def declaration_of(function: object) -> Declaration | None:
    """Return what the decorators of *function* say, None where it has none."""
    found = getattr(function, _MARK, None)
    return found if isinstance(found, Declaration) else None


def _decorate(decorator: str, function: Any, options: Mapping[str, Any], base: Declaration) -> Any:
    declared = replace(base, **_checked(f"@{decorator}", options))

    def mark(target: Any) -> Any:
        if not inspect.isroutine(target):
            raise ConfigurationError(
                f"@{decorator} stands before a function, not {type(target).__name__}; options are"
                f" given by name: {', '.join(OPTIONS)}"
            )
        merged = _merge(f"@{decorator} of {target.__name__!r}", declaration_of(target), declared)
        setattr(target, _MARK, merged)
        return target

    return mark if function is None else mark(function)


def _checked(where: str, options: Mapping[str, Any]) -> Mapping[str, Any]:
    for option, value in options.items():
        if option not in OPTIONS:
            hint = f" (did you mean {near!r}?)" if (near := nearest(option, OPTIONS)) else ""
            raise ConfigurationError(
                f"{where} has no option {option!r}{hint}; known are {', '.join(OPTIONS)}"
            )
        if value is not None:
            _check_option(f"{where}, option {option!r}", option, value)
    return options


def _check_option(where: str, option: str, value: object) -> None:
    if option in ("arguments", "output"):
        check_schema(where, value, of_object=option == "arguments")
    elif not isinstance(value, str):
        raise ConfigurationError(f"{where} must be text, not {type(value).__name__}")
    elif option == "name" and not _NAME.fullmatch(value):
        raise ConfigurationError(
            f"{where} must be a letter or '_', then at most 63 letters, digits, '_' or '-'"
        )
    elif option == "side_effects" and value not in _SIDE_EFFECTS:
        raise ConfigurationError(f"{where} must be one of {', '.join(_SIDE_EFFECTS)}")


def _merge(where: str, first: Declaration | None, second: Declaration) -> Declaration:
    if first is None:
        return second
    merged: dict[str, Any] = {}
    for option in OPTIONS:
        one, two = getattr(first, option), getattr(second, option)
        if one is not None and two is not None and one != two:
            raise ConfigurationError(f"{where}: the other decorator says {option} differently")
        merged[option] = two if one is None else one
    return Declaration(
        in_plans=first.in_plans or second.in_plans,
        in_chat=first.in_chat or second.in_chat,
        **merged,
    )
