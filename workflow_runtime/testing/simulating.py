"""Drive a plan through the real engine in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, TypedDict, Unpack

from ..engine import Answered, CallTool, CancelRequested, Command, Event, EventArrived, Run
from ..errors import InvalidPlanError
from ..execution import AttemptRequest, carry_out
from ..hosts.simulation import simulate_run
from ..plan.check import check
from ..plan.encoding import dumps
from ..plan.grants import Grants, Limits
from ..plan.model import AgentTask, Plan, ToolTask, read_plan
from ..plan.types import Json
from ..service import attempt_ended
from .fakes import Cast, FakeAgent, Tools
from .records import Call, Simulated, timeline

START = datetime(2026, 1, 1, tzinfo=UTC)


class Scene(TypedDict, total=False):
    """What a plan is simulated with; everything may be left out.

    ``context`` and ``data`` are what a caller brings. ``now`` is when the run starts. ``approve``
    answers the questions of the tasks it names, at once; others are left to their deadlines.
    ``events`` are ``(after, name, payload)``. ``reuse`` holds the results of an earlier run.
    """

    tools: Tools
    agents: Mapping[str, FakeAgent]
    limits: Limits
    context: str
    data: Json
    now: datetime
    approve: Mapping[str, bool]
    events: Iterable[tuple[timedelta, str, Json]]
    cancel_after: timedelta
    reuse: Mapping[str, Sequence[Json]]


def simulate(plan: Mapping[str, Any], **scene: Unpack[Scene]) -> Simulated:
    """Run *plan* to its end and return how it went; call it where no event loop runs.

    Raises InvalidPlanError with every problem.
    """
    return asyncio.run(simulate_async(plan, **scene))


async def simulate_async(plan: Mapping[str, Any], **scene: Unpack[Scene]) -> Simulated:
    """Do what :func:`simulate` does, inside a running event loop."""
    start = scene.get("now", START)
    cast = Cast(scene.get("tools", ()), scene.get("agents", {}))
    grants = cast.grants(scene.get("limits", Limits()))
    context, data = scene.get("context"), scene.get("data")
    checked = check(dict(plan), grants, start, context=context, data=data)
    if checked.plan is None:
        raise InvalidPlanError(tuple(problem.to_json() for problem in checked.problems))
    run = _new_run(checked.plan, grants, scene.get("reuse", {}))
    stage = Stage(run=run, cast=cast, start=start, approve=dict(scene.get("approve", {})))
    ended = await simulate_run(
        run, stage.carry, start=start, script=_script(scene), respond=stage.answers
    )
    cast.pool.close()
    if run.outcome is None:
        message = "the run did not end"
        raise AssertionError(message)
    return Simulated(
        outcome=run.outcome,
        run=run,
        calls=tuple(stage.calls),
        timeline=tuple(timeline(run, start)),
        took=ended - start,
    )


def _script(scene: Scene) -> list[tuple[timedelta, Event]]:
    """Return what comes from outside, and when."""
    script: list[tuple[timedelta, Event]] = [
        (after, EventArrived(id=f"event-{place}", name=name, payload=payload))
        for place, (after, name, payload) in enumerate(scene.get("events", ()))
    ]
    if "cancel_after" in scene:
        script.append((scene["cancel_after"], CancelRequested("canceled by the test")))
    return script


def _new_run(plan: Plan, grants: Grants, reuse: Mapping[str, Sequence[Json]]) -> Run:
    policies = grants.policies(
        (task.tool for task in plan.tasks if isinstance(task, ToolTask)),
        (task.agent for task in plan.tasks if isinstance(task, AgentTask)),
    )
    return Run(read_plan(plan.to_json()), grants.limits, policies, scope="simulated", reuse=reuse)


@dataclass(slots=True)
class Stage:
    """Carries commands out with the cast, and remembers every call."""

    run: Run
    cast: Cast
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
