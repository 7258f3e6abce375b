"""A skill as a value: what its ``.agent.md`` file says, checked and frozen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from ..plan.grants import Limits
from ..plan.types import Json

type AuthLevel = Literal["function", "admin", "anonymous", "entra"]
DEFAULT_TIMEOUT = 900.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """What a skill asks of its model; None leaves it to the provider."""

    max_output_tokens: int | None = None
    temperature: float | None = None
    reasoning_effort: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoints:
    """What of a skill is reachable over HTTP. A page needs the chat, and turns it on."""

    chat: bool = False
    page: bool = False
    auth: AuthLevel = "function"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatTools:
    """Which ``@tool`` functions a skill may call itself."""

    enabled: bool = True
    exclude: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class McpAccess:
    """Which tools of MCP servers a skill's plans may use: all but ``server`` or ``server.tool``."""

    enabled: bool = True
    exclude: tuple[str, ...] = ()

    def withholds(self, server: str, tool: str) -> bool:
        """Tell whether the tool, named ``server.tool``, is kept from the skill's plans."""
        return not self.enabled or server in self.exclude or tool in self.exclude


@dataclass(frozen=True, slots=True, kw_only=True)
class SubAgentLink:
    """A sub-agent that a skill's plans may run; ``when`` is the routing hint, None: its own.

    ``concurrency`` bounds its runs within one run of a plan at a time.
    """

    agent: str
    when: str | None = None
    concurrency: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowSettings:
    """What a skill's plans may use: all workflow tools but ``exclude``, only these sub-agents."""

    exclude: tuple[str, ...] = ()
    subagents: tuple[SubAgentLink, ...] = ()
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """One skill. ``timeout`` is in seconds, for one turn; ``workflows`` None: no plans."""

    slug: str
    name: str
    description: str
    instructions: str
    path: Path
    model: str | None = None
    model_options: ModelOptions = field(default_factory=ModelOptions)
    timeout: float = DEFAULT_TIMEOUT
    endpoints: Endpoints = field(default_factory=Endpoints)
    workflows: WorkflowSettings | None = None
    tools: ChatTools = field(default_factory=ChatTools)
    mcp: McpAccess = field(default_factory=McpAccess)
    metadata: Mapping[str, Json] = field(default_factory=dict)

    @property
    def is_front(self) -> bool:
        """Tell whether people can reach it."""
        return self.endpoints.chat or self.endpoints.page
