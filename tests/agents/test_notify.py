"""A run that ends is told to its session once, and answered once."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.agents.fakes import OWNER, ScriptedModels, calls, says
from workflow_runtime.agents.sessions import Record
from workflow_runtime.service import Owner

STATUS = calls("get_workflow_status", {"workflow_id": "w1"})


@pytest.fixture
def ended(workflows):
    workflows.status_of["w1"] = "Completed"
    return workflows


def records(tmp_path: Path) -> list[dict]:
    (path,) = (tmp_path / "sessions").glob("*.jsonl")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


async def test_the_skill_reads_the_result_and_answers(make_chat, ended, tmp_path):
    models = ScriptedModels(STATUS, says("Checkout had 412 errors."))
    chat = make_chat(models)
    await chat.notify(OWNER, "w1", workflows=ended)
    notification, answer = records(tmp_path)
    assert notification["kind"] == "notification"
    assert notification["text"].count("<workflow-notification>") == 1
    assert '"workflow_id":"w1"' in notification["text"]
    assert '"status":"Completed"' in notification["text"]
    assert '"completed":3' in notification["text"]
    assert (answer["kind"], answer["text"]) == ("assistant", "Checkout had 412 errors.")
    assert json.loads(models.requests[-1].messages[-1].results[0])["output"] == {"errors": 412}
    history = await chat.history(OWNER)
    assert [m["text"] for m in history["messages"]] == ["Checkout had 412 errors."]


@pytest.mark.parametrize("status", ["Failed", "Canceled", "CompletedWithErrors", "Terminated"])
async def test_a_run_that_did_not_complete_tells_its_counts_and_what_is_kept(
    make_chat, ended, tmp_path, status
):
    ended.status_of["w1"] = status
    await make_chat(ScriptedModels(STATUS, says("Noted."))).notify(OWNER, "w1", workflows=ended)
    text = records(tmp_path)[0]["text"]
    assert '"total":3,"completed":3,"failed":0' in text
    assert "What its finished tasks gave is kept" in text
    assert "rejected" not in text


async def test_a_completed_run_says_nothing_of_what_is_kept(make_chat, ended, tmp_path):
    await make_chat(ScriptedModels(STATUS, says("Noted."))).notify(OWNER, "w1", workflows=ended)
    assert "is kept" not in records(tmp_path)[0]["text"]


async def test_a_rejected_call_is_not_to_be_tried_again(make_chat, ended, tmp_path):
    ended.status_of["w1"] = "Failed"
    ended.error = {"code": "rejected", "message": "rejected by ana"}
    await make_chat(ScriptedModels(STATUS, says("Noted."))).notify(OWNER, "w1", workflows=ended)
    assert "do not call it again unless the user asks" in records(tmp_path)[0]["text"]


async def test_each_line_of_the_log_names_the_run_and_the_turn(make_chat, ended, caplog):
    def breaks(_request):
        message = "no network"
        raise RuntimeError(message)

    await make_chat(ScriptedModels(breaks)).notify(OWNER, "w1", workflows=ended)
    ours = [r for r in caplog.records if r.name.startswith("workflow_runtime.")]
    assert ours
    assert {r.workflow_id for r in ours} == {"w1"}
    assert len({r.correlation_id for r in ours}) == 1


async def test_telling_it_twice_changes_nothing(make_chat, ended, tmp_path):
    models = ScriptedModels(STATUS, says("Done."))
    chat = make_chat(models)
    await chat.notify(OWNER, "w1", workflows=ended)
    before, asked = records(tmp_path), len(models.requests)
    await chat.notify(OWNER, "w1", workflows=ended)
    assert records(tmp_path) == before
    assert len(models.requests) == asked


async def test_a_notification_without_an_answer_is_answered_and_not_repeated(
    make_chat, ended, tmp_path
):
    chat = make_chat(ScriptedModels(STATUS, says("Done.")))
    left = Record(kind="notification", text="told", at="2026-05-04T14:00:00Z", workflow_id="w1")
    await chat._sessions.append(OWNER, left)
    await chat.notify(OWNER, "w1", workflows=ended)
    assert [r["kind"] for r in records(tmp_path)] == ["notification", "assistant"]


async def test_a_notification_that_is_answered_late_is_what_the_model_reads_last(
    make_chat, ended, tmp_path
):
    models = ScriptedModels(says("Hello."), says("It is done."))
    chat = make_chat(models)
    left = Record(kind="notification", text="told", at="2026-05-04T14:00:00Z", workflow_id="w1")
    await chat._sessions.append(OWNER, left)
    _ = [e async for e in chat.stream(OWNER, "hello?", context=None, workflows=ended)]
    await chat.notify(OWNER, "w1", workflows=ended)
    assert models.requests[-1].messages[-1].text == "told"
    kinds = [r["kind"] for r in records(tmp_path)]
    assert kinds == ["notification", "user", "assistant", "assistant"]


async def test_a_run_that_ends_in_a_long_turn_is_told_when_that_is_over(
    make_chat, ended, tmp_path, monkeypatch
):
    monkeypatch.setattr("workflow_runtime.agents.chat._PATIENCE", 0.05)
    gate = asyncio.Event()

    async def list_(*_args, **_kwargs):
        await gate.wait()
        return []

    ended.list = list_
    models = ScriptedModels(calls("list_workflows", {}), says("There."), says("It is done."))
    chat = make_chat(models)
    turn = chat.stream(OWNER, "what is there?", context=None, workflows=ended)
    await anext(turn)
    assert not await chat.notify(OWNER, "w1", workflows=ended)
    gate.set()
    _ = [event async for event in turn]
    assert await chat.notify(OWNER, "w1", workflows=ended)
    assert records(tmp_path)[-1]["text"] == "It is done."


async def test_two_runs_are_answered_each(make_chat, ended, tmp_path):
    ended.status_of["w2"] = "Failed"
    chat = make_chat(ScriptedModels(says("Noted.")))
    await chat.notify(OWNER, "w1", workflows=ended)
    await chat.notify(OWNER, "w2", workflows=ended)
    kept = [(r["kind"], r["workflow_id"]) for r in records(tmp_path)]
    assert kept == [
        ("notification", "w1"),
        ("assistant", "w1"),
        ("notification", "w2"),
        ("assistant", "w2"),
    ]


async def test_when_the_model_fails_the_user_is_told_in_a_plain_sentence(
    make_chat, ended, tmp_path
):
    def breaks(_request):
        message = "no network"
        raise RuntimeError(message)

    chat = make_chat(ScriptedModels(breaks))
    await chat.notify(OWNER, "w1", workflows=ended)
    (message,) = (await chat.history(OWNER))["messages"]
    assert "Checkout triage" in message["text"]
    assert "Completed" in message["text"]
    assert message["error"] == "model_failed"


async def test_a_skill_that_is_gone_ends_it_quietly(make_chat, ended, tmp_path, caplog):
    chat = make_chat(ScriptedModels(says("Hello.")))
    owner = Owner(principal="", skill="gone", session="s1")
    await chat.notify(owner, "w1", workflows=ended)
    assert not (tmp_path / "sessions").exists()
    assert "'gone' is gone" in caplog.text


async def test_a_run_that_is_gone_ends_it_quietly(make_chat, workflows, tmp_path, caplog):
    chat = make_chat(ScriptedModels(says("Hello.")))
    await chat.notify(OWNER, "w9", workflows=workflows)
    assert not (tmp_path / "sessions").exists()
    assert "w9" in caplog.text
