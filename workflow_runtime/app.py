"""
The composition root: builds everything, checks it, freezes it, and only then touches an app.

``function_app.py`` calls :func:`create_function_app` and does nothing else.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from azure.durable_functions import DFApp

from .agents.chat import Chat
from .agents.models import Models, ModelSettings, make_models
from .agents.sessions import SessionStore
from .agents.sub_agents import AgentExecutor
from .errors import ConfigurationError, DataDirectoryError
from .execution import CancelSignals, FileMarkers, ToolPool
from .hosts.activities import Attempts, activities
from .hosts.client import DurableTaskHub
from .hosts.durable import orchestrate
from .hosts.functions import register
from .hosts.host_json import read_host_json
from .hosts.watching import CancelWatcher
from .service import ORCHESTRATOR, OwnerKeys, WorkflowService
from .settings import Settings
from .skills import Catalog, load_catalog
from .web import routes

_KEY_FILE = "owner.key"
_KEY_BYTES = 32
_SPARE_SECONDS = 30.0


def create_function_app(app_root: Path | str = ".", *, settings: Settings | None = None) -> DFApp:
    """Build the function app of the skills in *app_root*.

    Raises ConfigurationError with one clear line for whatever is wrong with settings, skills or
    tools, before anything is registered.
    """
    root = Path(app_root).resolve()
    parts = build(root, settings or Settings.read(root))
    app = DFApp()
    register(
        app,
        orchestrator_name=ORCHESTRATOR,
        orchestrator=orchestrate,
        activities=activities(parts.attempts, parts.chat),
        routes=routes(
            catalog=parts.catalog, chat=parts.chat, clock=now, easy_auth=parts.settings.easy_auth
        ),
        services=parts.services,
    )
    return app


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Everything of one app, built and checked; ``services`` makes one service per hub."""

    settings: Settings
    catalog: Catalog
    models: Models
    chat: Chat
    attempts: Attempts
    services: Callable[[str], WorkflowService]


def build(root: Path, settings: Settings, *, ask_servers: bool = True) -> Parts:
    """Build and check the parts of the app in *root*; raises ConfigurationError.

    Without *ask_servers* no MCP server is asked for its tools: nothing of the app is to be run.
    """
    logging.getLogger("workflow_runtime").setLevel(settings.log_level)
    catalog = load_catalog(root, environment=settings.environment, ask_servers=ask_servers)
    longest = _longest_attempt(root, catalog)
    if longest is not None:
        catalog = replace(catalog, max_timeout=timedelta(seconds=longest))
    models = make_models(_model_settings(settings))
    models.verify(catalog.skills.values())
    pool = ToolPool(settings.tool_threads)
    chat = Chat(
        catalog=catalog,
        models=models,
        sessions=SessionStore(settings.data / "sessions"),
        pool=pool,
        clock=now,
    )
    signals = CancelSignals()
    agents = AgentExecutor(catalog=catalog, models=models, pool=pool)
    return Parts(
        settings=settings,
        catalog=catalog,
        models=models,
        chat=chat,
        attempts=Attempts(
            catalog=catalog,
            agents=agents,
            pool=pool,
            signals=signals,
            markers=FileMarkers(settings.data / "markers"),
            watcher=CancelWatcher(signals),
            max_seconds=longest,
        ),
        services=_Services(catalog, owner_keys(settings)),
    )


def _longest_attempt(root: Path, catalog: Catalog) -> float | None:
    """Return how long one attempt may take: safely less than the host lets a function run.

    Raises ConfigurationError for a tool or a skill that asks for more.
    """
    limit = read_host_json(root / "host.json").function_timeout
    if limit is None:
        return None
    longest = max(limit - _SPARE_SECONDS, limit / 2)
    asked = {f"tool {t.name!r}": t.policy.timeout for t in catalog.workflow_tools.values()}
    asked |= {f"skill {s.slug!r}": timedelta(seconds=s.timeout) for s in catalog.skills.values()}
    for what, length in asked.items():
        if length is not None and length.total_seconds() > longest:
            message = (
                f"{what} has a timeout of {length.total_seconds():g} s, and functionTimeout in"
                f" host.json leaves {longest:g} s; lower the one or raise the other"
            )
            raise ConfigurationError(message)
    return longest


class _Services:
    """One service for each durable-client binding's JSON, kept as long as the process."""

    def __init__(self, catalog: Catalog, keys: OwnerKeys) -> None:
        self._catalog = catalog
        self._keys = keys
        self._made: dict[str, WorkflowService] = {}

    def __call__(self, client_json: str) -> WorkflowService:
        if client_json not in self._made:
            self._made[client_json] = WorkflowService(
                hub=DurableTaskHub(client_json),
                catalog=self._catalog,
                owner_keys=self._keys,
                clock=now,
            )
        return self._made[client_json]


def owner_keys(settings: Settings) -> OwnerKeys:
    """Return the keys of the owner hash.

    They come from the settings; outside of Azure one is made and kept in the data directory.
    """
    if settings.owner_key is None and settings.in_azure:
        message = (
            "WORKFLOW_RUNTIME_OWNER_KEY is not set: give it 32 random bytes or more, the same for"
            " every instance of the app (for example from `openssl rand -hex 32`)"
        )
        raise ConfigurationError(message)
    first = settings.owner_key.encode() if settings.owner_key else _local_key(settings.data)
    previous = [settings.owner_key_previous.encode()] if settings.owner_key_previous else []
    return OwnerKeys([first, *previous])


def _local_key(data: Path) -> bytes:
    path = data / _KEY_FILE
    try:
        if not path.exists():
            data.mkdir(parents=True, exist_ok=True)
            fresh = path.with_suffix(f".{secrets.token_hex(4)}")
            fresh.touch(mode=0o600)
            fresh.write_text(secrets.token_hex(_KEY_BYTES), encoding="ascii")
            _keep_first(fresh, path)
        return path.read_bytes()
    except OSError as error:
        message = f"the data directory {str(data)!r} cannot be used: {error.strerror}"
        raise DataDirectoryError(message) from None


def _keep_first(fresh: Path, path: Path) -> None:
    """Give *fresh* its name unless another process was quicker."""
    try:
        path.hardlink_to(fresh)
    except FileExistsError:
        pass
    finally:
        fresh.unlink()


def _model_settings(settings: Settings) -> ModelSettings:
    return ModelSettings(
        provider=settings.provider,
        model=settings.model,
        openai_api_key=settings.openai_api_key,
        openai_base_url=settings.openai_base_url,
        azure_openai_endpoint=settings.azure_openai_endpoint,
        azure_openai_deployment=settings.azure_openai_deployment,
        azure_openai_api_key=settings.azure_openai_api_key,
        foundry_project_endpoint=settings.foundry_project_endpoint,
        foundry_model=settings.foundry_model,
        azure_client_id=settings.azure_client_id,
        in_azure=settings.in_azure,
    )


def now() -> datetime:
    """Return the time: the one real clock, which everybody else is given."""
    return datetime.now(UTC)  # noqa: TID251 - somebody has to ask
