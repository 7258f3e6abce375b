"""
Azure's route templates: ``skills/{slug}/assets/{*rest}`` as a pattern, and which one wins.

The syntax is ASP.NET Core's, of which the templates that function apps use are understood:
parameters, an optional last one (``{id?}``), a catch-all (``{*rest}``) and a few constraints. As
there, literals match whatever their case, one slash at the end is ignored, and the more literal
template wins.
"""

from __future__ import annotations

import re

from ...errors import ConfigurationError

_PARAMETER = re.compile(r"\{(\*{0,2})([A-Za-z_]\w*)(?::([a-z]+))?(\?)?\}")
_CONSTRAINTS = {
    None: r"[^/]+?",
    "alpha": r"[A-Za-z]+",
    "guid": r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}",
    "int": r"-?\d{1,10}",
    "long": r"-?\d{1,19}",
}
_LITERAL, _MIXED, _ANY, _REST = range(4)


def joined(prefix: str, route: str) -> str:
    """Return the path of *route* under the host's prefix, with a slash in front."""
    return "/" + "/".join(filter(None, (prefix.strip("/"), route.strip("/"))))


def compile_route(template: str) -> re.Pattern[str]:
    """Return the pattern of paths that *template* matches, with a named group per parameter."""
    parts = [_segment(part, template) for part in template.strip("/").split("/") if part]
    return re.compile("".join(parts) + "/?", re.IGNORECASE)


def precedence(template: str) -> tuple[int, ...]:
    """Order templates by this key: the first that matches is the one that ASP.NET picks."""
    return tuple(_rank(part) for part in template.strip("/").split("/") if part)


def _segment(part: str, template: str) -> str:
    whole = _PARAMETER.fullmatch(part)
    if whole and whole[1]:
        return rf"(?:/(?P<{whole[2]}>.*?))?"
    pattern, position = "", 0
    for found in _PARAMETER.finditer(part):
        if found[1] or (found[4] and not whole) or found[3] not in _CONSTRAINTS:
            raise _refusal(part, template)
        pattern += _literal(part[position : found.start()], part, template)
        pattern += f"(?P<{found[2]}>{_CONSTRAINTS[found[3]]})"
        position = found.end()
    pattern += _literal(part[position:], part, template)
    return f"(?:/{pattern})?" if whole and whole[4] else f"/{pattern}"


def _literal(text: str, part: str, template: str) -> str:
    if "{" in text or "}" in text:
        raise _refusal(part, template)
    return re.escape(text)


def _refusal(part: str, template: str) -> ConfigurationError:
    return ConfigurationError(
        f"the local host does not understand {part!r} in the route {template!r}; "
        "use {name}, {name?}, {*name}, or a constraint of " + ", ".join(filter(None, _CONSTRAINTS))
    )


def _rank(part: str) -> int:
    if "{" not in part:
        return _LITERAL
    if part.startswith("{*"):
        return _REST
    return _ANY if _PARAMETER.fullmatch(part) and ":" not in part else _MIXED
