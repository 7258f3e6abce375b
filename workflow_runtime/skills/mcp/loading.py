"""
The tools of an app's MCP servers, asked for once, when the app starts.

The SDK is imported only when there is a server to ask: it takes half a second. An app is built by
an import, maybe in a thread whose event loop is running, so the servers are asked from a thread.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ...execution import Tool
from .config import FILE, read_servers
from .tools import build_tools

NOT_ASKED = "its MCP server was not asked"


def all_of(server: str) -> str:
    """Return what stands for every tool of a server, where tools are named."""
    return f"{server}.*"


def _quieten() -> None:
    """Keep the lines of the SDK at INFO out of the log: they hold URLs and session ids."""
    for name in ("mcp", "httpx2"):
        logger = logging.getLogger(name)
        if logger.level == logging.NOTSET:
            logger.setLevel(logging.WARNING)


@dataclass(frozen=True, slots=True, kw_only=True)
class McpTools:
    """What the servers offer, and under ``unloaded`` why a tool, or :func:`all_of` one, is not."""

    servers: frozenset[str] = frozenset()
    tools: Mapping[str, Tool] = field(default_factory=dict)
    unloaded: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def load_mcp_tools(app_root: Path, environment: Mapping[str, str], *, ask: bool = True) -> McpTools:
    """Ask the servers of ``mcp.json``; raises ConfigurationError for what is wrong in the file.

    A server that does not answer in time is no error. Without *ask* no server is, and no process
    is started.
    """
    servers = read_servers(app_root, environment)
    names = frozenset(server.name for server in servers)
    if not servers or not ask:
        return McpTools(servers=names, unloaded={all_of(name): NOT_ASKED for name in names})
    from .asking import ask_all  # noqa: PLC0415 - see above
    from .calling import Connection  # noqa: PLC0415

    _quieten()
    answers = ask_all(servers)
    tools: dict[str, Tool] = {}
    unloaded: dict[str, str] = {}
    warnings: list[str] = []
    for server in servers:
        answer = answers[server.name]
        if isinstance(answer, str):
            unloaded[all_of(server.name)] = f"MCP server {server.name!r}: {answer}"
            warnings.append(
                f"{FILE}: the server {server.name!r} did not load: {answer}; the app starts without"
                " its tools"
            )
            continue
        built = build_tools(server.name, answer, Connection(server).call)
        tools |= built.tools
        unloaded |= built.unloaded
        warnings += [f"{FILE}: did not load: {name}: {w}" for name, w in built.unloaded.items()]
    return McpTools(servers=names, tools=tools, unloaded=unloaded, warnings=tuple(warnings))
