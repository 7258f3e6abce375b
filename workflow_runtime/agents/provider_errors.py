"""
What a provider's trouble is called: one ModelError for whatever a client raised.

The text names the setting to look at and never repeats what a provider said about a key. This file
asks the SDKs for their exception classes only when something has gone wrong.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..errors import ModelError
from ..execution import redact
from ..logs import get_logger

logger = get_logger(__name__)

_WHERE = {
    "openai": ("OPENAI_API_KEY", "OPENAI_BASE_URL", "WORKFLOW_RUNTIME_MODEL"),
    "azure_openai": (
        "AZURE_OPENAI_API_KEY or the identity's role Cognitive Services OpenAI User",
        "AZURE_OPENAI_ENDPOINT",
        "AZURE_OPENAI_DEPLOYMENT",
    ),
    "foundry": (
        "the identity's role Azure AI User and AZURE_CLIENT_ID",
        "FOUNDRY_PROJECT_ENDPOINT",
        "FOUNDRY_MODEL",
    ),
    "demo": ("WORKFLOW_RUNTIME_PROVIDER",) * 3,
}
_DETAIL_LIMIT = 300


def model_error(error: BaseException, provider: str) -> ModelError:
    """Return the ModelError for what a chat client raised; logs the original.

    It walks the causes, because the Agent Framework wraps what an SDK raises.
    """
    chain = tuple(_causes(error))
    for link in chain:
        if isinstance(link, ModelError):
            return link
    said = " <- ".join(redact(repr(link)) for link in chain)
    logger.warning("the model provider %s failed: %s", provider, said)
    for link in chain:
        found = _from_timeout(link, provider) or _from_sdk(link, provider)
        if found:
            return found
    return ModelError("model_failed", "The model client failed; the log has the details.")


def timed_out(provider: str, seconds: float) -> ModelError:
    """Return the error of a provider that sent nothing for *seconds*."""
    message = (
        f"The model provider sent nothing for {seconds:g} s; look at {_WHERE[provider][1]} and at "
        "the provider's status."
    )
    return ModelError("model_timed_out", message, status=504)


def no_token(provider: str) -> ModelError:
    """Return the error of an identity that got no token."""
    message = (
        "There is no token for the model provider: look at AZURE_CLIENT_ID, at the app's identity "
        f"(on your own machine: az login), and at {_WHERE[provider][0]}."
    )
    return ModelError("model_unauthorized", message)


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or current.__context__


def _from_timeout(error: BaseException, provider: str) -> ModelError | None:
    import httpx2
    import openai

    if isinstance(error, TimeoutError | httpx2.TimeoutException | openai.APITimeoutError):
        message = (
            "The model provider did not answer in time; "
            f"look at {_WHERE[provider][1]} and at the provider's status."
        )
        return ModelError("model_timed_out", message, status=504)
    return None


def _from_sdk(error: BaseException, provider: str) -> ModelError | None:
    import httpx2
    import openai

    if isinstance(error, openai.APIStatusError):
        return _from_status(error.status_code, str(error.message), provider)
    if isinstance(error, openai.APIConnectionError | httpx2.TransportError):
        message = (
            "The model provider cannot be reached or broke the connection; "
            f"look at {_WHERE[provider][1]}."
        )
        return ModelError("model_unreachable", message)
    if isinstance(error, openai.OpenAIError):
        message = "The model provider answered something that is not its API."
        return ModelError("model_failed", f"{message} Look at {_WHERE[provider][1]}.")
    return None


def _from_status(status: int, detail: str, provider: str) -> ModelError:
    key, endpoint, model = _WHERE[provider]
    match status:
        case 401 | 403:
            message = f"The model provider refused the credentials ({status}); look at {key}."
            return ModelError("model_unauthorized", message)
        case 404:
            message = (
                f"The model provider does not know the model or the address (404); "
                f"look at {model} and {endpoint}, and at 'model' in the skill's front matter."
            )
            return ModelError("model_not_found", message)
        case 429:
            message = (
                "The model provider limits requests (429): wait, or raise the quota of the model "
                f"in {model}."
            )
            return ModelError("model_rate_limited", message, status=429)
        case 408 | 504:
            message = f"The model provider timed out ({status}); look at {endpoint}."
            return ModelError("model_timed_out", message, status=504)
        case _ if status >= 500:
            message = f"The model provider failed ({status}); look at its status page."
            return ModelError("model_failed", message)
        case _:
            said = redact(detail, limit=_DETAIL_LIMIT)
            message = f"The model provider refused the request ({status}): {said}"
            return ModelError("model_failed", message)
