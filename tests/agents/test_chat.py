"""A turn: what the listener is told, what is kept, what the model sees the next time."""

import asyncio
import json

import pytest

from tests.agents.fakes import OWNER, FakeWorkflows, ScriptedModels, calls, says
from workflow_runtime.agents.chat import Chat
from workflow_runtime.agents.events import (
    TextDelta,
    ToolEnded,
    ToolStarted,
    TurnDone,
    TurnFailed,
    WorkflowChanged,
)
from workflow_runtime.service import Owner

PLAN = {"name": "Checkout triage", "tasks": [{"id": "logs", "tool": "fetch_logs"}]}


async def talk(chat: Chat, message: str, workflows: FakeWorkflows, *, context=None, owner=OWNER):
    return [
        event async for event in chat.stream(owner, message, context=context, workflows=workflows)
    ]


async def test_an_answer_comes_in_pieces_and_is_stored_whole(make_chat, workflows):
    chat = make_chat(ScriptedModels(says("Checkout has been failing since two o'clock.")))
    events = await talk(chat, "what happened?", workflows)
    pieces = [event.text for event in events if isinstance(event, TextDelta)]
    assert len(pieces) > 2
    done = events[-1]
    assert isinstance(done, TurnDone)
    assert done.response == "".join(pieces) == "Checkout has been failing since two o'clock."
    history = await chat.history(OWNER)
    assert [(m["role"], m["text"]) for m in history["messages"]] == [
        ("user", "what happened?"),
        ("assistant", done.response),
    ]
    assert history["truncated"] is False


async def test_starting_a_workflow_is_told_in_order(make_chat, workflows):
    chat = make_chat(ScriptedModels(calls("start_workflow", PLAN), says("I have started it.")))
    events = await talk(chat, "look into checkout", workflows, context="5xx since 14:10")
    kinds = [type(event) for event in events if not isinstance(event, TextDelta)]
    assert kinds == [ToolStarted, WorkflowChanged, ToolEnded, TurnDone]
    done = events[-1]
    assert done.workflows == ({"workflow_id": "w1", "status": "Pending"},)
    assert done.tool_calls == ({"name": "start_workflow", "status": "ok"},)
    assert done.usage["output_tokens"] > 0
    assert workflows.started == [PLAN]
    assert workflows.contexts == ["5xx since 14:10"]


async def test_the_next_turn_sees_the_calls_and_answers_of_the_last(make_chat, workflows):
    models = ScriptedModels(calls("start_workflow", PLAN), says("Started."), says("It is w1."))
    chat = make_chat(models)
    await talk(chat, "look into checkout", workflows)
    await talk(chat, "which run is it?", workflows)
    seen = models.requests[-1].messages
    assert [m.role for m in seen] == ["user", "assistant", "tool", "assistant", "user"]
    assert json.loads(seen[1].calls[0].arguments) == PLAN
    assert json.loads(seen[2].results[0])["workflow_id"] == "w1"


async def test_a_skill_without_workflows_has_no_management_tools(make_chat, workflows):
    models = ScriptedModels(says("Hello."))
    chat = make_chat(models)
    owner = Owner(principal="", skill="writer", session="s")
    await talk(chat, "hello", workflows, owner=owner)
    assert models.requests[0].tools == ()
    assert "start_workflow" not in models.requests[0].instructions


async def test_the_users_text_is_stored_before_the_model_runs(make_chat, workflows, tmp_path):
    seen: list[str] = []

    def reply(_request):
        (path,) = (tmp_path / "sessions").iterdir()
        seen.extend(path.read_text(encoding="utf-8").splitlines())
        return says("Fine.")

    chat = make_chat(ScriptedModels(reply))
    await talk(chat, "are you there?", workflows)
    assert [json.loads(line)["text"] for line in seen] == ["are you there?"]


async def test_a_failed_turn_leaves_the_session_usable(make_chat, workflows):
    def breaks(_request):
        message = "the model fell over"
        raise RuntimeError(message)

    models = ScriptedModels(calls("start_workflow", PLAN), breaks, says("We are back."))
    chat = make_chat(models)
    failed = (await talk(chat, "look into checkout", workflows))[-1]
    assert isinstance(failed, TurnFailed)
    assert failed.code == "model_failed"
    assert "fell over" not in failed.message
    done = (await talk(chat, "and now?", workflows))[-1]
    assert isinstance(done, TurnDone)
    seen = models.requests[-1].messages
    assert sum(len(m.calls) for m in seen) == sum(len(m.results) for m in seen) == 1
    messages = (await chat.history(OWNER))["messages"]
    assert [m.get("error") for m in messages] == [None, "model_failed", None, None]


async def test_a_turn_that_takes_too_long_is_ended(make_chat, workflows):
    slow = """
        ---
        name: Slow
        description: Waits.
        timeout: 1
        workflows: {enabled: true}
        ---
        You wait.
        """
    chat = make_chat(ScriptedModels(calls("list_workflows", {})), slow=slow)
    never = asyncio.Event()

    async def hang(*_args, **_kwargs):
        await never.wait()

    workflows.list = hang
    owner = Owner(principal="", skill="slow", session="s")
    failed = (await talk(chat, "wait", workflows, owner=owner))[-1]
    assert isinstance(failed, TurnFailed)
    assert (failed.code, failed.status) == ("turn_timed_out", 504)
    assert "'timeout'" in failed.message


async def test_turns_of_one_session_run_one_after_the_other(make_chat, workflows):
    going = most = 0

    async def list_(*_args, **_kwargs):
        nonlocal going, most
        going += 1
        most = max(most, going)
        for _ in range(20):
            await asyncio.sleep(0)
        going -= 1
        return []

    workflows.list = list_

    def reply(request):
        return says("Done.") if request.messages[-1].results else calls("list_workflows", {})

    chat = make_chat(ScriptedModels(reply))
    await asyncio.gather(*(talk(chat, f"message {n}", workflows) for n in range(3)))
    assert most == 1
    roles = [m["role"] for m in (await chat.history(OWNER))["messages"]]
    assert roles == ["user", "assistant"] * 3


async def test_turns_of_two_sessions_run_beside_each_other(make_chat, workflows):
    both = asyncio.Barrier(2)

    async def list_(*_args, **_kwargs):
        await both.wait()
        return []

    workflows.list = list_

    def reply(request):
        return says("Done.") if request.messages[-1].results else calls("list_workflows", {})

    chat = make_chat(ScriptedModels(reply))
    other = Owner(principal="", skill="triage", session="s2")
    ended = await asyncio.gather(
        talk(chat, "one", workflows), talk(chat, "two", workflows, owner=other)
    )
    assert all(isinstance(events[-1], TurnDone) for events in ended)


async def test_a_listener_that_leaves_does_not_stop_the_turn(make_chat, workflows):
    chat = make_chat(ScriptedModels(says("A long answer that nobody waits for.")))
    events = chat.stream(OWNER, "hello", context=None, workflows=workflows)
    await anext(events)
    await events.aclose()
    await asyncio.gather(*chat._running)
    assert (await chat.history(OWNER))["messages"][-1]["text"].startswith("A long answer")


async def test_an_unknown_skill_is_a_404(make_chat, workflows):
    chat = make_chat(ScriptedModels(says("Hello.")))
    owner = Owner(principal="", skill="gone", session="s")
    failed = (await talk(chat, "hello", workflows, owner=owner))[-1]
    assert (failed.code, failed.status) == ("skill_not_found", 404)


async def test_a_lone_surrogate_in_a_message_harms_nothing(make_chat, workflows):
    chat = make_chat(ScriptedModels(says("Odd \ud800 text.")))
    done = (await talk(chat, "half \ud83d a pair", workflows))[-1]
    assert done.response == "Odd � text."
    assert (await chat.history(OWNER))["messages"][0]["text"] == "half � a pair"


async def test_history_is_bounded_and_says_so(make_chat, workflows, monkeypatch):
    monkeypatch.setattr("workflow_runtime.agents.chat.MAX_HISTORY", 4)
    chat = make_chat(ScriptedModels(says("Yes.")))
    for number in range(3):
        await talk(chat, f"message {number}", workflows)
    history = await chat.history(OWNER)
    assert history["truncated"] is True
    assert [m["text"] for m in history["messages"]] == ["message 1", "Yes.", "message 2", "Yes."]


async def test_a_tool_that_does_not_exist_is_answered_and_the_turn_goes_on(make_chat, workflows):
    chat = make_chat(ScriptedModels(calls("no_such_tool", {}), says("I have no such tool.")))
    events = await talk(chat, "try it", workflows)
    assert ToolEnded(name="no_such_tool", status="error") in events
    assert isinstance(events[-1], TurnDone)


@pytest.mark.parametrize("text", ["", "   "])
async def test_an_empty_answer_is_a_failure(make_chat, workflows, text):
    chat = make_chat(ScriptedModels(says(text)))
    failed = (await talk(chat, "hello", workflows))[-1]
    assert isinstance(failed, TurnFailed)
    assert failed.code == "model_failed"


async def test_a_turn_that_fails_names_the_id_that_its_lines_in_the_log_carry(
    make_chat, workflows, caplog, monkeypatch
):
    chat = make_chat(ScriptedModels(says("Hello.")))

    def breaks(_skill):
        message = "nobody saw this coming"
        raise RuntimeError(message)

    monkeypatch.setattr(chat, "_instructions", breaks)
    failed = (await talk(chat, "hello", workflows))[-1]
    assert isinstance(failed, TurnFailed)
    (line,) = [r for r in caplog.records if r.name.startswith("workflow_runtime.agents")]
    assert line.correlation_id in failed.message
    assert f"correlation_id={line.correlation_id}" in caplog.text
    assert "nobody saw" not in failed.message
