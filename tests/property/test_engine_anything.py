"""
Whatever happens to a run, in whatever order: what holds.

One machine drives one run: attempts end well or badly, sub-agents ask, people answer rightly,
wrongly and twice, events come early and again, time passes, somebody cancels. At the end the run
is brought to its outcome, replayed, and run again.
"""

from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import count

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from tests.engine_strategies import EVENT_NAMES, POLICIES, limits, plans, results
from workflow_runtime.engine import (
    Answered,
    Asked,
    CallTool,
    CancelRequested,
    EventArrived,
    Failed,
    Failure,
    Run,
    RunAgent,
    Started,
    Status,
    Succeeded,
    reusable,
)
from workflow_runtime.engine.retrying import DEFAULT_RETRY, policy_of
from workflow_runtime.engine.state import FINAL
from workflow_runtime.plan.graph import dependencies
from workflow_runtime.plan.model import AgentTask, read_plan

START_TIME = datetime(2026, 1, 1, tzinfo=UTC)
MOST_TURNS = 2_000
FAILURES = (
    Failure(code="failed", message="no", kind="unknown"),
    Failure(code="busy", message="busy", kind="retryable"),
    Failure(code="busy", message="busy", kind="retryable", retry_after=90.0),
    Failure(code="invalid", message="never", kind="terminal"),
    Failure(code="canceled", message="stopped", kind="terminal"),
)


class AnyRun(RuleBasedStateMachine):
    @initialize(source=plans(), limit=limits)
    def begin(self, source, limit):
        self.plan = read_plan(source)
        self.limits = limit
        ids = frozenset(task.id for task in self.plan.tasks)
        self.needs = {task.id: dependencies(task, ids) for task in self.plan.tasks}
        self.run = self.new_run()
        self.now = START_TIME
        self.ids = count()
        self.turns = []
        self.open = {}
        self.stopped = False
        self.approved = {}
        self.decisions = {}
        self.questions = {}
        self.answers = []
        self.done = {}
        self.calls = Counter()
        self.turn(Started())

    def new_run(self, reuse=None):
        return Run(self.plan, self.limits, POLICIES, scope="drawn", reuse=reuse)

    # -- one turn, and what must hold of the commands it gives --------------------------------

    def turn(self, *events, after=timedelta()):
        self.now += after
        stops = self.stopped or any(isinstance(one, CancelRequested) for one in events)
        commands = self.run.handle(events, self.now)
        self.turns.append((events, self.now, commands))
        assert not (stops and commands)
        for command in commands:
            self.check_command(command)
            self.open[command.step] = command
        self.look_at_questions()
        self.stopped = stops or self.run.is_stopping
        if self.run.outcome is not None:
            self.open.clear()

    def check_command(self, command):
        assert command.step not in self.open
        state = self.run.steps[command.step][0]
        assert all(self.run.tasks[need].status in FINAL for need in self.needs[state.id])
        policy = policy_of(state) or DEFAULT_RETRY
        assert command.attempt <= policy.max_attempts
        goes_on = isinstance(command, RunAgent) and command.decision is not None
        self.calls[command.step] += not goes_on
        assert command.attempt == self.calls[command.step]
        if state.policy.side_effects == "once":
            assert command.attempt == 1
        if goes_on:
            decision = self.decisions.pop(command.step)
            assert (decision.tool, decision.args) == (
                command.decision["tool"],
                command.decision["args"],
            )
        if isinstance(command, CallTool) and state.policy.approval:
            assert self.approved[command.step] == command.args

    def look_at_questions(self):
        for step in self.run.waiting:
            if step.question is not None and self.questions.get(step.id) is not step.question:
                seen = {digest for _, digest in self.answers}
                assert step.question.digest not in seen, "an old answer would hold again"
                self.questions[step.id] = step.question

    # -- what can happen ----------------------------------------------------------------------

    def pick(self, place):
        return list(self.open.values())[place % len(self.open)]

    def ended(self, command, value):
        if isinstance(command, RunAgent):
            return Succeeded(command.step, {"agent": command.agent, "text": str(value)}, 5, 3)
        return Succeeded(command.step, value)

    @precondition(lambda self: self.open)
    @rule(place=st.integers(0, 20), value=results, seconds=st.integers(0, 30))
    def an_attempt_succeeds(self, place, value, seconds):
        command = self.pick(place)
        del self.open[command.step]
        self.turn(self.ended(command, value), after=timedelta(seconds=seconds))

    @precondition(lambda self: self.open)
    @rule(
        place=st.integers(0, 20),
        failure=st.sampled_from(FAILURES),
        times=st.integers(1, 6),
        together=st.booleans(),
    )
    def attempts_fail(self, place, failure, times, together):
        chosen = [self.pick(place + n) for n in range(min(times, len(self.open)))]
        chosen = list({one.step: one for one in chosen}.values())
        if together:
            for one in chosen:
                del self.open[one.step]
            self.turn(*(Failed(one.step, failure) for one in chosen))
            return
        for one in chosen:
            if one.step in self.open:
                del self.open[one.step]
                self.turn(Failed(one.step, failure))

    @precondition(lambda self: any(isinstance(one, RunAgent) for one in self.open.values()))
    @rule(place=st.integers(0, 20))
    def a_sub_agent_asks(self, place):
        agents = [one for one in self.open.values() if isinstance(one, RunAgent)]
        command = agents[place % len(agents)]
        del self.open[command.step]
        self.turn(Asked(step=command.step, tool="delete", args={"id": 1}, transcript=["…"]))

    @precondition(lambda self: any(step.question for step in self.run.waiting))
    @rule(place=st.integers(0, 20), approved=st.booleans(), twice=st.booleans())
    def a_person_answers(self, place, approved, twice):
        asking = [step for step in self.run.waiting if step.question]
        step = asking[place % len(asking)]
        question = step.question
        if approved and question.is_agents:
            self.decisions[step.id] = question
        elif approved:
            self.approved[step.id] = question.args
        self.answers.append((step.id, question.digest))
        event = self.answer(step.id, question.digest, approved=approved)
        self.turn(event, *([event] if twice else []))

    def answer(self, step, digest, *, approved):
        return Answered(
            id=f"a{next(self.ids)}",
            step=step,
            digest=digest,
            approved=approved,
            by="ann",
            comment="",
            at="2026-01-01T00:00:00Z",
        )

    @precondition(lambda self: any(step.question for step in self.run.waiting))
    @rule(place=st.integers(0, 20))
    def a_wrong_digest_changes_nothing(self, place):
        asking = [step for step in self.run.waiting if step.question]
        step = asking[place % len(asking)]
        before = step.question
        self.turn(self.answer(step.id, "0" * 32, approved=True))
        assert step.question is before

    @precondition(lambda self: self.answers)
    @rule(place=st.integers(0, 20), approved=st.booleans())
    def an_old_answer_changes_nothing(self, place, approved):
        step, digest = self.answers[place % len(self.answers)]
        before = self.counts(), list(self.run.waiting)
        self.turn(self.answer(step, digest, approved=approved))
        assert (self.counts(), list(self.run.waiting)) == before

    @rule(name=st.sampled_from(EVENT_NAMES), payload=results, number=st.integers(0, 5))
    def an_event_arrives(self, name, payload, number):
        self.turn(EventArrived(id=f"{name}-{number}", name=name, payload=payload))

    @precondition(lambda self: self.run.deadline is not None)
    @rule(seconds=st.sampled_from([0, 0, 0, 1, 3600, 40 * 86_400]))
    def the_deadline_passes(self, seconds):
        late = max(self.run.deadline - self.now, timedelta()) + timedelta(seconds=seconds)
        self.turn(after=late)

    @precondition(lambda self: self.run.outcome is None and len(self.turns) > 8)
    @rule()
    def somebody_cancels(self):
        self.turn(CancelRequested("enough"))

    @precondition(lambda self: self.run.outcome is not None)
    @rule(name=st.sampled_from(EVENT_NAMES))
    def late_events_change_nothing(self, name):
        before = self.run.outcome, self.counts()
        late = [Succeeded(step, 1) for step in self.run.steps]
        events = (*late, CancelRequested("late"), EventArrived(id="l", name=name, payload=1))
        assert self.run.handle(events, self.now + timedelta(days=99)) == ()
        assert (self.run.outcome, self.counts()) == before

    def counts(self):
        return self.run.counts.to_json()

    # -- what always holds --------------------------------------------------------------------

    @invariant()
    def it_is_never_stuck(self):
        if self.run.outcome is None:
            assert self.open or self.run.deadline is not None
            assert self.run.deadline is None or self.run.deadline > self.now

    @invariant()
    def no_more_run_at_once_than_may(self):
        running = [self.run.steps[step][0] for step in self.open]
        assert len(running) <= self.limits.max_parallelism
        for state in running:
            most = state.task.concurrency
            assert most is None or sum(one is state for one in running) <= most
            most = state.policy.concurrency
            assert most is None or sum(one.target == state.target for one in running) <= most
        if self.run.outcome is None:
            assert [step.id for step in self.run.running] == list(self.open)

    @invariant()
    def counts_add_up(self):
        counts = dict(self.counts())
        total = counts.pop("total")
        assert sum(counts.values()) == total
        assert min(counts.values()) >= 0
        steps = [step for state in self.run.tasks.values() for step in state.steps]
        unopened = sum(
            state.status in {Status.PENDING, Status.NOT_RUN} and not state.steps
            for state in self.run.tasks.values()
        )
        assert total == len(steps) + unopened
        for status in ("completed", "failed", "skipped"):
            assert counts[status] == sum(str(step.status) == status for step in steps), status

    @invariant()
    def finished_results_survive(self):
        for state in self.run.tasks.values():
            for step in state.steps:
                if step.status is Status.COMPLETED:
                    assert self.done.setdefault(step.id, step.result) == step.result
        steps = {step.id: step for state in self.run.tasks.values() for step in state.steps}
        assert all(steps[name].status is Status.COMPLETED for name in self.done)

    # -- how it ends --------------------------------------------------------------------------

    def teardown(self):
        if not hasattr(self, "run"):
            return
        self.bring_to_its_end()
        self.check_outcome()
        self.check_replay()
        self.check_rerun()

    def bring_to_its_end(self):
        for _ in range(MOST_TURNS):
            if self.run.outcome is not None:
                return
            if self.open:
                command = self.pick(0)
                del self.open[command.step]
                self.turn(self.ended(command, {"ok": True}))
            else:
                self.turn(after=max(self.run.deadline - self.now, timedelta()))
        raise AssertionError("the run does not end")

    def check_outcome(self):
        outcome = self.run.outcome
        assert self.run.deadline is None
        assert not list(self.run.waiting)
        states = self.run.tasks.values()
        assert all(state.status in FINAL for state in states)
        for state in states:
            bad = {Status.CANCELED, Status.OUTCOME_UNKNOWN, Status.NOT_RUN}
            if state.status is Status.COMPLETED:
                assert not bad & {step.status for step in state.steps}
        assert all(step.status in FINAL for state in states for step in state.steps)
        assert (outcome.error is None) == outcome.status.startswith("Completed")
        counts = self.counts()
        if outcome.status == "Completed":
            assert counts["completed"] + counts["skipped"] == counts["total"]
        if outcome.status.startswith("Completed"):
            return
        for state in states:
            if any(step.status is Status.COMPLETED for step in state.steps):
                assert outcome.output[state.id] == state.kept()

    def check_replay(self):
        again = self.new_run()
        for events, now, commands in self.turns:
            assert again.handle(events, now) == commands
        assert again.outcome == self.run.outcome
        assert again.usage == self.run.usage

    def check_rerun(self):
        """A run of the same plan calls nothing again that has a result for the same inputs."""
        reuse = reusable(self.run.tasks)
        again = self.new_run(reuse)
        commands, now = list(again.handle([Started()], START_TIME)), START_TIME
        for _ in range(MOST_TURNS):
            if again.outcome is not None:
                break
            if commands:
                command = commands.pop(0)
                self.check_nothing_was_left(again, command, reuse)
                commands += again.handle([self.ended(command, {"ok": True})], now)
            else:
                now = max(now, again.deadline)
                commands += again.handle([], now)
        assert again.outcome is not None
        for state in again.tasks.values():
            for step in state.steps:
                if step.is_reused:
                    assert step.result in reuse[f"{state.id}:{step.digest}"]
                    assert step.attempts == 0
                    assert not isinstance(state.task, AgentTask) or isinstance(step.result, str)

    def check_nothing_was_left(self, again, command, reuse):
        state, step = again.steps[command.step]
        policy = policy_of(state)
        is_first = command.attempt == 1 and not (policy and policy.until)
        used = sum(one.is_reused and one.digest == step.digest for one in state.steps)
        assert not is_first or used == len(reuse.get(f"{state.id}:{step.digest}", ()))


AnyRun.TestCase.settings = settings(max_examples=120, stateful_step_count=25)
TestAnyRun = AnyRun.TestCase
