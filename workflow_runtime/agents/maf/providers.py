"""The chat clients of the providers, made from settings."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from agent_framework_openai import OpenAIChatClient, OpenAIChatCompletionClient
from openai import AsyncAzureOpenAI, AsyncOpenAI, Timeout

from ..demo import demo_reply
from ..provider_errors import no_token
from .demo_client import DemoChatClient

if TYPE_CHECKING:
    from ..models import ModelSettings

type ChatClient = OpenAIChatCompletionClient[Any] | OpenAIChatClient[Any] | DemoChatClient

_AZURE_OPENAI_SCOPE = "https://cognitiveservices.azure.com/.default"
_FOUNDRY_SCOPE = "https://ai.azure.com/.default"
# The first version whose chat completions know `max_completion_tokens` and `reasoning_effort`.
_AZURE_API_VERSION = "2024-12-01-preview"
_CONNECT_SECONDS = 10.0
_MAX_REQUESTS = 16


def make_client(provider: str, model: str, settings: ModelSettings) -> ChatClient:
    """Make the client of one model; connects to nothing yet."""
    match provider:
        case "demo":
            return DemoChatClient(demo_reply)
        case "azure_openai":
            return OpenAIChatCompletionClient(
                model=model,
                async_client=_azure(settings, model),
                function_invocation_configuration=_LOOP,
            )
        case "foundry":
            # The project's own endpoint speaks the Responses API; `store` stays false, because the
            # session is ours to keep.
            return OpenAIChatClient(
                model=model,
                async_client=_foundry(settings),
                function_invocation_configuration=_LOOP,
            )
        case _:
            return OpenAIChatCompletionClient(
                model=model,
                async_client=AsyncOpenAI(
                    api_key=settings.openai_api_key or "not-needed",
                    base_url=settings.openai_base_url or None,
                    **_transport(settings),
                ),
                function_invocation_configuration=_LOOP,
            )


_LOOP: Any = {"max_iterations": _MAX_REQUESTS, "max_consecutive_errors_per_request": _MAX_REQUESTS}


def _transport(settings: ModelSettings) -> dict[str, Any]:
    connect = min(_CONNECT_SECONDS, settings.request_timeout)
    return {
        "timeout": Timeout(settings.request_timeout, connect=connect),
        "max_retries": settings.max_retries,
    }


def _azure(settings: ModelSettings, model: str) -> AsyncOpenAI:
    endpoint = str(settings.azure_openai_endpoint).rstrip("/")
    credentials: dict[str, Any] = (
        {"api_key": settings.azure_openai_api_key}
        if settings.azure_openai_api_key
        else {"azure_ad_token_provider": _tokens(settings, "azure_openai", _AZURE_OPENAI_SCOPE)}
    )
    if endpoint.endswith("/openai/v1"):
        key = credentials.get("api_key") or credentials["azure_ad_token_provider"]
        return AsyncOpenAI(api_key=key, base_url=endpoint, **_transport(settings))
    return AsyncAzureOpenAI(
        azure_endpoint=endpoint,
        azure_deployment=model,
        api_version=_AZURE_API_VERSION,
        **credentials,
        **_transport(settings),
    )


def _foundry(settings: ModelSettings) -> AsyncOpenAI:
    endpoint = str(settings.foundry_project_endpoint).rstrip("/")
    base_url = endpoint if endpoint.endswith("/openai/v1") else f"{endpoint}/openai/v1"
    return AsyncOpenAI(
        api_key=_tokens(settings, "foundry", _FOUNDRY_SCOPE),
        base_url=base_url,
        **_transport(settings),
    )


def _tokens(settings: ModelSettings, provider: str, scope: str) -> Callable[[], Awaitable[str]]:
    """Return a provider of tokens; the credential is made at the first one.

    The sync credential in a thread, because the async one needs one more HTTP library. It keeps
    its tokens, so that only the first call and the refreshes wait.
    """
    made: list[Callable[[], str]] = []

    def token() -> str:
        if not made:
            from azure.identity import DefaultAzureCredential, get_bearer_token_provider

            options: dict[str, Any] = {}
            if settings.azure_client_id:
                options["managed_identity_client_id"] = settings.azure_client_id
            made.append(get_bearer_token_provider(DefaultAzureCredential(**options), scope))
        return made[0]()

    async def provide() -> str:
        try:
            return await asyncio.to_thread(token)
        except Exception as error:
            raise no_token(provider) from error

    return provide
