"""A scope of templates over plain values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workflow_runtime.errors import TemplateError
from workflow_runtime.plan.paths import Path, look_up
from workflow_runtime.plan.templates import look_up_leniently


class PlainScope:
    """Names and their values."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def value(self, path: Path, *, strict: bool) -> Any:
        """Walk the path from the value of its head."""
        if not strict:
            return look_up_leniently(self._values.get(path.head), path)
        if path.head not in self._values:
            raise TemplateError("reference_missing", f"nothing here is called {path.head!r}")
        return look_up(self._values[path.head], path)

    def tree(self, heads: frozenset[str]) -> Mapping[str, Any]:
        """Return the values themselves."""
        return {head: self._values[head] for head in heads if head in self._values}
