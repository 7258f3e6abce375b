"""
What skill authors test their tools and plans with: the real engine, fake tools, a virtual clock.

    outcome = simulate(plan, tools=[fetch_logs], agents={"writer": "A short report."})
    assert outcome.status == "Completed"

See ``docs/testing.md``.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from .engine import (
    Answered,
    CallTool,
    CancelRequested,
    Command,
    Event,
    EventArrived,
    Failure,
    Outcome,
    Run,
)
from .errors import InvalidPlanError
from .execution import (
    AgentAnswer,
    AgentRequest,
    AttemptRequest,
    CancelSignals,
    Tool,
    ToolPool,
    carry_out,
)
from .hosts.simulation import simulate_run
from .plan.check import check
from .plan.encoding import dumps
from .plan.grants import AgentGrant, Grants, Limits, ToolGrant
from .plan.model import AgentTask, Plan, ToolTask, read_plan
from .plan.types import Json
from .service import attempt_ended
from .skills.binding import build_tool
from .skills.decorators import declaration_of

START = datetime(2026, 1, 1, tzinfo=UTC)

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One attempt at a tool or a sub-agent, ``at`` so long after the start."""

    at: timedelta
    step: str
    target: str
    payload: Json
    attempt: int
    idempotency_key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A step that began or ended: ``status`` is ``started`` or the status it ended with."""

    at: timedelta
    step: str
    status: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulated:
    """How a simulated run went."""

    outcome: Outcome
    run: Run
    calls: tuple[Call, ...]
    timeline: tuple[Moment, ...]
    took: timedelta

    @property
    def status(self) -> str:
        """The status it ended with."""
        return self.outcome.status

    @property
    def output(self) -> Json:
        """What the plan returned."""
        return self.outcome.output

    @property
    def error(self) -> Failure | None:
        """Why it failed, if it did."""
        return self.outcome.error

    def result(self, task_id: str) -> Json:
        """Return a task's result."""
        return self.run.tasks[task_id].result()

    def status_of(self, task_id: str) -> str:
        """Return a task's status."""
        return str(self.run.tasks[task_id].status)


def simulate(  # noqa: PLR0913 - one call says all of a scene
    plan: Mapping[str, Any],
    *,
    tools: Tools = (),
    agents: Mapping[str, FakeAgent] | None = None,
    limits: Limits | None = None,
    context: str | None = None,
    data: Json = None,
    now: datetime = START,
    approve: Mapping[str, bool] | None = None,
    events: Iterable[tuple[timedelta, str, Json]] = (),
    cancel_after: timedelta | None = None,
    reuse: Mapping[str, Sequence[Json]] | None = None,
) -> Simulated:
    """Run *plan* to its end and return how it went; call it where no event loop runs.

    *approve* answers the questions of the tasks it names, at once; others are left to their
    deadlines. *events* are ``(after, name, payload)``. Raises InvalidPlanError with every problem.
    """
    return asyncio.run(
        simulate_async(
            plan,
            tools=tools,
            agents=agents,
            limits=limits,
            context=context,
            data=data,
            now=now,
            approve=approve,
            events=events,
            cancel_after=cancel_after,
            reuse=reuse,
        )
    )


async def simulate_async(  # noqa: PLR0913 - as above
    plan: Mapping[str, Any],
    *,
    tools: Tools = (),
    agents: Mapping[str, FakeAgent] | None = None,
    limits: Limits | None = None,
    context: str | None = None,
    data: Json = None,
    now: datetime = START,
    approve: Mapping[str, bool] | None = None,
    events: Iterable[tuple[timedelta, str, Json]] = (),
    cancel_after: timedelta | None = None,
    reuse: Mapping[str, Sequence[Json]] | None = None,
) -> Simulated:
    """Do what :func:`simulate` does, inside a running event loop."""
    cast = _Cast(tools, agents or {})
    grants = cast.grants(limits or Limits())
    checked = check(dict(plan), grants, now, context=context, data=data)
    if checked.plan is None:
        raise InvalidPlanError(tuple(problem.to_json() for problem in checked.problems))
    run = _new_run(checked.plan, grants, reuse or {})
    stage = _Stage(run=run, cast=cast, start=now, approve=dict(approve or {}))
    script: list[tuple[timedelta, Event]] = [
        (after, EventArrived(id=f"event-{place}", name=name, payload=payload))
        for place, (after, name, payload) in enumerate(events)
    ]
    if cancel_after is not None:
        script.append((cancel_after, CancelRequested("canceled by the test")))
    ended = await simulate_run(run, stage.carry, start=now, script=script, respond=stage.answers)
    cast.pool.close()
    if run.outcome is None:
        message = "the run did not end"
        raise AssertionError(message)
    return Simulated(
        outcome=run.outcome,
        run=run,
        calls=tuple(stage.calls),
        timeline=tuple(_timeline(run, now)),
        took=ended - now,
    )


def _new_run(plan: Plan, grants: Grants, reuse: Mapping[str, Sequence[Json]]) -> Run:
    policies = grants.policies(
        (task.tool for task in plan.tasks if isinstance(task, ToolTask)),
        (task.agent for task in plan.tasks if isinstance(task, AgentTask)),
    )
    return Run(read_plan(plan.to_json()), grants.limits, policies, scope="simulated", reuse=reuse)


def _timeline(run: Run, start: datetime) -> list[Moment]:
    moments: list[Moment] = []
    for state in run.tasks.values():
        for step in state.steps:
            if step.started_at is not None:
                moments.append(Moment(at=step.started_at - start, step=step.id, status="started"))
            if step.ended_at is not None:
                at = step.ended_at - start
                moments.append(Moment(at=at, step=step.id, status=str(step.status)))
    return sorted(moments, key=lambda moment: (moment.at, moment.status != "started"))


@dataclass(slots=True)
class _Stage:
    """Carries commands out with the cast, and remembers every call."""

    run: Run
    cast: _Cast
    start: datetime
    approve: dict[str, bool]
    calls: list[Call] = field(default_factory=list)
    answered: set[str] = field(default_factory=set)

    async def carry(self, command: Command, now: datetime) -> tuple[Event, timedelta]:
        """See :data:`~workflow_runtime.hosts.simulation.Carrier`."""
        is_tool = isinstance(command, CallTool)
        target = command.tool if isinstance(command, CallTool) else command.agent
        payload: Json = command.args if isinstance(command, CallTool) else command.task
        self.calls.append(
            Call(
                at=now - self.start,
                step=command.step,
                target=target,
                payload=payload,
                attempt=command.attempt,
                idempotency_key=command.key,
            )
        )
        request = AttemptRequest(
            workflow_id="simulated",
            task_id=command.step,
            attempt=command.attempt,
            kind="tool" if is_tool else "sub_agent",
            target=target,
            payload=payload,
            context=None if is_tool else self.run.plan.context,
            idempotency_key=command.key,
        )
        outcome = await carry_out(
            request,
            tools=self.cast.tools,
            agents=self.cast,
            pool=self.cast.pool,
            signals=self.cast.signals,
            markers=self.cast,
        )
        return attempt_ended(command.step, dumps(outcome)), self.cast.takes.get(target, timedelta())

    def answers(self, now: datetime) -> Iterator[tuple[timedelta, Event]]:
        """Answer the questions that the test has an answer for."""
        for step in list(self.run.waiting):
            task = step.id.partition("[")[0]
            if step.question is None or step.question.digest in self.answered:
                continue
            decided = self.approve.get(step.id, self.approve.get(task))
            if decided is not None:
                self.answered.add(step.question.digest)
                yield (
                    timedelta(),
                    Answered(
                        id=step.question.digest,
                        step=step.id,
                        digest=step.question.digest,
                        approved=decided,
                        by="the test",
                        comment="",
                        at=now.isoformat(),
                    ),
                )


class _Cast:
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
