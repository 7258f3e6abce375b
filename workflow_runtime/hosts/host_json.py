"""What this host reads of an app's ``host.json``; everything else there is for Azure."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import ConfigurationError

_SPAN = re.compile(r"-1|(?:(\d{1,3})\.)?(\d{1,2}):(\d{2}):(\d{2})", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSettings:
    """The defaults are those of an absent file: Azure's prefix, limits for a small machine.

    ``function_timeout`` is in seconds; None: there is none.
    """

    route_prefix: str = "api"
    orchestrators: int = 8
    activities: int = 32
    function_timeout: float | None = 1800.0


def read_host_json(path: Path) -> HostSettings:
    """Read *path*; an absent file gives the defaults, a bad one a ConfigurationError."""
    try:
        document = json.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        return HostSettings()
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{path}: cannot be read as JSON: {error}") from error
    extensions = _section(document, "extensions", path)
    http = _section(extensions, "http", path)
    durable = _section(extensions, "durableTask", path)
    default = HostSettings()
    prefix = http.get("routePrefix", default.route_prefix)
    if not isinstance(prefix, str):
        raise ConfigurationError(f"{path}: extensions.http.routePrefix must be a text")
    return HostSettings(
        route_prefix=prefix.strip("/"),
        orchestrators=_count(
            durable, "maxConcurrentOrchestratorFunctions", default.orchestrators, path
        ),
        activities=_count(durable, "maxConcurrentActivityFunctions", default.activities, path),
        function_timeout=_time(document, default.function_timeout, path),
    )


def _section(document: Any, key: str, path: Path) -> dict[str, Any]:
    section = document.get(key, {}) if isinstance(document, dict) else None
    if not isinstance(section, dict):
        raise ConfigurationError(f"{path}: {key} must be an object")
    return section


def _time(document: dict[str, Any], default: float | None, path: Path) -> float | None:
    """Read ``functionTimeout``, a .NET time span: ``[d.]hh:mm:ss``, or ``-1`` for none."""
    value = document.get("functionTimeout")
    if value is None:
        return default
    found = _SPAN.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        message = f"{path}: functionTimeout must be a time span such as '00:30:00', or '-1'"
        raise ConfigurationError(message)
    if value == "-1":
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)


def _count(durable: dict[str, Any], key: str, default: int, path: Path) -> int:
    value = durable.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        message = f"{path}: extensions.durableTask.{key} must be a whole number above 0"
        raise ConfigurationError(message)
    return value
