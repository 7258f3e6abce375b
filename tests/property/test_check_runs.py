"""A plan that check accepts does not fail for a reason that check could have seen."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.corpus.loading import NOW
from tests.strategies import LAB, answers, valid_plans
from workflow_runtime.engine import CallTool, Run, RunAgent, Started, Succeeded
from workflow_runtime.plan import Plan, check
from workflow_runtime.plan.validation import errors


def run(plan: Plan, draw) -> Run:
    """Carry a plan out, with results drawn from the tools' output schemas."""
    engine = Run(plan, LAB.limits)
    now = NOW
    commands = list(engine.handle([Started()], now))
    while engine.outcome is None:
        if not commands:
            assert engine.deadline is not None
            now = max(now, engine.deadline)
            commands = list(engine.handle([], now))
            continue
        command = commands.pop(0)
        now += timedelta(seconds=1)
        if isinstance(command, CallTool):
            grant = LAB.tools[command.tool]
            assert grant.arguments is None or not errors(grant.arguments, command.args, {})
            event = Succeeded(command.step, draw(answers(grant.output)))
        else:
            assert isinstance(command, RunAgent)
            event = Succeeded(command.step, {"agent": command.agent, "text": draw(st.text())})
        commands += engine.handle([event], now)
    return engine


@settings(max_examples=150)
@given(st.data())
def test_a_valid_plan_completes_whatever_the_tools_return(data):
    plan = data.draw(valid_plans())
    found = check(plan, LAB, NOW)
    assert found.plan is not None, [str(problem) for problem in found.problems]
    engine = run(found.plan, data.draw)
    assert engine.outcome is not None
    assert engine.outcome.status == "Completed", engine.outcome
