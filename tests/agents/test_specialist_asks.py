"""A specialist's tool for which a person is asked: the step waits, and goes on with the answer."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.agents.fakes import NOW, ScriptedModels, calls, says
from workflow_runtime.agents import transcript as transcripts
from workflow_runtime.agents.demo import DemoCall, DemoReply
from workflow_runtime.agents.sub_agents import AgentExecutor
from workflow_runtime.engine import Answered, Run, RunAgent
from workflow_runtime.execution import AttemptRequest, CancelSignals, Tool, ToolPool, carry_out
from workflow_runtime.hosts.simulation import simulate_run
from workflow_runtime.plan.encoding import dumps, loads
from workflow_runtime.plan.grants import Limits
from workflow_runtime.plan.model import read_plan
from workflow_runtime.plan.policies import WorkPolicy
from workflow_runtime.service import attempt_ended
from workflow_runtime.skills import Catalog, Skill

PLAN = {
    "name": "Clean up",
    "tasks": [{"id": "clean", "type": "sub_agent", "agent": "cleaner", "task": "Remove it."}],
    "output": "${clean.result}",
}
SCHEMA = {
    "type": "object",
    "properties": {"id": {"type": "integer"}},
    "required": ["id"],
    "additionalProperties": False,
}
DELETE = ("delete_customer", {"id": 1})


@dataclass
class Scene:
    """A specialist with a tool that asks and one that does not, in a run of one step."""

    pool: Any
    models: ScriptedModels
    deleted: list[int] = field(default_factory=list)
    read: list[int] = field(default_factory=list)
    asks: list[dict[str, Any]] = field(default_factory=list)
    decisions: list[Any] = field(default_factory=list)
    answer_of: Any = None

    def __post_init__(self) -> None:
        self.run = Run(read_plan(PLAN), Limits())
        ask = WorkPolicy(approval=True)
        self.tools = {
            "delete_customer": Tool(
                name="delete_customer", arguments=SCHEMA, policy=ask, call=self._delete
            ),
            "read_customer": Tool(name="read_customer", arguments=SCHEMA, call=self._read),
        }

    def _delete(self, arguments: dict[str, Any]) -> Any:
        self.deleted.append(arguments["id"])
        return {"deleted": arguments["id"]}

    def _read(self, arguments: dict[str, Any]) -> Any:
        self.read.append(arguments["id"])
        return {"name": "Ana"}

    async def carry(self, command, _now):
        """Carry an attempt out as a host does, through JSON."""
        assert isinstance(command, RunAgent)
        self.decisions.append(command.decision)
        request = AttemptRequest(
            workflow_id="w1",
            task_id=command.step,
            attempt=command.attempt,
            kind="sub_agent",
            target=command.agent,
            payload=command.task,
            idempotency_key=command.key,
            decision=loads(dumps(command.decision)),
        )
        path = Path("cleaner.agent.md")
        skill = Skill(slug="cleaner", name="C", description="d", instructions="Clean.", path=path)
        catalog = Catalog(skills={"cleaner": skill}, chat_tools=self.tools)
        outcome = await carry_out(
            request,
            tools={},
            agents=AgentExecutor(catalog=catalog, models=self.models, pool=self.pool),
            pool=self.pool,
            signals=CancelSignals(),
            markers=None,  # type: ignore[arg-type]  # sub-agents have none
        )
        if "ask" in outcome:
            self.asks.append(outcome["ask"])
        return attempt_ended(command.step, dumps(outcome)), timedelta(0)

    def respond(self, _now):
        """Answer each question once, as ``answer_of`` says; a number of answers, none for None."""
        for step in self.run.waiting:
            if step.question is not None and self.answer_of is not None:
                approved = self.answer_of(step.question)
                yield (
                    timedelta(minutes=1),
                    Answered(
                        id=f"a{len(self.asks)}",
                        step=step.id,
                        digest=step.question.digest,
                        approved=approved,
                        by="ana",
                        comment="",
                        at="2026-05-04T14:31:00Z",
                    ),
                )

    async def play(self):
        await simulate_run(self.run, self.carry, start=NOW, respond=self.respond)
        return self.run.outcome


@pytest.fixture
def scene(pool):
    def make(*replies, approve: bool | None = None) -> Scene:
        scene = Scene(pool=pool, models=ScriptedModels(*replies))
        if approve is not None:
            scene.answer_of = lambda _question: approve
        return scene

    return make


def several(*named: tuple[str, dict[str, Any]]) -> DemoReply:
    return DemoReply(calls=tuple(DemoCall(name, dumps(args)) for name, args in named))


def _command(decision: Any) -> RunAgent:
    return RunAgent(
        step="clean",
        attempt=1,
        agent="cleaner",
        task="Remove it.",
        scope="run",
        identity=("cleaner", "Remove it."),
        decision=decision,
    )


def results(scene: Scene, request: int) -> list[str]:
    return [text for m in scene.models.requests[request].messages for text in m.results]


async def test_an_approved_call_is_made_once_and_the_specialist_goes_on(scene):
    played = scene(calls(*DELETE), says("It is gone."), approve=True)
    outcome = await played.play()
    assert outcome.status == "Completed"
    assert outcome.output == "It is gone."
    assert played.deleted == [1]
    (ask,) = played.asks
    assert (ask["tool"], ask["args"]) == DELETE
    assert json.loads(results(played, 1)[0]) == {"deleted": 1}
    first, second = played.models.requests
    assert [m.role for m in second.messages] == ["user", "assistant", "tool"]
    assert first.instructions == second.instructions == "Clean."
    assert second.messages[1].calls[0].name == "delete_customer"
    assert played.run.usage.agent_runs == 1


async def test_nothing_is_called_before_the_answer_and_nobody_answers_until_the_deadline(scene):
    played = scene(calls(*DELETE), says("It is gone."))
    outcome = await played.play()
    assert outcome.status == "Failed"
    assert outcome.error.code == "approval_timed_out"
    assert played.deleted == []
    assert len(played.models.requests) == 1


async def test_a_rejected_call_is_not_made_and_the_step_fails(scene):
    played = scene(calls(*DELETE), says("It is gone."), approve=False)
    outcome = await played.play()
    assert outcome.error.code == "rejected"
    assert played.deleted == []
    assert len(played.models.requests) == 1


async def test_a_person_is_shown_the_tool_and_its_arguments(scene):
    shown: list[Any] = []

    def approve(question):
        shown.append(question)
        return True

    played = scene(calls(*DELETE), says("It is gone."))
    played.answer_of = approve
    await played.play()
    (question,) = shown
    assert (question.tool, question.args) == DELETE


async def test_of_several_calls_the_first_is_asked_about_and_none_is_made_unapproved(scene):
    one = several(DELETE, ("read_customer", {"id": 1}), ("delete_customer", {"id": 2}))
    played = scene(one, calls("delete_customer", {"id": 2}), says("Both are gone."), approve=True)
    outcome = await played.play()
    assert outcome.status == "Completed"
    assert played.deleted == [1, 2]
    assert [ask["args"] for ask in played.asks] == [{"id": 1}, {"id": 2}]
    assert played.read == [1]
    deleted, read, put_off = map(json.loads, results(played, 1))
    assert (deleted, read) == ({"deleted": 1}, {"name": "Ana"})
    assert put_off["error"] == "not_called"
    assert "Call it again" in put_off["message"]


async def test_the_same_call_again_needs_another_answer(scene):
    played = scene(calls(*DELETE), calls(*DELETE), says("Twice."), approve=True)
    await played.play()
    assert len(played.asks) == 2
    assert played.deleted == [1, 1]


async def test_arguments_that_the_tool_does_not_take_are_not_asked_about(scene):
    wrong = calls("delete_customer", {"id": "one"})
    played = scene(wrong, says("I could not."), approve=True)
    outcome = await played.play()
    assert outcome.status == "Completed"
    assert played.asks == []
    assert json.loads(results(played, 1)[0])["error"] == "invalid_arguments"


async def test_what_was_said_and_called_before_is_told_again(scene):
    look = DemoReply(text="Let me look.", calls=(DemoCall("read_customer", '{"id": 1}'),))
    played = scene(look, calls(*DELETE), says("Gone."), approve=True)
    await played.play()
    told = played.models.requests[-1].messages
    assert [m.text for m in told if m.text] == ["Remove it.", "Let me look."]
    assert [call.name for m in told for call in m.calls] == ["read_customer", "delete_customer"]
    assert played.read == [1]
    kept = played.decisions[-1]["transcript"]
    assert "pending " not in dumps(kept)
    assert "Clean." not in dumps(kept)


async def test_a_conversation_that_is_too_long_fails_the_attempt_and_says_why(scene, monkeypatch):
    monkeypatch.setattr(transcripts, "MAX_BYTES", 100)
    played = scene(calls(*DELETE), says("Gone."), approve=True)
    outcome = await played.play()
    assert outcome.status == "Failed"
    assert "conversation" in outcome.error.message
    assert "shorter task" in outcome.error.message
    assert played.deleted == []


async def test_a_tool_that_is_gone_after_the_answer_is_told_to_the_model(scene):
    played = scene(calls(*DELETE), says("I could not."))

    def approve_and_remove(_question):
        del played.tools["delete_customer"]
        return True

    played.answer_of = approve_and_remove
    outcome = await played.play()
    assert outcome.status == "Completed"
    assert json.loads(results(played, 1)[0])["error"] == "tool_missing"
    assert played.deleted == []


async def test_a_specialist_that_is_told_of_a_rejection_does_not_call(scene):
    played = scene(calls(*DELETE), says("I leave it."))
    await played.carry(_command(None), NOW)
    decision = {
        "transcript": played.asks[0]["transcript"],
        "approved": False,
        "comment": "keep her",
        "tool": "delete_customer",
        "args": {"id": 1},
    }
    event, _ = await played.carry(_command(decision), NOW)
    assert event.value["text"] == "I leave it."
    told = json.loads(results(played, 1)[0])
    assert told["error"] == "rejected"
    assert "keep her" in told["message"]
    assert played.deleted == []


async def test_a_transcript_that_cannot_be_read_is_a_clear_failure(scene):
    played = scene(says("Gone."))
    decision = {"transcript": {"entries": []}, "approved": True, "tool": "x", "args": {}}
    event, _ = await played.carry(_command(decision), NOW)
    assert "cannot be read any more" in event.failure.message


ANSWERS = st.lists(
    st.tuples(st.sampled_from(["delete_customer", "read_customer"]), st.integers(1, 2)),
    min_size=1,
    max_size=4,
)


@settings(max_examples=60, deadline=None)
@given(script=st.lists(ANSWERS, max_size=4), verdicts=st.lists(st.booleans(), max_size=6))
def test_whatever_a_model_calls_only_what_was_approved_is_made_and_once(script, verdicts):
    pool = ToolPool(2)
    turns = [several(*((name, {"id": n}) for name, n in each)) for each in script]
    played = Scene(pool=pool, models=ScriptedModels(*turns, says("Over.")))
    approved: list[int] = []
    left = list(verdicts)

    def answer(question):
        verdict = left.pop(0) if left else True
        approved.extend([question.args["id"]] if verdict else [])
        return verdict

    played.answer_of = answer
    outcome = asyncio.run(played.play())
    pool.close()
    assert played.deleted == approved
    assert outcome.status == ("Failed" if False in verdicts[: len(played.asks)] else "Completed")
