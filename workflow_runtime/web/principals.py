"""
Who a request comes from.

With ``auth: entra`` it is the user whom App Service authentication ("Easy Auth") signed in. The
platform strips the principal headers from what a client sends only while that feature is on, so
they are believed only then; everything else is refused with 401.

With ``function``, ``admin`` and ``anonymous`` the host has let the request in and knows no user:
all callers are one trust domain, and the session id alone tells them apart.
"""

from __future__ import annotations

from starlette.requests import Request

from ..skills import AuthLevel
from .problems import Problem, RefusedRequestError

PRINCIPAL_HEADER = "x-ms-client-principal-id"
NAME_HEADER = "x-ms-client-principal-name"
PROVIDER_HEADER = "x-ms-client-principal-idp"
ONE_TRUST_DOMAIN = "function-key"
_ENTRA = "aad"


def principal_of(request: Request, auth: AuthLevel, *, easy_auth: bool) -> str:
    """Return the principal that owns what this request touches; 401 when nobody is signed in.

    *easy_auth* says that the platform's authentication is on (``WEBSITE_AUTH_ENABLED``).
    """
    if auth != "entra":
        return ONE_TRUST_DOMAIN
    if not easy_auth:
        raise _sign_in(
            "App Service authentication is off, so nobody can be signed in.",
            "Turn on App Service authentication with Microsoft Entra for this app.",
        )
    ids = request.headers.getlist(PRINCIPAL_HEADER)
    providers = set(request.headers.getlist(PROVIDER_HEADER))
    if len(ids) != 1 or not ids[0].strip() or providers != {_ENTRA}:
        raise _sign_in(
            "This skill is for signed-in users.", "Sign in with Microsoft Entra (/.auth/login/aad)."
        )
    return f"entra:{ids[0].strip()}"


def name_of(request: Request, principal: str) -> str:
    """Return what is recorded of who decided: the signed-in person's name where there is one."""
    if principal == ONE_TRUST_DOMAIN:
        return principal
    return request.headers.get(NAME_HEADER, "").strip()[:200] or principal


def _sign_in(detail: str, fix: str) -> RefusedRequestError:
    return RefusedRequestError(
        Problem(
            status=401,
            code="sign_in_required",
            detail=detail,
            where=f"header {PRINCIPAL_HEADER}",
            fix=fix,
        )
    )
