"""What a plan's author may use: tools, sub-agents and limits, granted per skill."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import timedelta
from difflib import get_close_matches
from typing import Any, Self

from ..errors import ConfigurationError
from .policies import Policies, WorkPolicy
from .times import format_duration, parse_duration
from .types import JsonSchema


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolGrant:
    """One tool a plan may call; schemas are None where unknown."""

    name: str
    description: str = ""
    arguments: JsonSchema | None = None
    output: JsonSchema | None = None
    policy: WorkPolicy = field(default_factory=WorkPolicy)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentGrant:
    """One sub-agent a plan may run; ``description`` says when to use it."""

    name: str
    description: str = ""
    policy: WorkPolicy = field(default_factory=WorkPolicy)


_CEILINGS: dict[str, int | timedelta] = {
    "max_tasks": 1_000,
    "max_items": 100_000,
    "max_parallelism": 256,
    "max_agent_runs": 10_000,
    "max_wait": timedelta(days=365),
    "max_duration": timedelta(days=365),
    "max_active": 100,
    "max_timeout": timedelta(days=1),
    "max_tokens": 1_000_000_000,
    "ask_above_agent_runs": 10_000,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How large a run may get. Each default can be changed in ``workflows.limits``.

    ``max_timeout`` bounds one attempt; the app sets it below the host's own time-out.
    ``ask_above_agent_runs``: a person is asked before a run begins that would run more sub-agents.
    """

    max_tasks: int = 200
    max_items: int = 10_000
    max_parallelism: int = 16
    max_agent_runs: int = 200
    max_wait: timedelta = timedelta(days=30)
    max_duration: timedelta = timedelta(days=30)
    max_active: int = 10
    max_timeout: timedelta | None = None
    max_tokens: int | None = None
    ask_above_agent_runs: int | None = None

    @classmethod
    def from_json(cls, value: Any) -> Self:
        """Read front matter's ``workflows.limits``; raises ConfigurationError naming the key."""
        if not isinstance(value, Mapping):
            message = "workflows.limits must be a mapping such as {max_parallelism: 32}"
            raise ConfigurationError(message)
        limits: dict[str, Any] = {str(key): _limit(str(key), given) for key, given in value.items()}
        return cls(**limits)

    def to_json(self) -> dict[str, int | str]:
        """Write every limit there is; durations in ISO 8601."""
        given = {f.name: getattr(self, f.name) for f in fields(self)}
        values = {name: value for name, value in given.items() if value is not None}
        return {k: format_duration(v) if isinstance(v, timedelta) else v for k, v in values.items()}


def _limit(key: str, given: object) -> int | timedelta:
    ceiling = _CEILINGS.get(key)
    if ceiling is None:
        near = get_close_matches(key, _CEILINGS, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(_CEILINGS)}"
        message = f"workflows.limits.{key} is not a limit; {hint}"
        raise ConfigurationError(message)
    value: int | timedelta | None
    if isinstance(ceiling, timedelta):
        value = parse_duration(given) if isinstance(given, str) else None
        wanted = f"an ISO 8601 duration up to {format_duration(ceiling)}, such as 'P7D'"
        too_much = value is not None and value > ceiling
    else:
        value = given if isinstance(given, int) and not isinstance(given, bool) else None
        wanted = f"a whole number from 1 to {ceiling}"
        too_much = value is not None and not 1 <= value <= ceiling
    if value is None or too_much:
        message = f"workflows.limits.{key} must be {wanted}, not {given!r}"
        raise ConfigurationError(message)
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Grants:
    """All that one skill's plans may use.

    ``unloaded`` maps a tool's name, or ``server.*`` for all tools of an MCP server, to the reason
    why it did not load, so that a plan that names it can be told.
    """

    tools: Mapping[str, ToolGrant] = field(default_factory=dict)
    agents: Mapping[str, AgentGrant] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    unloaded: Mapping[str, str] = field(default_factory=dict)

    def why_unloaded(self, tool: str) -> str | None:
        """Return why the tool did not load, None where it was not expected to."""
        server, dot, _ = tool.partition(".")
        whole = self.unloaded.get(f"{server}.*") if dot else None
        return self.unloaded.get(tool, whole)

    def policies(self, tools: Iterable[str], agents: Iterable[str]) -> Policies:
        """Return the policies of what a plan names, to be frozen into its run."""
        return Policies(
            tools={name: self.tools[name].policy for name in sorted(set(tools) & set(self.tools))},
            agents={n: self.agents[n].policy for n in sorted(set(agents) & set(self.agents))},
        )
