"""POST chat/stream over a real server: events as they happen, and turns that outlive readers."""

import asyncio
import json

import httpx
import pytest

from tests.web.fakes import FakeChat, app, served, skill
from workflow_runtime.agents.events import (
    TextDelta,
    ToolEnded,
    ToolStarted,
    TurnDone,
    TurnFailed,
    WorkflowChanged,
)
from workflow_runtime.web import Timings
from workflow_runtime.web.problems import Problem
from workflow_runtime.web.turns import MAX_PENDING_EVENTS, Turn, Turns


async def events_of(answer):
    """Give each event as (name, data), a comment as (None, text)."""
    name = None
    async for line in answer.aiter_lines():
        if line.startswith(":"):
            yield None, line
        elif line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield name, json.loads(line.removeprefix("data: "))


def streaming(client, base, **body):
    return client.stream("POST", f"{base}/skills/triage/chat/stream", json=body)


@pytest.fixture
async def client():
    async with httpx.AsyncClient() as made:
        yield made


async def test_a_turn_is_told_event_by_event_in_the_contracts_shapes(client):
    async def turn(_):
        yield TextDelta(text="Zwei\nZeilen \u2028 und Ende")
        yield ToolStarted(name="start_workflow")
        yield WorkflowChanged(envelope={"workflow_id": "w1", "status": "Running"})
        yield ToolEnded(name="start_workflow", status="ok")
        yield TurnDone(response="Fertig", workflows=({"workflow_id": "w1", "status": "Running"},))

    async with (
        served(app([skill()], chat=FakeChat(turn))) as base,
        streaming(client, base, message="los", session_id="s-1") as answer,
    ):
        events = [event async for event in events_of(answer)]

    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-ms-session-id"] == "s-1"
    assert events == [
        ("session", {"session_id": "s-1"}),
        ("delta", {"text": "Zwei\nZeilen \u2028 und Ende"}),
        ("tool_start", {"name": "start_workflow"}),
        ("workflow", {"workflow_id": "w1", "status": "Running"}),
        ("tool_end", {"name": "start_workflow", "status": "ok"}),
        (
            "done",
            {
                "session_id": "s-1",
                "response": "Fertig",
                "tool_calls": [],
                "workflows": [{"workflow_id": "w1", "status": "Running"}],
                "usage": {},
            },
        ),
    ]


async def test_a_piece_of_the_answer_arrives_before_the_next_one_is_made(client):
    heard = asyncio.Event()

    async def turn(_):
        yield TextDelta(text="first")
        await heard.wait()
        yield TurnDone(response="first")

    async with (
        served(app([skill()], chat=FakeChat(turn))) as base,
        streaming(client, base, message="go") as answer,
    ):
        events = events_of(answer)
        assert (await anext(events))[0] == "session"
        assert await anext(events) == ("delta", {"text": "first"})
        heard.set()
        assert (await anext(events))[0] == "done"


async def test_a_quiet_turn_sends_comments_so_that_no_proxy_hangs_up(client):
    release = asyncio.Event()

    async def turn(_):
        await release.wait()
        yield TurnDone(response="late")

    application = app([skill()], chat=FakeChat(turn), timings=Timings(heartbeat=0.01))
    async with served(application) as base, streaming(client, base, message="go") as answer:
        events = events_of(answer)
        assert (await anext(events))[0] == "session"
        assert (await anext(events))[0] is None
        assert (await anext(events))[0] is None
        release.set()
        assert "done" in [name async for name, _ in events]


async def test_a_reader_that_leaves_does_not_end_the_turn_and_the_answer_is_stored(client):
    gone = asyncio.Event()

    async def turn(_):
        yield TextDelta(text="par")
        await gone.wait()
        yield TextDelta(text="tial")
        yield TurnDone(response="partial")

    chat = FakeChat(turn)
    async with served(app([skill()], chat=chat)) as base:
        async with streaming(client, base, message="go", session_id="s") as answer:
            events = events_of(answer)
            await anext(events)
            await anext(events)
        gone.set()
        await chat.stored.wait()
        history = await client.get(
            f"{base}/skills/triage/history", headers={"x-ms-session-id": "s"}
        )

    assert [m["text"] for m in history.json()["messages"]] == ["go", "partial"]


async def test_a_failed_turn_ends_the_stream_with_one_problem(client):
    async def turn(_):
        yield TextDelta(text="I will")
        yield TurnFailed(code="model_rate_limited", message="The provider is busy.", status=429)

    async with (
        served(app([skill()], chat=FakeChat(turn))) as base,
        streaming(client, base, message="go") as answer,
    ):
        events = [event async for event in events_of(answer)]

    assert [name for name, _ in events] == ["session", "delta", "error"]
    assert events[-1][1]["code"] == "model_rate_limited"
    assert events[-1][1]["status"] == 429


async def test_a_wrong_request_is_a_plain_problem_and_no_stream(client):
    async with served(app([skill()])) as base:
        answer = await client.post(f"{base}/skills/triage/chat/stream", json={"message": ""})

    assert answer.status_code == 400
    assert answer.headers["content-type"] == "application/problem+json"


async def drained(turn):
    return [event async for event in turn.events(heartbeat=5)]


async def played(events, *, listened=True):
    async def source():
        for event in events:
            yield event

    turn = Turn(listened=listened)
    await turn.run(source())
    return turn


async def test_what_a_slow_reader_missed_is_merged():
    turn = await played(
        [
            TextDelta(text="a"),
            TextDelta(text="b"),
            WorkflowChanged(envelope={"workflow_id": "w1", "status": "Pending"}),
            WorkflowChanged(envelope={"workflow_id": "w2", "status": "Pending"}),
            WorkflowChanged(envelope={"workflow_id": "w1", "status": "Running"}),
            TurnDone(response="ab"),
        ]
    )

    assert await drained(turn) == [
        TextDelta(text="ab"),
        WorkflowChanged(envelope={"workflow_id": "w2", "status": "Pending"}),
        WorkflowChanged(envelope={"workflow_id": "w1", "status": "Running"}),
        TurnDone(response="ab"),
    ]


async def test_a_reader_that_lags_too_far_is_told_to_read_the_history():
    too_many = [ToolStarted(name=str(n)) for n in range(MAX_PENDING_EVENTS + 1)]
    turn = await played([*too_many, TurnDone(response="x")])

    (end,) = await drained(turn)
    assert isinstance(end, Problem)
    assert end.code == "reader_too_slow"
    assert await turn.outcome(seconds=0) == TurnDone(response="x")


async def test_without_a_listener_nothing_is_kept():
    turn = await played([TextDelta(text="a"), TurnDone(response="a")], listened=False)

    assert await drained(turn) == [TurnDone(response="a")]


async def test_a_running_turn_is_held_until_it_ends():
    release, ended = asyncio.Event(), asyncio.Event()

    async def source():
        await release.wait()
        yield TurnDone(response="a")
        ended.set()

    turns = Turns()
    turn = turns.start(source(), listened=False)
    assert await turn.outcome(seconds=0) is None
    release.set()
    await ended.wait()
    assert await turn.outcome(seconds=5) == TurnDone(response="a")
