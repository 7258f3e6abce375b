"""The functions of an app and their URLs, as ``func start`` lists them."""

from __future__ import annotations

from typing import Any

from .functions_app import AppFunctions
from .routes import joined

_RUN_HERE = frozenset({"orchestrationTrigger", "activityTrigger"})


def rows(functions: AppFunctions, base_url: str, prefix: str) -> list[dict[str, Any]]:
    """Return one JSON-ready row per function; HTTP functions have ``methods`` and ``url``."""
    http = [
        {
            "name": target.function.name,
            "trigger": target.function.trigger,
            "methods": sorted(target.methods),
            "url": f"{base_url}{joined(prefix, target.route)}",
        }
        for target in functions.http
        if not target.function.is_hidden
    ]
    others = [
        {"name": function.name, "trigger": function.trigger, "runs": function.trigger in _RUN_HERE}
        for function in functions.shown
    ]
    return http + others


def text(rows: list[dict[str, Any]]) -> str:
    """Return the rows for people, in the layout of ``func start``."""
    return "\n\n".join(["Functions:", *(f"\t{_line(row)}" for row in rows), ""])


def _line(row: dict[str, Any]) -> str:
    if "url" in row:
        return f"{row['name']}: [{','.join(row['methods'])}] {row['url']}"
    note = "" if row["runs"] else " (the local host does not run it)"
    return f"{row['name']}: {row['trigger']}{note}"
