"""
Session ids: who makes them, where they travel, which ones are accepted.

A session id is a capability inside its principal's trust domain: who knows it may read the session.
The server makes ids with 192 random bits; a caller may bring its own, and then answers for its
being hard to guess.
"""

from __future__ import annotations

import re
import secrets

from starlette.requests import Request

from .problems import bad_request

SESSION_HEADER = "x-ms-session-id"

_VALID = re.compile(r"[A-Za-z0-9._-]{1,128}")
_FIX = "Use 1 to 128 characters of A-Z, a-z, 0-9, '.', '_' and '-', or leave it out for a new one."


def new_session_id() -> str:
    """Return an id that nobody guesses."""
    return secrets.token_urlsafe(24)


def session_headers(session_id: str | None) -> dict[str, str]:
    """Return the response header that tells the session, if there is one."""
    return {} if session_id is None else {SESSION_HEADER: session_id}


def session_in_header(request: Request) -> str | None:
    """Return the id in the header, or None without one; 400 for an id that is not valid."""
    values = request.headers.getlist(SESSION_HEADER)
    if not values:
        return None
    if len(values) > 1:
        raise bad_request(
            "The header is there more than once.",
            where=f"header {SESSION_HEADER}",
            fix="Send it once.",
        )
    return check_session_id(values[0], where=f"header {SESSION_HEADER}")


def check_session_id(value: object, *, where: str) -> str:
    """Return *value* if it is a valid session id; 400 naming *where* otherwise."""
    if not isinstance(value, str):
        raise bad_request("The session id must be a string.", where=where, fix=_FIX)
    if not _VALID.fullmatch(value):
        raise bad_request("The session id is not valid.", where=where, fix=_FIX)
    return value


def required_session(request: Request) -> str:
    """Return the id in the header; 400 without one."""
    session_id = session_in_header(request)
    if session_id is None:
        raise bad_request(
            "The request names no session.",
            where=f"header {SESSION_HEADER}",
            fix="Send the session id that /chat answered with.",
        )
    return session_id


def chosen_session(request: Request, in_body: str | None) -> str:
    """Return the session of a chat request: the header's, the body's, or a new one."""
    in_header = session_in_header(request)
    if in_header is not None and in_body is not None and in_header != in_body:
        raise bad_request(
            "The header and the body name two sessions.",
            where=f"header {SESSION_HEADER}, body.session_id",
            fix="Send the same id in both, or only one of them.",
        )
    return in_header or in_body or new_session_id()
