"""A plan that check accepts does not fail for a reason that check could have seen."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import count

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.corpus.loading import NOW
from tests.plan_strategies import valid_plans
from tests.strategies import LAB, answers, json_values
from workflow_runtime.engine import (
    Answered,
    CallTool,
    Command,
    Event,
    EventArrived,
    Failed,
    Failure,
    Run,
    Started,
    Succeeded,
    Wait,
)
from workflow_runtime.engine.retrying import DEFAULT_RETRY, policy_of
from workflow_runtime.plan import Plan, check
from workflow_runtime.plan.validation import errors

BUSY = Failure(code="failed", message="busy", kind="retryable")


class World:
    """Carries a plan out: tools fail as often as they may, people agree, events come."""

    def __init__(self, plan: Plan, draw) -> None:
        self.engine = Run(plan, LAB.limits, LAB.policies(LAB.tools, LAB.agents))
        self.draw = draw
        self.ids = (f"m{n}" for n in count())

    def run(self) -> Run:
        """Bring the run to its outcome."""
        now = NOW
        for name in self.draw(st.lists(st.sampled_from(["done", "done:b"]), max_size=2)):
            self.engine.handle([self.event(name)], now)  # before anybody waits
        commands = list(self.engine.handle([Started()], now))
        while self.engine.outcome is None:
            event = self.attempt(commands.pop(0)) if commands else self.outside(now)
            now = self.engine.deadline or now if event is None else now + timedelta(seconds=1)
            commands += self.engine.handle([event] if event is not None else [], now)
        return self.engine

    def event(self, name: str) -> EventArrived:
        return EventArrived(id=next(self.ids), name=name, payload=self.draw(json_values))

    def attempt(self, command: Command) -> Event:
        """Fail, where another attempt is left, or return what the schema says."""
        state = self.engine.tasks[command.step.partition("[")[0]]
        last = (policy_of(state) or DEFAULT_RETRY).max_attempts
        is_once = state.policy.side_effects == "once"
        if command.attempt < last and not is_once and self.draw(st.booleans()):
            return Failed(command.step, BUSY)
        if not isinstance(command, CallTool):
            value = {"agent": command.agent, "text": self.draw(st.text())}
            return Succeeded(command.step, value)
        grant = LAB.tools[command.tool]
        assert grant.arguments is None or not errors(grant.arguments, command.args, {})
        return Succeeded(command.step, self.draw(answers(grant.output)))

    def outside(self, now: datetime) -> Event | None:
        """Answer a question or send an event that the run waits for; None lets time pass."""
        for step in self.engine.waiting:
            if step.question is not None:
                return Answered(
                    id=next(self.ids),
                    step=step.id,
                    digest=step.question.digest,
                    approved=True,
                    by=self.draw(st.text(max_size=3)),
                    comment="",
                    at=now.isoformat(),
                )
            if step.waits_for is Wait.EVENT:
                task = self.engine.tasks[step.id].task
                can_be_missed = getattr(task, "on_timeout", "") == "continue"
                if not can_be_missed or self.draw(st.booleans()):
                    return self.event(getattr(task, "event", ""))
        assert self.engine.deadline is not None
        return None


@settings(max_examples=200)
@given(st.data())
def test_a_valid_plan_completes_whatever_the_tools_return(data):
    plan = data.draw(valid_plans())
    found = check(plan, LAB, NOW)
    assert found.plan is not None, [str(problem) for problem in found.problems]
    engine = World(found.plan, data.draw).run()
    assert engine.outcome is not None
    assert engine.outcome.status == "Completed", engine.outcome
