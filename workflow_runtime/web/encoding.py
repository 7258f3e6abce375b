"""JSON answers as this package sends them: UTF-8, never from a cache."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.responses import Response

from ..plan.encoding import dumps
from ..plan.types import Json

NO_STORE = {"cache-control": "no-store"}


def json_response(
    value: Json,
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    media_type: str = "application/json",
) -> Response:
    """Return the answer that carries *value*."""
    return Response(
        dumps(value).encode(), status, {**NO_STORE, **(headers or {})}, media_type=media_type
    )
