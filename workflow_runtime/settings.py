"""
The settings of one process: the only module that reads (or writes) the environment.

Everybody else is given values. ``docs/settings.md`` lists them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

from .errors import ConfigurationError

_PREFIX = "WORKFLOW_RUNTIME_"
DATA_FOLDER = ".workflow_runtime"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings, as they were given; None where they were not.

    ``in_azure``: the process runs in Azure Functions. ``easy_auth``: App Service authentication
    is on. ``data``: where sessions (and locally the task hub) are kept. ``environment`` is all that
    was read, for ``${env:NAME}`` in the app's own files.
    """

    data: Path
    provider: str | None = None
    model: str | None = None
    openai_api_key: str | None = None
    openai_base_url: str | None = None
    azure_openai_endpoint: str | None = None
    azure_openai_deployment: str | None = None
    azure_openai_api_key: str | None = None
    foundry_project_endpoint: str | None = None
    foundry_model: str | None = None
    azure_client_id: str | None = None
    owner_key: str | None = None
    owner_key_previous: str | None = None
    tool_threads: int = 32
    log_level: str = "INFO"
    in_azure: bool = False
    easy_auth: bool = False
    environment: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def read(cls, app_root: Path, environment: Mapping[str, str] | None = None) -> Self:
        """Read the environment (of the process, if none is given).

        Raises ConfigurationError naming the setting.
        """
        given = os.environ if environment is None else environment

        def text(name: str) -> str | None:
            return given.get(name, "").strip() or None

        in_azure = text("WEBSITE_INSTANCE_ID") is not None
        data = text(f"{_PREFIX}DATA")
        return cls(
            data=Path(data) if data else _default_data(app_root, text("HOME"), in_azure=in_azure),
            provider=text(f"{_PREFIX}PROVIDER"),
            model=text(f"{_PREFIX}MODEL"),
            openai_api_key=text("OPENAI_API_KEY"),
            openai_base_url=text("OPENAI_BASE_URL"),
            azure_openai_endpoint=text("AZURE_OPENAI_ENDPOINT"),
            azure_openai_deployment=text("AZURE_OPENAI_DEPLOYMENT"),
            azure_openai_api_key=text("AZURE_OPENAI_API_KEY"),
            foundry_project_endpoint=text("FOUNDRY_PROJECT_ENDPOINT"),
            foundry_model=text("FOUNDRY_MODEL"),
            azure_client_id=text("AZURE_CLIENT_ID"),
            owner_key=text(f"{_PREFIX}OWNER_KEY"),
            owner_key_previous=text(f"{_PREFIX}OWNER_KEY_PREVIOUS"),
            tool_threads=_whole_number(text(f"{_PREFIX}TOOL_THREADS"), "TOOL_THREADS", 32),
            log_level=_log_level(text(f"{_PREFIX}LOG_LEVEL")),
            in_azure=in_azure,
            easy_auth=(text("WEBSITE_AUTH_ENABLED") or "").lower() == "true",
            environment=MappingProxyType(dict(given)),
        )


def _default_data(app_root: Path, home: str | None, *, in_azure: bool) -> Path:
    """In Azure the app's own folder is read-only; HOME is the share of the plan."""
    if in_azure:
        return Path(home or "/home") / "data" / "workflow_runtime"
    return app_root / DATA_FOLDER


def _whole_number(text: str | None, name: str, default: int) -> int:
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= 1000):
        message = f"{_PREFIX}{name} must be a whole number from 1 to 1000, not {text!r}"
        raise ConfigurationError(message)
    return int(text)


def _log_level(text: str | None) -> str:
    levels = ("DEBUG", "INFO", "WARNING", "ERROR")
    level = (text or "INFO").upper()
    if level not in levels:
        message = f"{_PREFIX}LOG_LEVEL must be one of {', '.join(levels)}, not {text!r}"
        raise ConfigurationError(message)
    return level


def local_environment(app_root: Path) -> Mapping[str, str]:
    """Return the environment as ``func start`` would set it up, and change nothing.

    Raises ConfigurationError for a ``local.settings.json`` that is no JSON.
    """
    return _local_values(app_root / "local.settings.json") | dict(os.environ)


def prepare_local_environment(app_root: Path, data: Path) -> None:
    """Set the process up as ``func start`` does: the ``Values`` of ``local.settings.json``.

    What is in the environment already wins. Raises ConfigurationError for a file that is no JSON.
    """
    for name, value in _local_values(app_root / "local.settings.json").items():
        os.environ.setdefault(name, value)
    os.environ[f"{_PREFIX}DATA"] = str(data)
    os.environ.setdefault("AZURE_FUNCTIONS_DURABLE_STRICT_TYPING", "1")


def _local_values(path: Path) -> dict[str, str]:
    if not path.is_file():
        return {}
    try:
        content: Any = json.loads(path.read_text(encoding="utf-8"))
        values = content.get("Values", {})
        return {str(name): str(value) for name, value in values.items()}
    except (OSError, ValueError, AttributeError) as error:
        message = f"{path.name} must be JSON with an object 'Values': {error}"
        raise ConfigurationError(message) from None
