"""
What a caller sends: JSON bodies and query parameters, read with bounds.

Everything that is wrong with them is a 400 (413 for the size) that names the place and the fix.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from json import JSONDecodeError
from typing import Any

from starlette.requests import Request

from ..plan.encoding import loads, scrub
from ..plan.types import Json
from .problems import Problem, RefusedRequestError, bad_request
from .sessions import check_session_id

MAX_BODY_BYTES = 1024 * 1024
MAX_REASON_CHARACTERS = 500
_CHAT_FIX = 'Send {"message": "your question"}; session_id and context may stand beside it.'


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatBody:
    """The body of a chat request."""

    message: str
    session_id: str | None
    context: str | None


async def read_chat_body(request: Request) -> ChatBody:
    """Return the chat request in the body."""
    body = await _read_object(request, fix=_CHAT_FIX)
    message = _text(body, "message", fix=_CHAT_FIX)
    if message is None:
        found = ", ".join(repr(key) for key in list(body)[:8]) or "an empty object"
        raise bad_request(
            f"The message is missing; the body has {found}.", where="body.message", fix=_CHAT_FIX
        )
    if not message.strip():
        raise bad_request("The message is empty.", where="body.message", fix=_CHAT_FIX)
    session_id = body.get("session_id")
    return ChatBody(
        message=message,
        session_id=None
        if session_id is None
        else check_session_id(session_id, where="body.session_id"),
        context=_text(body, "context", fix=_CHAT_FIX),
    )


async def read_reason(request: Request) -> str:
    """Return the reason in the body, empty without a body or without a reason."""
    fix = 'Send {"reason": "why"}, or no body.'
    body = await _read_object(request, fix=fix, may_be_absent=True)
    return _short(_text(body, "reason", fix=fix) or "", "reason")


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalBody:
    """A person's answer; ``digest`` is that of what the person was shown."""

    approved: bool
    digest: str
    comment: str


async def read_approval(request: Request) -> ApprovalBody:
    """Return the answer in the body."""
    fix = 'Send {"approved": true, "digest": "the digest that the status shows"}.'
    body = await _read_object(request, fix=fix)
    approved = body.get("approved")
    if not isinstance(approved, bool):
        raise bad_request("approved must be true or false.", where="body.approved", fix=fix)
    digest = _text(body, "digest", fix=fix)
    if not digest:
        raise bad_request("The digest is missing.", where="body.digest", fix=fix)
    comment = _text(body, "comment", fix=fix) or ""
    return ApprovalBody(approved=approved, digest=digest, comment=_short(comment, "comment"))


async def read_event(request: Request) -> tuple[Json, str | None]:
    """Return the payload and the id of the event in the body; both may be absent."""
    fix = 'Send {"payload": any JSON, "id": "a text that is new for a new event"}, or no body.'
    body = await _read_object(request, fix=fix, may_be_absent=True)
    for key in body:
        if key not in {"payload", "id"}:
            detail = f"An event has a payload and an id, and no {key[:80]!r}."
            raise bad_request(detail, where=f"body.{key[:80]}", fix=fix)
    event_id = _text(body, "id", fix=fix)
    return body.get("payload"), None if event_id is None else _short(event_id, "id")


async def read_plan_body(request: Request) -> Any:
    """Return the edited plan in the body, or None where the plan is to be the same."""
    fix = 'Send {"plan": {"tasks": […]}}, or no body for the same plan.'
    return (await _read_object(request, fix=fix, may_be_absent=True)).get("plan")


def _short(text: str, name: str) -> str:
    if len(text) > MAX_REASON_CHARACTERS:
        raise bad_request(
            f"The {name} has {len(text)} characters.",
            where=f"body.{name}",
            fix=f"Use at most {MAX_REASON_CHARACTERS}.",
        )
    return text


def read_integer(request: Request, name: str, *, default: int, low: int, high: int) -> int:
    """Return the query parameter *name*, an integer from *low* to *high*."""
    text = request.query_params.get(name)
    if text is None:
        return default
    if not re.fullmatch(r"[0-9]{1,9}", text) or not low <= int(text) <= high:
        raise bad_request(
            f"{text[:40]!r} is not an integer from {low} to {high}.",
            where=f"query.{name}",
            fix=f"Send ?{name}={default}, or leave it out.",
        )
    return int(text)


def read_choice(request: Request, name: str, choices: tuple[str, ...]) -> str | None:
    """Return the query parameter *name*, one of *choices*, or None without it."""
    text = request.query_params.get(name)
    if text is not None and text not in choices:
        raise bad_request(
            f"{text[:40]!r} is not one of its values.",
            where=f"query.{name}",
            fix=f"Use one of {', '.join(choices)}.",
        )
    return text


async def _read_object(
    request: Request, *, fix: str, may_be_absent: bool = False
) -> dict[str, Any]:
    raw = await _read_bytes(request)
    _refuse_forged_form(request)
    if may_be_absent and not raw.strip():
        return {}
    try:
        value = loads(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise bad_request(
            f"The body is not UTF-8 (byte {error.start}).", where="body", fix="Send UTF-8."
        ) from None
    except JSONDecodeError as error:
        raise bad_request(
            f"The body is not JSON: {error.msg}.",
            where=f"body, line {error.lineno}, column {error.colno}",
            fix=fix,
        ) from None
    except ValueError as error:
        raise bad_request(f"The body cannot be read: {error}.", where="body", fix=fix) from None
    if not isinstance(value, dict):
        raise bad_request("The body is not a JSON object.", where="body", fix=fix)
    return value


async def _read_bytes(request: Request) -> bytes:
    chunks: list[bytes] = []
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > MAX_BODY_BYTES:
            raise RefusedRequestError(
                Problem(
                    status=413,
                    code="body_too_large",
                    detail=f"The body is larger than {MAX_BODY_BYTES} bytes.",
                    where="body",
                    fix="Send less text, or put it where a tool of the skill can read it.",
                )
            )
        chunks.append(chunk)
    return b"".join(chunks)


def _refuse_forged_form(request: Request) -> None:
    """Refuse what another site's page can post with a user's cookies without a preflight."""
    site = request.headers.get("sec-fetch-site", "none")
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if site in {"cross-site", "same-site"} and kind != "application/json":
        raise RefusedRequestError(
            Problem(
                status=403,
                code="cross_site_request",
                detail="A browser sent this for a page of another site.",
                where="header content-type",
                fix="Send content-type: application/json, so that the browser asks first.",
            )
        )


def _text(body: dict[str, Any], key: str, *, fix: str) -> str | None:
    value = body.get(key)
    if value is not None and not isinstance(value, str):
        raise bad_request(
            f"{key!r} must be a string, not {type(value).__name__}.", where=f"body.{key}", fix=fix
        )
    return None if value is None else scrub(value)
