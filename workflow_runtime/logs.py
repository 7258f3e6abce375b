"""
Loggers whose lines say which run, step and attempt they are about.

The first line of each message ends with the ids that are known, as ``[workflow_id=… task_id=…
attempt=… correlation_id=…]``; the record has them as attributes too. They come from the block that
is being carried out, see :func:`bound`, or from ``extra``, which wins. Prompts, arguments and
results are never logged at INFO. This module imports nothing of the package.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any

IDS = ("workflow_id", "task_id", "attempt", "correlation_id")
_LONGEST = 200
_NOTHING: Mapping[str, object] = MappingProxyType({})
_BOUND: ContextVar[Mapping[str, object]] = ContextVar("workflow_runtime_logs", default=_NOTHING)


@contextmanager
def bound(
    *,
    workflow_id: str | None = None,
    task_id: str | None = None,
    attempt: int | None = None,
    correlation_id: str | None = None,
) -> Iterator[None]:
    """Have every line of the block carry these ids; None leaves what an outer block bound."""
    given = zip(IDS, (workflow_id, task_id, attempt, correlation_id), strict=True)
    known = {name: value for name, value in given if value is not None}
    token = _BOUND.set({**_BOUND.get(), **known})
    try:
        yield
    finally:
        _BOUND.reset(token)


def get_logger(name: str) -> Logger:
    """Return the logger of that name, which adds the ids."""
    return Logger(logging.getLogger(name))


class Logger(logging.LoggerAdapter[logging.Logger]):
    """A logger to call like any other; *extra* may hold more than ids."""

    def log(self, level: int, msg: object, *args: object, **kwargs: Any) -> None:
        """Log *msg* with the ids in it; what every other method calls."""
        if not self.isEnabledFor(level):
            return
        given: Mapping[str, object] = kwargs.pop("extra", None) or {}
        extra = {**_BOUND.get(), **{k: v for k, v in given.items() if v is not None}}
        tail = _tail(extra)
        first, newline, rest = str(msg).partition("\n")
        whole = f"{first}{tail.replace('%', '%%') if args else tail}{newline}{rest}"
        # Past this method, so that the record names the line that called.
        stacklevel = kwargs.pop("stacklevel", 1) + 1
        self.logger.log(level, whole, *args, extra=extra, stacklevel=stacklevel, **kwargs)


def _tail(ids: Mapping[str, object]) -> str:
    said = (f"{name}={_plain(ids[name])}" for name in IDS if name in ids)
    text = " ".join(said)
    return f" [{text}]" if text else ""


def _plain(value: object) -> str:
    """Write an id on one line, whoever made it up."""
    return re.sub(r"[^!-~]+", "_", str(value))[:_LONGEST]
