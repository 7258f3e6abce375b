"""
Who may talk to a host that asks for no key: this machine, and pages that it served itself.

Any web page can make a browser send requests to 127.0.0.1. Two checks keep strangers out: the
name in ``Host`` must mean this machine (against DNS rebinding), and a browser's ``Origin`` must be
the host itself, under the name it was reached by (against cross-site requests). A port forwarder
tells that name in ``X-Forwarded-Host``, which a strange page cannot set without asking first.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

_THIS_MACHINE = frozenset({"127.0.0.1", "::1", "localhost"})


def stranger(headers: Mapping[str, str]) -> str | None:
    """Return why a request with these headers is refused, or None when it is welcome."""
    host, origin = headers.get("host", ""), headers.get("origin")
    if _hostname(host) not in _THIS_MACHINE:
        return f"this host answers to localhost only, not to {host!r}"
    if origin is None:
        return None
    names = {host.lower(), headers.get("x-forwarded-host", host).lower()}
    if urlsplit(origin).netloc.lower() not in names:
        return f"a page of {origin!r} may not call this host"
    return None


def _hostname(host: str) -> str | None:
    try:
        return urlsplit(f"//{host}").hostname
    except ValueError:
        return None
