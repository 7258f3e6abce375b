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
from datetime import timedelta
from functools import partial
from typing import Any, Unpack, overload

from ..errors import ConfigurationError
from ..plan.policies import RetryPolicy, SideEffects, WorkPolicy
from ..plan.types import JsonSchema
from .options import (
    ToolOptions,
    approval_of,
    concurrency_of,
    retry_of,
    side_effects_of,
    timeout_of,
)
from .schemas import check_schema
from .spelling import nearest

_MARK = "__workflow_runtime_tool__"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """What the decorators of one function say; None is what they leave open."""

    in_plans: bool = False
    in_chat: bool = False
    name: str | None = None
    description: str | None = None
    retry: RetryPolicy | None = None
    timeout: timedelta | None = None
    approval: bool | None = None
    side_effects: SideEffects | None = None
    concurrency: int | None = None
    arguments: JsonSchema | None = None
    output: JsonSchema | None = None

    @property
    def policy(self) -> WorkPolicy:
        """What they say of attempts."""
        return WorkPolicy(
            retry=self.retry,
            timeout=self.timeout,
            approval=self.approval or False,
            concurrency=self.concurrency,
            side_effects=self.side_effects or "none",
        )


OPTIONS = tuple(f.name for f in fields(Declaration) if not f.name.startswith("in_"))


@overload
def workflow_tool[**P, R](function: Callable[P, R], /) -> Callable[P, R]: ...
@overload
def workflow_tool[**P, R](
    **options: Unpack[ToolOptions],
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def workflow_tool(function: Any = None, /, **options: Any) -> Any:
    """Make a function a tool that plans may call.

    ``name`` and ``description`` default to the function's name and docstring. ``retry`` (a mapping
    of ``max_attempts``, ``initial``, ``multiplier``, ``max``) and ``timeout`` (an ISO 8601 duration
    or seconds) hold for tasks that say nothing else; ``approval="always"`` asks a person before
    each call; ``side_effects`` is ``none`` (default), ``idempotent`` or ``once``; ``concurrency``
    bounds the calls of one run at a time. ``arguments`` and ``output`` are JSON Schemas where the
    annotations do not say it all. Raises ConfigurationError for any other option or value.
    """
    return _decorate("workflow_tool", function, options, Declaration(in_plans=True))


@overload
def tool[**P, R](function: Callable[P, R], /) -> Callable[P, R]: ...
@overload
def tool[**P, R](
    **options: Unpack[ToolOptions],
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
        where = f"@{decorator} of {target.__name__!r}"
        merged = _merge(where, declaration_of(target), declared)
        if merged.side_effects == "once" and merged.retry is not None:
            raise ConfigurationError(
                f"{where}: a tool with side_effects='once' is never tried again; leave 'retry' out"
            )
        setattr(target, _MARK, merged)
        return target

    return mark if function is None else mark(function)


def _checked(where: str, options: Mapping[str, Any]) -> Mapping[str, Any]:
    checked: dict[str, Any] = {}
    for option, value in options.items():
        if option not in OPTIONS:
            hint = f" (did you mean {near!r}?)" if (near := nearest(option, OPTIONS)) else ""
            raise ConfigurationError(
                f"{where} has no option {option!r}{hint}; known are {', '.join(OPTIONS)}"
            )
        if value is not None:
            checked[option] = _READERS[option](f"{where}, option {option!r}", value)
    return checked


def _text(where: str, given: object) -> str:
    if not isinstance(given, str):
        raise ConfigurationError(f"{where} must be text, not {type(given).__name__}")
    return given


def _name(where: str, given: object) -> str:
    name = _text(where, given)
    if not _NAME.fullmatch(name):
        raise ConfigurationError(
            f"{where} must be a letter or '_', then at most 63 letters, digits, '_' or '-'"
        )
    return name


_READERS: Mapping[str, Callable[[str, Any], Any]] = {
    "name": _name,
    "description": _text,
    "retry": retry_of,
    "timeout": timeout_of,
    "approval": approval_of,
    "side_effects": side_effects_of,
    "concurrency": concurrency_of,
    "arguments": partial(check_schema, of_object=True),
    "output": partial(check_schema, of_object=False),
}


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
