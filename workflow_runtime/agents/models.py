"""
Which model answers for which skill.

Knows the settings as plain values and the rule that chooses a provider; the vendors' clients are
made by ``maf.providers``, which is imported when the first client is asked for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, get_args

from ..errors import ConfigurationError
from ..skills import Skill

if TYPE_CHECKING:
    from .maf.providers import ChatClient

type Provider = Literal["openai", "azure_openai", "foundry", "demo"]

PROVIDERS: tuple[str, ...] = get_args(Provider.__value__)

_NOTHING_CONFIGURED = (
    "no model provider is configured: set AZURE_OPENAI_ENDPOINT, FOUNDRY_PROJECT_ENDPOINT or "
    "OPENAI_API_KEY (and WORKFLOW_RUNTIME_MODEL), or WORKFLOW_RUNTIME_PROVIDER=demo for the "
    "built-in demo model, which answers by itself only outside of Azure"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """The settings of model providers, as they were given; empty texts count as not given.

    ``request_timeout`` (seconds) bounds the wait for the next byte of one request, its retries
    included; ``max_retries`` is how often a client repeats a request that got 408, 409, 429, 5xx
    or no connection.
    """

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
    in_azure: bool = False
    request_timeout: float = 120.0
    max_retries: int = 2


class Models:
    """Makes and keeps the chat clients of one process. Use it from one event loop."""

    def __init__(self, settings: ModelSettings, provider: Provider) -> None:
        self._settings = settings
        self._clients: dict[str, ChatClient] = {}
        self.provider: Provider = provider

    @property
    def request_timeout(self) -> float:
        """Seconds to wait for the next piece of a model's answer."""
        return self._settings.request_timeout

    def verify(self, skills: Iterable[Skill]) -> None:
        """Raise ConfigurationError for the first skill that has no model."""
        for skill in skills:
            self.model_for(skill)

    def model_for(self, skill: Skill) -> str:
        """Return the model (Azure: the deployment) of *skill*; its own ``model`` comes first."""
        given = self._settings
        match self.provider:
            case "demo":
                return "demo"
            case "azure_openai":
                fallback, setting = given.azure_openai_deployment, "AZURE_OPENAI_DEPLOYMENT"
            case "foundry":
                fallback, setting = given.foundry_model, "FOUNDRY_MODEL"
            case _:
                fallback, setting = None, "WORKFLOW_RUNTIME_MODEL"
        model = skill.model or given.model or fallback
        if not model:
            message = (
                f"skill {skill.slug!r} has no model: set {setting}, or 'model' in the front matter "
                f"of its file"
            )
            raise ConfigurationError(message)
        return model

    async def ready(self) -> None:
        """Import the SDKs, in a thread: it takes a second, in which others are not to wait."""
        await asyncio.to_thread(import_module, ".maf.loop", __package__)

    def client_for(self, skill: Skill) -> ChatClient:
        """Return the skill's chat client; raises ConfigurationError where it has no model."""
        model = self.model_for(skill)
        client = self._clients.get(model)
        if client is None:
            from .maf.providers import make_client

            client = self._clients[model] = make_client(self.provider, model, self._settings)
        return client

    async def close(self) -> None:
        """Close the connections of all clients; a client asked for later is a new one."""
        clients, self._clients = self._clients, {}
        for client in clients.values():
            connections = getattr(client, "client", None)
            if connections is not None:
                await connections.close()

    def options_for(self, skill: Skill) -> dict[str, Any]:
        """Return the skill's ``model_options`` in the words of the Agent Framework."""
        given = skill.model_options
        effort = given.reasoning_effort
        options: dict[str, Any] = {
            "max_tokens": given.max_output_tokens,
            "temperature": given.temperature,
        }
        if self.provider == "foundry":  # the Responses API, which would keep what it is sent
            options |= {"store": False, "reasoning": {"effort": effort} if effort else None}
        else:
            options["reasoning_effort"] = effort
        return {key: value for key, value in options.items() if value is not None}


def make_models(settings: ModelSettings) -> Models:
    """Choose the provider; raises ConfigurationError where none can be, naming the settings."""
    provider = _provider(settings)
    missing = _missing(settings, provider)
    if missing:
        message = f"WORKFLOW_RUNTIME_PROVIDER={provider} needs {missing}"
        raise ConfigurationError(message)
    return Models(settings, provider)


def _provider(settings: ModelSettings) -> Provider:
    match settings.provider or None:
        case "openai" | "azure_openai" | "foundry" | "demo" as chosen:
            return chosen
        case None:
            pass
        case unknown:
            message = (
                f"WORKFLOW_RUNTIME_PROVIDER={unknown!r} is not a provider; known: "
                f"{', '.join(PROVIDERS)}"
            )
            raise ConfigurationError(message)
    if settings.azure_openai_endpoint:
        return "azure_openai"
    if settings.foundry_project_endpoint:
        return "foundry"
    if settings.openai_api_key:
        return "openai"
    if settings.in_azure:
        raise ConfigurationError(_NOTHING_CONFIGURED)
    return "demo"


def _missing(settings: ModelSettings, provider: Provider) -> str | None:
    if provider == "azure_openai" and not settings.azure_openai_endpoint:
        return "AZURE_OPENAI_ENDPOINT (https://NAME.openai.azure.com)"
    if provider == "foundry" and not settings.foundry_project_endpoint:
        return "FOUNDRY_PROJECT_ENDPOINT (https://NAME.services.ai.azure.com/api/projects/PROJECT)"
    if provider == "openai" and not (settings.openai_api_key or settings.openai_base_url):
        return "OPENAI_API_KEY, or OPENAI_BASE_URL of a compatible server that takes no key"
    return None
