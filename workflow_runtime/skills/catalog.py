"""
Everything that an app's skills may use, built once, checked as a whole, and frozen.

Nothing is granted by being there: a plan may use a sub-agent only where its skill names it, and a
tool only where its function is decorated for plans.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from types import MappingProxyType

from ..errors import ConfigurationError, InvalidRequestError
from ..execution import Tool, ToolBox
from ..logs import get_logger
from ..plan.grants import AgentGrant, Grants, Limits, ToolGrant
from ..plan.policies import WorkPolicy
from .agent_files import FOLDERS as AGENT_FOLDERS
from .agent_files import AgentFile, read_agent_files
from .binding import build_tool
from .mcp import all_of, load_mcp_tools
from .model import Skill, WorkflowSettings
from .spelling import known_or_near
from .tool_files import ToolFile, read_tool_files

_LOG = get_logger(__name__)
MANAGEMENT_TOOLS = frozenset(
    {
        "start_workflow",
        "get_workflow_status",
        "list_workflows",
        "cancel_workflow",
        "terminate_workflow",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """All skills by slug, all tools by name; ``unloaded`` says why a tool is not there.

    ``servers`` are the app's MCP servers; a tool of one is a workflow tool named ``server.tool``.
    ``max_timeout`` is how long the host lets one attempt take.
    """

    skills: Mapping[str, Skill]
    workflow_tools: ToolBox = field(default_factory=dict)
    chat_tools: ToolBox = field(default_factory=dict)
    unloaded: Mapping[str, str] = field(default_factory=dict)
    servers: frozenset[str] = frozenset()
    warnings: tuple[str, ...] = ()
    max_timeout: timedelta | None = None

    def require(self, slug: str) -> None:
        """Raise InvalidRequestError where no skill has this slug."""
        if slug not in self.skills:
            known = ", ".join(self.skills) or "none"
            raise InvalidRequestError(f"no skill is called {slug[:80]!r}; there are {known}")

    def grants(self, slug: str) -> Grants:
        """Return what plans of the skill may use: nothing where its workflows are off."""
        skill = self.skills[slug]
        settings = skill.workflows
        if settings is None:
            return Grants()
        tools = (t for n, t in self.workflow_tools.items() if not _is_withheld(n, skill, settings))
        return Grants(
            tools={tool.name: _tool_grant(tool) for tool in tools},
            agents={
                link.agent: AgentGrant(
                    name=link.agent,
                    description=link.when or self.skills[link.agent].description,
                    policy=WorkPolicy(concurrency=link.concurrency),
                )
                for link in settings.subagents
            },
            limits=self._bounded(settings.limits),
            unloaded={
                name: why
                for name, why in self.unloaded.items()
                if not _is_withheld(name, skill, settings)
            },
        )

    def _bounded(self, limits: Limits) -> Limits:
        given = [one for one in (limits.max_timeout, self.max_timeout) if one is not None]
        return replace(limits, max_timeout=min(given, default=None))

    def chat_tools_of(self, slug: str) -> ToolBox:
        """Return the tools that the skill itself may call in a turn."""
        setting = self.skills[slug].tools
        if not setting.enabled:
            return {}
        return {n: tool for n, tool in self.chat_tools.items() if n not in setting.exclude}

    def fronts(self) -> tuple[Skill, ...]:
        """Return the skills that people can reach, in the order of their slugs."""
        return tuple(skill for skill in self.skills.values() if skill.is_front)


def _is_withheld(name: str, skill: Skill, settings: WorkflowSettings) -> bool:
    server, dot, _ = name.partition(".")
    if name in settings.exclude:
        return True
    return bool(dot) and (all_of(server) in settings.exclude or skill.mcp.withholds(server, name))


def _tool_grant(tool: Tool) -> ToolGrant:
    return ToolGrant(
        name=tool.name,
        description=tool.description,
        arguments=tool.arguments,
        output=tool.output,
        policy=tool.policy,
    )


def load_catalog(
    app_root: Path, *, environment: Mapping[str, str] | None = None, ask_servers: bool = True
) -> Catalog:
    """Read the app's skills and tools; raises ConfigurationError with one clear line.

    A tool file that does not import, or an MCP server that does not answer, is no error: the app
    starts without its tools. *environment* has the variables that ``mcp.json`` names; without
    *ask_servers* no server is started or asked.
    """
    files = list(read_agent_files(app_root))
    skills = _by_slug(files)
    tools = _Tools(read_tool_files(app_root))
    mcp = load_mcp_tools(app_root, environment or {}, ask=ask_servers)
    catalog = Catalog(
        skills=skills,
        workflow_tools=_sorted({**tools.in_plans, **mcp.tools}),
        chat_tools=_sorted(tools.in_chat),
        unloaded=_sorted({**tools.unloaded, **mcp.unloaded}),
        servers=mcp.servers,
        warnings=(
            *(warning for file in files for warning in file.warnings),
            *tools.warnings(),
            *mcp.warnings,
            *_unreachable(skills),
        ),
    )
    for file in files:
        _check_names(file, catalog)
    for warning in catalog.warnings:
        _LOG.warning("%s", warning)
    return catalog


def _sorted[T](by_name: Mapping[str, T]) -> Mapping[str, T]:
    return MappingProxyType(dict(sorted(by_name.items())))


def _by_slug(files: Iterable[AgentFile]) -> Mapping[str, Skill]:
    seen: dict[str, str] = {}
    skills: dict[str, Skill] = {}
    for file in files:
        slug = file.skill.slug
        if other := seen.get(slug.casefold()):
            raise ConfigurationError(
                f"{other} and {file.shown} have one slug, {slug!r}; rename one of them"
            )
        seen[slug.casefold()] = file.shown
        skills[slug] = file.skill
    return MappingProxyType(dict(sorted(skills.items())))


class _Tools:
    """Gathers the tools of all files; a name stands for one function only."""

    def __init__(self, files: Iterable[ToolFile]) -> None:
        self.in_plans: dict[str, Tool] = {}
        self.in_chat: dict[str, Tool] = {}
        self.unloaded: dict[str, str] = {}
        self._undecorated: list[str] = []
        self._broken: list[str] = []
        self._places: dict[str, tuple[str, object]] = {}
        for file in files:
            self._add(file)
        for name in self._places:
            self.unloaded.pop(name, None)

    def _add(self, file: ToolFile) -> None:
        if file.error is not None:
            self.unloaded |= dict.fromkeys(file.held, file.error)
            self._broken.append(f"did not load: {file.error}")
        if file.others:
            self._undecorated.append(f"{file.path}: {', '.join(file.others)}")
        for function, declared in file.functions:
            name = declared.name or function.__name__
            if not self._is_new(name, function, file.path):
                continue
            try:
                tool = build_tool(function, declared)
            except ConfigurationError as error:
                self.unloaded[name] = f"{file.path}: {error}"
                self._broken.append(f"did not load: {file.path}: {error}")
                continue
            self._places[name] = (file.path, function)
            self.in_plans |= {name: tool} if declared.in_plans else {}
            self.in_chat |= {name: tool} if declared.in_chat else {}

    def _is_new(self, name: str, function: object, path: str) -> bool:
        if name in MANAGEMENT_TOOLS:
            raise ConfigurationError(
                f"{path}: no tool may be named {name!r}, as a management tool is; rename it"
            )
        other, known = self._places.get(name, (path, None))
        if known is not None and known is not function:
            raise ConfigurationError(
                f"{other} and {path} both have a tool {name!r}; rename one of them"
            )
        return known is None

    def warnings(self) -> Iterable[str]:
        """Say which files did not load, and once what is undecorated."""
        yield from self._broken
        if self._undecorated:
            listed = "; ".join(self._undecorated)
            yield f"functions without @workflow_tool or @tool are no tools: {listed}"


def _unreachable(skills: Mapping[str, Skill]) -> Iterable[str]:
    if not skills:
        places = ", ".join(f"{folder}/*.agent.md" for folder in AGENT_FOLDERS)
        yield f"the app has no skill; looked for {places}"
    settings = [skill.workflows for skill in skills.values() if skill.workflows is not None]
    named = {link.agent for each in settings for link in each.subagents}
    for skill in skills.values():
        if not skill.is_front and skill.slug not in named:
            yield (
                f"{skill.path.name}: nobody can reach {skill.slug!r}: it has no endpoint and no"
                " skill names it as a sub-agent"
            )


def _check_names(file: AgentFile, catalog: Catalog) -> None:
    settings = file.skill.workflows or WorkflowSettings()
    for link in settings.subagents:
        if link.agent not in catalog.skills:
            raise ConfigurationError(
                f"{file.shown}: 'workflows.subagents' names {link.agent!r}, and no .agent.md file"
                f" has that slug; {known_or_near(link.agent, catalog.skills)}"
            )
    whole = {all_of(server) for server in catalog.servers}
    of_mcp = {name for name in catalog.workflow_tools if "." in name}
    unloaded = Grants(unloaded=catalog.unloaded)
    for key, excluded, tools in (
        ("workflows.exclude", settings.exclude, {*catalog.workflow_tools, *whole}),
        ("tools.exclude", file.skill.tools.exclude, {*catalog.chat_tools}),
        ("mcp.exclude", file.skill.mcp.exclude, {*catalog.servers, *of_mcp}),
    ):
        for name in excluded:
            # A server that did not answer may well have the tool.
            if name not in tools and unloaded.why_unloaded(name) is None:
                raise ConfigurationError(
                    f"{file.shown}: {key!r} names {name!r}, which is no tool of that kind;"
                    f" {known_or_near(name, tools)}"
                )
