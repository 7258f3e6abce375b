"""Approvals through the whole app: local host, task hub, HTTP and a real model client."""

from __future__ import annotations

import asyncio
import json
import textwrap
from collections import Counter
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.agents.fakes import write_app
from tests.fake_openai import FakeOpenAI, Reply, Script, fake_openai
from tests.hosts.conftest import local_host
from workflow_runtime.app import owner_keys
from workflow_runtime.errors import ConflictError
from workflow_runtime.hosts.activities import Attempts
from workflow_runtime.service import WorkflowService

HEADERS = {"x-ms-session-id": "one"}
CLEANER = """
    ---
    name: Cleaner
    description: Removes customers.
    ---
    You remove customers.
    """
DESK = """
    ---
    name: Desk
    description: Serves customers.
    endpoints: {chat: true}
    workflows: {enabled: true, subagents: [{agent: cleaner}]}
    ---
    You serve customers.
    """
PLAIN = DESK.replace("workflows: {enabled: true, subagents: [{agent: cleaner}]}", "timeout: 60")
TOOL = """
    from pathlib import Path

    from workflow_runtime import task_context, tool

    CALLS = Path(__file__).with_name("calls.txt")

    def note(call):
        with CALLS.open("a") as calls:
            calls.write(f"{call}\\n")

    @tool(approval="always", side_effects="once")
    def delete_customer(id: int) -> dict[str, int]:
        "Delete a customer."
        note(id)
        return {"deleted": id}

    @tool(side_effects="once")
    def send_farewell(id: int) -> None:
        "Send the last mail."
        note(f"mail-{id}")

    @tool(side_effects="idempotent")
    def refund(cents: int) -> None:
        "Pay back."
        note(f"{task_context().idempotency_key}/{cents}")
    """
CALL = Reply(calls=(("delete_customer", '{"id": 1}'),))
PLAN = {
    "name": "Clean up",
    "tasks": [{"id": "clean", "type": "sub_agent", "agent": "cleaner", "task": "Remove 1."}],
}
START = Reply(calls=(("start_workflow", json.dumps(PLAN)),))


def two_models(desk: list[Reply], cleaner: list[Reply]) -> Script:
    """Answer the desk and the cleaner, who may ask at the same time, each by its own script."""

    def reply(request: dict[str, Any]) -> Reply:
        is_cleaner = "remove customers" in request["messages"][0]["content"]
        return (cleaner if is_cleaner else desk).pop(0)

    return reply


def of_cleaner(server: FakeOpenAI) -> list[dict[str, Any]]:
    """Return what the cleaner's model was asked."""
    return [r for r in server.requests if "remove customers" in r["messages"][0]["content"]]


@pytest.fixture
def root(tmp_path):
    """An app with a tool that counts its calls in a file."""
    path = write_app(tmp_path / "app", cleaner=CLEANER, desk=DESK, plain=PLAIN)
    (path / "skills" / "tools").mkdir()
    (path / "skills" / "tools" / "customers.py").write_text(textwrap.dedent(TOOL))
    return path


class Scene:
    """A running app: say something, see what waits, answer it as a person."""

    def __init__(self, running: Any, service: WorkflowService, root: Any) -> None:
        self.http, self._service, self._root = running.http, service, root

    async def say(self, skill: str = "desk") -> dict[str, Any]:
        answered = await self.http.post(
            f"/skills/{skill}/chat", json={"message": "remove customer 1"}, headers=HEADERS
        )
        assert answered.status_code == 200, answered.text
        answer: dict[str, Any] = answered.json()
        return answer

    def calls(self) -> list[str]:
        path = self._root / "skills" / "tools" / "calls.txt"
        return path.read_text().split() if path.exists() else []

    async def waiting(self, run: str) -> dict[str, Any]:
        """Return the question once the run asks it."""
        while True:
            envelope = await self._service.read(await self._service.find(run))
            asked: Any = envelope["waiting_for"]
            if asked:
                (question,) = asked
                return dict(question)
            await asyncio.sleep(0.05)

    async def answer(self, run: str, question: dict[str, Any], *, approved: bool) -> None:
        await self._service.approve_instance(
            await self._service.find(run),
            question["task"],
            approved=approved,
            digest=question["digest"],
            by="ana",
        )

    async def ended(self, run: str) -> dict[str, Any]:
        while True:
            envelope = await self._service.read(await self._service.find(run))
            if envelope["status"] in {"Completed", "Failed"}:
                return envelope
            await asyncio.sleep(0.05)

    async def last_words(self, words: str, skill: str = "desk") -> None:
        while True:
            history = await self.http.get(f"/skills/{skill}/history", headers=HEADERS)
            if words in history.json()["messages"][-1]["text"]:
                return
            await asyncio.sleep(0.05)


@pytest.fixture
def playing(app_with, root, tmp_path):
    """Run the app against a script of the model's."""

    @asynccontextmanager
    async def play(*script: Script):
        with fake_openai(script) as server:
            app = app_with(server, root)
            async with local_host(app, directory=tmp_path / "hub") as running:
                (parts,) = app_with.parts
                service = WorkflowService(
                    hub=running.hub,
                    catalog=parts.catalog,
                    owner_keys=owner_keys(parts.settings),
                    clock=lambda: datetime.now(UTC),
                )
                yield Scene(running, service, root), server

    return play


async def test_a_chats_call_waits_for_a_person_and_is_made_once(playing):
    script = (CALL, Reply(text="A person is asked."), Reply(text="Customer 1 is gone."))
    async with playing(*script) as (scene, server):
        answered = await scene.say()
        ((run,),) = [[w["workflow_id"] for w in answered["workflows"]]]
        told = json.loads(server.requests[1]["messages"][-1]["content"])
        assert (told["status"], told["workflow_id"]) == ("waiting_for_approval", run)
        question = await scene.waiting(run)
        assert (question["tool"], question["args"]) == ("delete_customer", {"id": 1})
        assert scene.calls() == []
        with pytest.raises(ConflictError):
            await scene.answer(run, {**question, "digest": "other"}, approved=True)
        await scene.answer(run, question, approved=True)
        envelope = await scene.ended(run)
        with pytest.raises(ConflictError):
            await scene.answer(run, question, approved=True)
        await scene.last_words("Customer 1 is gone.")
    assert envelope["output"] == {"deleted": 1}
    assert scene.calls() == ["1"]


async def test_a_rejected_call_of_a_chat_is_not_made(playing):
    script = (CALL, Reply(text="A person is asked."), Reply(text="It was rejected."))
    async with playing(*script) as (scene, _server):
        run = (await scene.say())["workflows"][0]["workflow_id"]
        await scene.answer(run, await scene.waiting(run), approved=False)
        envelope = await scene.ended(run)
        await scene.last_words("It was rejected.")
    assert envelope["status"] == "Failed"
    assert envelope["error"]["code"] == "rejected"
    assert scene.calls() == []


@pytest.mark.parametrize("skill", ["desk", "plain"])
async def test_a_rejected_call_that_is_run_again_asks_again(playing, skill):
    script = (CALL, *(Reply(text="Well.") for _ in range(3)))
    async with playing(*script) as (scene, _):
        ((run,),) = [[w["workflow_id"] for w in (await scene.say(skill))["workflows"]]]
        await scene.answer(run, await scene.waiting(run), approved=False)
        await scene.ended(run)
        again = await scene.http.post(f"/skills/{skill}/workflows/{run}/rerun", headers=HEADERS)
        second = again.json()["workflow_id"]
        question = await scene.waiting(second)
        assert (question["tool"], scene.calls()) == ("delete_customer", [])
        await scene.answer(second, question, approved=True)
        assert (await scene.ended(second))["status"] == "Completed"
        assert scene.calls() == ["1"]


async def test_a_skill_without_workflows_is_told_what_its_call_gave(playing):
    script = (CALL, Reply(text="A person is asked."), Reply(text="Customer 1 is gone."))
    async with playing(*script) as (scene, server):
        run = (await scene.say("plain"))["workflows"][0]["workflow_id"]
        await scene.answer(run, await scene.waiting(run), approved=True)
        await scene.last_words("Customer 1 is gone.", "plain")
    assert '"output":{"deleted":1}' in server.requests[-1]["messages"][-1]["content"]
    assert scene.calls() == ["1"]


async def test_a_specialists_call_waits_without_the_model_and_goes_on_with_the_answer(playing):
    desk = [START, Reply(text="Started."), Reply(text="All done.")]
    async with playing(two_models(desk, [CALL, Reply(text="Gone.")])) as (scene, server):
        run = (await scene.say())["workflows"][0]["workflow_id"]
        question = await scene.waiting(run)
        assert (question["task"], question["tool"]) == ("clean", "delete_customer")
        assert question["args"] == {"id": 1}
        assert scene.calls() == []
        assert len(of_cleaner(server)) == 1
        await scene.answer(run, question, approved=True)
        envelope = await scene.ended(run)
        await scene.last_words("All done.")
    assert envelope["status"] == "Completed"
    assert envelope["output"] == {"clean": "Gone."}
    assert scene.calls() == ["1"]
    resumed = of_cleaner(server)[1]["messages"]
    assert [m["role"] for m in resumed] == ["system", "user", "assistant", "tool"]
    assert json.loads(resumed[-1]["content"]) == {"deleted": 1}


async def test_a_rejected_call_of_a_specialist_is_not_made(playing):
    desk = [START, Reply(text="Started."), Reply(text="It was rejected.")]
    async with playing(two_models(desk, [CALL])) as (scene, server):
        run = (await scene.say())["workflows"][0]["workflow_id"]
        await scene.answer(run, await scene.waiting(run), approved=False)
        envelope = await scene.ended(run)
        await scene.last_words("It was rejected.")
    assert envelope["status"] == "Failed"
    assert envelope["error"]["code"] == "rejected"
    assert scene.calls() == []
    assert len(of_cleaner(server)) == 1


@pytest.fixture
def every_attempt_is_delivered_twice(monkeypatch):
    """Carry each attempt out and lose its answer, as where a worker dies right after it."""
    run = Attempts.run

    async def run_twice(self: Attempts, payload: str, service: WorkflowService) -> str:
        await run(self, payload, service)
        return await run(self, payload, service)

    monkeypatch.setattr(Attempts, "run", run_twice)


@pytest.mark.usefixtures("every_attempt_is_delivered_twice")
async def test_a_redelivered_specialist_has_one_effect_per_key_and_acts_once(playing):
    refund = ("refund", '{"cents": 500}')
    work = Reply(calls=(refund, refund, ("send_farewell", '{"id": 1}')))
    goes_on = [Reply(calls=(refund,)), Reply(text="Gone.")]
    cleaner = [work, CALL, work, CALL, *goes_on, *goes_on]
    desk = [START, Reply(text="Started."), Reply(text="All done.")]
    async with playing(two_models(desk, cleaner)) as (scene, server):
        run = (await scene.say())["workflows"][0]["workflow_id"]
        await scene.answer(run, await scene.waiting(run), approved=True)
        envelope = await scene.ended(run)
        await scene.last_words("All done.")
    assert envelope["output"] == {"clean": "Gone."}
    assert cleaner == []
    refunds = Counter(call for call in scene.calls() if call.endswith("/500"))
    assert list(refunds.values()) == [2, 2, 2]  # three calls, each with its key in both deliveries
    assert [call for call in scene.calls() if call not in refunds] == ["mail-1", "1"]
    again = of_cleaner(server)[-2]["messages"]
    approved = next(m for m in reversed(again) if m["role"] == "tool")
    assert json.loads(approved["content"])["error"] == "outcome_unknown"
