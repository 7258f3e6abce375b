"""The cast of a simulation: tools that are real or fake, and agents that say what a test wrote."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from ..execution import AgentAnswer, AgentRequest, CancelSignals, Tool, ToolPool
from ..plan.grants import AgentGrant, Grants, Limits, ToolGrant
from ..plan.types import Json
from ..skills.binding import build_tool
from ..skills.decorators import declaration_of

type FakeAgent = str | Sequence[str] | Callable[[str], str]
"""One text for every run, texts for one run after the other, or a function of the task."""

type Tools = Iterable[Callable[..., Any]] | Mapping[str, Any]
"""Decorated functions; or by name a function, a :class:`Fake`, or a value that is returned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fake:
    """A tool that is not there: ``returns`` a value or what a function of the arguments gives.

    Several ``answers`` are given one call after the other, the last one for ever; an exception
    among them is raised. ``takes`` is virtual time.
    """

    returns: Any = None
    answers: Sequence[Any] = ()
    takes: timedelta = timedelta(0)
    arguments: Mapping[str, Any] | None = None
    output: Mapping[str, Any] | None = None


class Cast:
    """The tools and agents of one simulation; a SubAgents and a Markers at once."""

    def __init__(self, tools: Tools, agents: Mapping[str, FakeAgent]) -> None:
        given = tools.items() if isinstance(tools, Mapping) else [(None, one) for one in tools]
        self.tools = {tool.name: tool for tool in (_tool(name, one) for name, one in given)}
        self.takes = {name: one.takes for name, one in given if name and isinstance(one, Fake)}
        self.pool = ToolPool(4)
        self.signals = CancelSignals()
        self._agents = agents
        self._runs: dict[str, int] = {}
        self._marks: set[str] = set()

    def grants(self, limits: Limits) -> Grants:
        """Grant everything there is."""
        return Grants(
            tools={
                name: ToolGrant(
                    name=name,
                    description=tool.description,
                    arguments=tool.arguments,
                    output=tool.output,
                    policy=tool.policy,
                )
                for name, tool in self.tools.items()
            },
            agents={name: AgentGrant(name=name) for name in self._agents},
            limits=limits,
        )

    async def run(self, request: AgentRequest) -> AgentAnswer:
        """Answer as the script says."""
        fake = self._agents[request.agent]
        place = self._runs[request.agent] = self._runs.get(request.agent, -1) + 1
        if isinstance(fake, str):
            text = fake
        else:
            text = fake(request.task) if callable(fake) else fake[min(place, len(fake) - 1)]
        return AgentAnswer(agent=request.agent, text=text)

    def create(self, key: str) -> bool:
        """Keep a mark."""
        is_new = key not in self._marks
        self._marks.add(key)
        return is_new

    def exists(self, key: str) -> bool:
        """Tell whether a mark was kept."""
        return key in self._marks


def _tool(name: str | None, given: Any) -> Tool:
    if isinstance(given, Tool):
        return given
    if isinstance(given, Fake):
        return _fake_tool(name or "fake", given)
    declared = declaration_of(given)
    if declared is not None:
        return build_tool(given, declared)
    if name is None:
        message = f"{given!r} is not decorated; give tools by name, or decorate it"
        raise TypeError(message)
    if not callable(given):
        return _fake_tool(name, Fake(returns=given))
    return Tool(
        name=name,
        call=lambda arguments: given(**arguments),
        is_async=inspect.iscoroutinefunction(given),
    )


def _fake_tool(name: str, fake: Fake) -> Tool:
    calls = iter(range(1_000_000_000))

    def call(arguments: dict[str, Json]) -> Any:
        value = fake.returns
        if fake.answers:
            value = fake.answers[min(next(calls), len(fake.answers) - 1)]
        if isinstance(value, BaseException):
            raise value
        return value(**arguments) if callable(value) else value

    return Tool(name=name, call=call, arguments=fake.arguments, output=fake.output)
