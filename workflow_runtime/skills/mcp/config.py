"""
``mcp.json``: which MCP servers an app has, read strictly.

As in front matter, what is not refused here would be a setting that somebody believes in and that
does nothing. Values may hold secrets, so no message repeats one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ...errors import ConfigurationError
from ..front_matter import Section
from ..spelling import nearest

FILE = "mcp.json"
_ROOTS = ("servers", "mcpServers")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_KEYS = {"stdio": ("command", "args", "env", "cwd"), "http": ("url", "headers")}
_ALL_KEYS = ("type", *_KEYS["stdio"], *_KEYS["http"])
_VARIABLE = re.compile(r"\$\{([^}]*)\}")
_ENV = re.compile(r"env:([A-Za-z_][A-Za-z0-9_]*)")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class StdioServer:
    """A server that is a process of ours; ``env`` is added to the few variables it inherits."""

    name: str
    command: str
    args: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpServer:
    """A server behind a URL, which speaks streamable HTTP."""

    name: str
    url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


type Server = StdioServer | HttpServer


def read_servers(app_root: Path, environment: Mapping[str, str]) -> tuple[Server, ...]:
    """Return the servers of the app in the order of the file, none where there is no file.

    ``${env:NAME}`` becomes that variable of *environment*. Raises ConfigurationError.
    """
    path = app_root / FILE
    if not path.is_file():
        return ()
    root, servers = _servers(_load(path))
    found: list[Server] = []
    for name, entry in servers.items():
        if not _NAME.fullmatch(name):
            raise ConfigurationError(
                f"{FILE}: the name {name[:80]!r} under {root!r} must be a letter, then at most 63"
                " letters, digits, '_' or '-'"
            )
        found.append(_Entry(f"{root}.{name}", entry, environment).server(name, app_root))
    return tuple(found)


def _load(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8-sig"), object_pairs_hook=_no_doubles)
    except OSError as error:
        raise ConfigurationError(f"{FILE} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{FILE} is not UTF-8 text; save it as UTF-8") from error
    except json.JSONDecodeError as error:
        raise ConfigurationError(
            f"{FILE}, line {error.lineno}: no JSON: {error.msg}; comments and trailing commas are"
            " not read"
        ) from error
    except (RecursionError, ValueError) as error:
        raise ConfigurationError(f"{FILE} is no JSON: {error}") from error


def _no_doubles(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in pairs:
        if key in values:
            raise ConfigurationError(f"{FILE}: the key {key[:80]!r} stands twice; keep one of them")
        values[key] = value
    return values


def _servers(content: Any) -> tuple[str, Mapping[str, Any]]:
    """Return the servers, and the key under which they stand."""
    if not isinstance(content, Mapping):
        raise ConfigurationError(f"{FILE} must be an object with 'servers'")
    if "inputs" in content:
        raise ConfigurationError(
            f"{FILE}: 'inputs' asks a person at each start, and nobody is there; write"
            " '${env:NAME}' and set the variable"
        )
    file = Section(content, file=FILE, known=_ROOTS, name="")
    there = [root for root in _ROOTS if root in file]
    if len(there) != 1:
        why = "says the same as 'servers'; keep one of them" if there else "or 'servers' is missing"
        file.fail("mcpServers", why)
    servers = file.raw(there[0])
    if not isinstance(servers, Mapping):
        file.fail(there[0], "must be an object of servers by their names")
    return there[0], servers


class _Entry:
    """One server's entry, with its variables put in."""

    def __init__(self, where: str, values: object, environment: Mapping[str, str]) -> None:
        self._keys = Section(values, file=FILE, known=_ALL_KEYS, name=where)
        self._environment = environment

    def server(self, name: str, app_root: Path) -> Server:
        """Read the entry; raises ConfigurationError."""
        if self._kind() == "http":
            return HttpServer(name=name, url=self._url(), headers=self._headers())
        cwd = self._text("cwd") if "cwd" in self._keys else "."
        folder = (app_root / cwd).resolve()
        if not folder.is_dir():
            self._keys.fail("cwd", f"names no folder: {str(folder)!r}")
        return StdioServer(
            name=name,
            command=self._text("command"),
            args=self._texts("args"),
            env=self._mapping("env"),
            cwd=folder,
        )

    def _kind(self) -> str:
        """Return what ``type`` says, or else what ``command`` and ``url`` do."""
        keys = self._keys
        given = keys.raw("type")
        if "type" not in keys:
            if "command" in keys and "url" in keys:
                keys.fail("url", "stands beside 'command'; a server has one of them")
            if "command" not in keys and "url" not in keys:
                keys.fail("command", "or 'url' is missing; it says how the server is reached")
            given = "stdio" if "command" in keys else "http"
        if given == "sse":
            keys.fail("type", "cannot be 'sse', a transport of the past; use 'http' and its URL")
        if not isinstance(given, str) or given not in _KEYS:
            near = nearest(given, _KEYS) if isinstance(given, str) else None
            hint = f"; did you mean {near!r}?" if near else ""
            keys.fail("type", f"must be 'stdio' or 'http'{hint}")
        for key in _ALL_KEYS[1:]:
            if key in keys and key not in _KEYS[given]:
                keys.fail(key, f"is no key of a server of the type {given!r}; leave it out")
        need = _KEYS[given][0]
        if need not in keys:
            keys.fail(need, f"is missing; a server of the type {given!r} needs it")
        return given

    def _url(self) -> str:
        url = self._text("url")
        try:
            parts = urlsplit(url)
            fits = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            fits = False
        if not fits or re.search(r"\s", url):
            self._keys.fail("url", "must be a URL that begins with http:// or https://")
        return url

    def _headers(self) -> Mapping[str, str]:
        headers = self._mapping("headers")
        for name, value in headers.items():
            if not _HEADER.fullmatch(name) or not value.isascii():
                self._keys.fail(f"headers.{name[:80]}", "is no HTTP header: letters of ASCII only")
        return headers

    def _text(self, key: str) -> str:
        self._keys.text(key)  # refuses what is no text, or blank
        return self._filled(key, self._keys.raw(key))

    def _texts(self, key: str) -> tuple[str, ...]:
        given = self._keys.raw(key)
        if key not in self._keys:
            return ()
        if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
            self._keys.fail(key, 'must be a list of texts, such as ["-m", "my_server"]')
        return tuple(self._filled(f"{key}[{i}]", each) for i, each in enumerate(given))

    def _mapping(self, key: str) -> Mapping[str, str]:
        given = self._keys.raw(key)
        if key not in self._keys:
            return {}
        if not isinstance(given, Mapping):
            self._keys.fail(key, "must be an object of names and texts")
        for name, value in given.items():
            if not isinstance(value, str) or not name or "=" in name or _CONTROL.search(name):
                self._keys.fail(f"{key}.{name[:80]}", "must be a name and a text")
        return {name: self._filled(f"{key}.{name}", value) for name, value in given.items()}

    def _filled(self, key: str, text: str) -> str:
        """Put the variables in, once: what is in a variable is not looked at again."""

        def value_of(found: re.Match[str]) -> str:
            variable = _ENV.fullmatch(found[1])
            if variable is None:
                self._keys.fail(
                    key, f"holds {found[0][:80]!r}; only '${{env:NAME}}' is replaced, by a variable"
                )
            if variable[1] not in self._environment:
                self._keys.fail(
                    key, f"needs the environment variable {variable[1]!r}, which is not set; set it"
                )
            return self._environment[variable[1]]

        filled = _VARIABLE.sub(value_of, text)
        if _CONTROL.search(filled):
            self._keys.fail(key, "holds a control character, such as a line break; take it out")
        return filled
