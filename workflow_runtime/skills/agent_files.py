"""
``.agent.md`` files: found, read strictly, and turned into skills.

What needs more than one file - sub-agents and tools that must exist - the catalog checks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import cast

from ..errors import ConfigurationError
from ..execution import ResultNotJsonError, to_json
from ..plan.grants import Limits
from ..plan.types import Json
from .front_matter import Section, split_front_matter
from .model import (
    DEFAULT_TIMEOUT,
    AuthLevel,
    ChatTools,
    Endpoints,
    McpAccess,
    ModelOptions,
    Skill,
    SubAgentLink,
    WorkflowSettings,
)

FOLDERS = ("skills", ".", "agents")
_SUFFIX = ".agent.md"
_AUTH = ("function", "admin", "anonymous", "entra")
_USED = (
    "name", "description", "model", "model_options", "timeout", "endpoints", "builtin_endpoints",
    "workflows", "tools", "mcp", "metadata",
)  # fmt: skip
# Accepted, so that an app written for them starts, and answered with one warning each.
_WITHOUT_EFFECT = {
    "trigger": "",
    "skills": "",
    "input_schema": "",
    "response_schema": "",
    "substitute_variables": "",
    "subagents": "grant sub-agents to plans with 'workflows.subagents'",
    "system_tools": "write a @tool function in skills/tools/ instead",
    "logger": "set WORKFLOW_RUNTIME_LOG_LEVEL instead",
}
_KNOWN = (*_USED, *_WITHOUT_EFFECT)
_MAX_TIMEOUT = 86_400.0
_MAX_CONCURRENCY = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFile:
    """A skill and what its author should know; ``shown`` is its path below the app's root."""

    skill: Skill
    shown: str
    warnings: tuple[str, ...]


def read_agent_files(app_root: Path) -> Iterator[AgentFile]:
    """Read every ``.agent.md`` file of the app; raises ConfigurationError."""
    for folder in FOLDERS:
        for path in sorted((app_root / folder).glob(f"*{_SUFFIX}")):
            if not path.is_file():
                continue
            yield _read(path, path.relative_to(app_root).as_posix())


def _read(path: Path, shown: str) -> AgentFile:
    try:
        text = path.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{shown} is not UTF-8 text; save it as UTF-8") from error
    except OSError as error:
        raise ConfigurationError(f"{shown} cannot be read: {error.strerror}") from error
    values, body = split_front_matter(text, shown)
    keys = Section(values, file=shown, known=_KNOWN)
    slug = slug_of(path.name)
    description = keys.text("description")
    if description is None:
        keys.fail("description", "is missing; say in one line what the skill is for")
    timeout = keys.number("timeout", low=1, high=_MAX_TIMEOUT)
    endpoints, ignored = _endpoints(keys)
    skill = Skill(
        slug=slug,
        name=keys.text("name") or slug,
        description=description,
        instructions=body,
        path=path,
        model=keys.text("model"),
        model_options=_model_options(keys),
        timeout=DEFAULT_TIMEOUT if timeout is None else timeout,
        endpoints=endpoints,
        workflows=_workflows(keys, shown),
        tools=_chat_tools(keys),
        mcp=_mcp_access(keys),
        metadata=_metadata(keys),
    )
    return AgentFile(skill=skill, shown=shown, warnings=_warnings(keys, shown, ignored))


def slug_of(file_name: str) -> str:
    """Return a file's slug: its name without ``.agent.md``, odd characters as ``_``."""
    return re.sub(r"[^A-Za-z0-9_]", "_", file_name.removesuffix(_SUFFIX)) or "_"


def _warnings(keys: Section, shown: str, ignored: tuple[str, ...]) -> tuple[str, ...]:
    said = [
        f"{shown}: {key!r} has no effect in this version" + (f"; {instead}" if instead else "")
        for key, instead in _WITHOUT_EFFECT.items()
        if key in keys
    ]
    return (*said, *(f"{shown}: {key!r} has no effect in this version" for key in ignored))


def _model_options(keys: Section) -> ModelOptions:
    known = ("max_output_tokens", "temperature", "reasoning_effort")
    options = keys.section("model_options", known)
    tokens = options.number("max_output_tokens", low=1, high=10_000_000, whole=True)
    return ModelOptions(
        max_output_tokens=None if tokens is None else int(tokens),
        temperature=options.number("temperature", low=0, high=2),
        reasoning_effort=options.text("reasoning_effort"),
    )


def _endpoints(keys: Section) -> tuple[Endpoints, tuple[str, ...]]:
    """Read either spelling; also return the keys in it that do nothing."""
    if "endpoints" in keys and "builtin_endpoints" in keys:
        keys.fail("builtin_endpoints", "says the same as 'endpoints'; keep one of them")
    if "builtin_endpoints" in keys:
        name, chat, page, auth = "builtin_endpoints", "chat_api", "debug_chat_ui", "http_auth"
    else:
        name, chat, page, auth = "endpoints", "chat", "page", "auth"
    given = keys.raw(name)
    if isinstance(given, bool):
        return Endpoints(chat=given, page=given), ()
    section = keys.section(name, (chat, page, "mcp", auth))
    ignored = (f"{name}.mcp",) if section.flag("mcp") else ()
    has_page = section.flag(page)
    endpoints = Endpoints(
        chat=section.flag(chat) or has_page,
        page=has_page,
        auth=cast("AuthLevel", _auth(section, auth)),
    )
    if has_page and chat in section and not section.flag(chat):
        section.fail(chat, f"cannot be false while {page!r} is true: the page is a chat")
    return endpoints, ignored


def _auth(section: Section, key: str) -> str:
    if isinstance(section.raw(key), dict):
        return section.section(key, ("mode",)).choice("mode", _AUTH, "function")
    return section.choice(key, _AUTH, "function")


def _workflows(keys: Section, shown: str) -> WorkflowSettings | None:
    section = keys.section("workflows", ("enabled", "exclude", "subagents", "limits"))
    try:
        limits = Limits.from_json(section.raw("limits") if "limits" in section else {})
    except ConfigurationError as error:
        raise ConfigurationError(f"{shown}: {error}") from error
    settings = WorkflowSettings(
        exclude=section.texts("exclude"), subagents=_links(section), limits=limits
    )
    if "workflows" in keys and "enabled" not in section:
        section.fail("enabled", "is missing; write 'enabled: true' to let the skill run plans")
    return settings if section.flag("enabled") else None


def _links(section: Section) -> tuple[SubAgentLink, ...]:
    links: dict[str, SubAgentLink] = {}
    for link in section.sections("subagents", ("agent", "when", "concurrency")):
        agent = link.text("agent")
        if agent is None:
            link.fail("agent", "is missing; name the slug of another .agent.md file")
        if agent in links:
            link.fail("agent", f"names {agent!r} twice")
        bound = link.number("concurrency", low=1, high=_MAX_CONCURRENCY, whole=True)
        links[agent] = SubAgentLink(
            agent=agent,
            when=link.text("when"),
            concurrency=None if bound is None else int(bound),
        )
    return tuple(links.values())


def _chat_tools(keys: Section) -> ChatTools:
    given = keys.raw("tools")
    if isinstance(given, bool):
        return ChatTools(enabled=given)
    return ChatTools(exclude=keys.section("tools", ("exclude",)).texts("exclude"))


def _mcp_access(keys: Section) -> McpAccess:
    given = keys.raw("mcp")
    if isinstance(given, bool):
        return McpAccess(enabled=given)
    return McpAccess(exclude=keys.section("mcp", ("exclude",)).texts("exclude"))


def _metadata(keys: Section) -> MappingProxyType[str, Json]:
    given = keys.raw("metadata")
    if given is None:
        return MappingProxyType({})
    if not isinstance(given, dict):
        keys.fail("metadata", "must be keys and values")
    try:
        return MappingProxyType(cast("dict[str, Json]", to_json(given, "metadata")))
    except ResultNotJsonError as error:
        keys.fail("metadata", f"must be JSON: {error}")
