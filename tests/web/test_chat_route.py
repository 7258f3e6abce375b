"""POST chat: what it accepts, what it answers, and that a turn outlives its caller's patience."""

import asyncio
import json

import httpx
import pytest

from tests.web.fakes import FakeChat, app, skill
from workflow_runtime.agents.events import ToolEnded, ToolStarted, TurnDone, TurnFailed
from workflow_runtime.errors import DataDirectoryError, HubUnavailableError, ModelError
from workflow_runtime.web import Timings

JSON = {"content-type": "application/json"}


def client_of(application):
    transport = httpx.ASGITransport(app=application)
    return httpx.AsyncClient(transport=transport, base_url="http://test")


async def post(content, *, chat=None, headers=None, **options):
    application = app([skill()], chat=chat, **options)
    async with client_of(application) as client:
        return await client.post(
            "/skills/triage/chat", content=content, headers={**JSON, **(headers or {})}
        )


def failing(error):
    async def turn(_):
        for failure in (error,):
            raise failure
        yield TurnDone(response="never")

    return turn


async def test_a_finished_turn_answers_in_the_contracts_shape():
    async def turn(_):
        yield ToolStarted(name="start_workflow")
        yield ToolEnded(name="start_workflow", status="ok")
        yield TurnDone(
            response="Started.",
            tool_calls=({"name": "start_workflow", "status": "ok"},),
            workflows=({"workflow_id": "w1", "status": "Running"},),
            usage={"input_tokens": 5, "output_tokens": 1},
        )

    chat = FakeChat(turn)
    answer = await post(
        b'{"message": "what happened?", "session_id": "s-1", "context": "checkout"}', chat=chat
    )

    assert answer.status_code == 200
    assert answer.json() == {
        "session_id": "s-1",
        "response": "Started.",
        "tool_calls": [{"name": "start_workflow", "status": "ok"}],
        "workflows": [{"workflow_id": "w1", "status": "Running"}],
        "usage": {"input_tokens": 5, "output_tokens": 1},
    }
    assert answer.headers["x-ms-session-id"] == "s-1"
    assert answer.headers["cache-control"] == "no-store"
    asked = chat.asked[0]
    assert (asked.message, asked.context) == ("what happened?", "checkout")
    assert (asked.owner.principal, asked.owner.skill, asked.owner.session) == (
        "function-key",
        "triage",
        "s-1",
    )
    assert asked.workflows is not None


async def test_a_turn_that_takes_too_long_answers_202_and_its_answer_is_in_the_history():
    release = asyncio.Event()

    async def turn(_):
        await release.wait()
        yield TurnDone(response="At last.")

    chat = FakeChat(turn)
    application = app([skill()], chat=chat, timings=Timings(chat_answer=0.05))
    async with client_of(application) as client:
        answer = await client.post("/skills/triage/chat", json={"message": "slow"})
        assert answer.status_code == 202
        assert answer.json()["status"] == "running"
        session = answer.headers["x-ms-session-id"]
        assert answer.json()["session_id"] == session

        release.set()
        await chat.stored.wait()
        history = await client.get("/skills/triage/history", headers={"x-ms-session-id": session})

    assert [m["text"] for m in history.json()["messages"]] == ["slow", "At last."]


@pytest.mark.parametrize(
    ("content", "where", "said"),
    [
        (b"", "body, line 1, column 1", "not JSON"),
        (b"{message}", "body, line 1, column 2", "not JSON"),
        (b'{\n "message": "x",}', "body, line 2, column 16", "not JSON"),
        (b'["message"]', "body", "not a JSON object"),
        (b'"message"', "body", "not a JSON object"),
        (b"{}", "body.message", "missing; the body has an empty object"),
        (b'{"prompt": "hi"}', "body.message", "the body has 'prompt'"),
        (b'{"message": null}', "body.message", "missing"),
        (b'{"message": " \\n"}', "body.message", "empty"),
        (b'{"message": 7}', "body.message", "must be a string, not int"),
        (b'{"message": ["hi"]}', "body.message", "must be a string, not list"),
        (b'{"message": "hi", "context": {"a": 1}}', "body.context", "not dict"),
        (b'{"message": "hi", "session_id": 7}', "body.session_id", "must be a string"),
        (b'{"message": "hi", "session_id": ""}', "body.session_id", "not valid"),
        (b'{"message": "hi", "session_id": "a b"}', "body.session_id", "not valid"),
        (b'{"message": "hi", "session_id": "a\\n"}', "body.session_id", "not valid"),
        (b'{"message": "\xff"}', "body", "not UTF-8"),
        (b'{"message": NaN}', "body", "NaN"),
        (b'{"message": ' + b"9" * 5000 + b"}", "body", "cannot be read"),
        (b"[" * 200_000, "body", "nested too deeply"),
    ],
)
async def test_a_body_that_is_wrong_is_refused_with_its_place_and_the_fix(content, where, said):
    answer = await post(content)

    problem = answer.json()
    assert answer.status_code == 400
    assert answer.headers["content-type"] == "application/problem+json"
    assert problem["status"] == 400
    assert problem["title"] == "Bad Request"
    assert problem["code"] == "invalid_request"
    assert problem["type"] == "urn:workflow-runtime:problem:invalid_request"
    assert problem["where"] == where
    assert said in problem["detail"]
    assert problem["fix"]


async def test_a_body_over_the_limit_is_refused_before_it_is_read_whole():
    async def endless():
        yield b'{"message": "'
        while True:
            yield b"x" * 65536

    application = app([skill()])
    async with client_of(application) as client:
        answer = await client.post("/skills/triage/chat", content=_bounded(endless()))

    assert answer.status_code == 413
    assert answer.json()["code"] == "body_too_large"


async def _bounded(chunks):
    for _ in range(40):
        yield await anext(chunks)


async def test_a_byte_order_mark_and_half_a_character_do_no_harm():
    chat = FakeChat()
    answer = await post(b'\xef\xbb\xbf{"message": "cut \\ud83d"}', chat=chat)

    assert answer.status_code == 200
    assert chat.asked[0].message == "cut \ufffd"


@pytest.mark.parametrize(
    ("code", "status", "answered"),
    [
        ("model_unauthorized", 502, 502),
        ("model_unauthorized", 401, 502),
        ("model_rate_limited", 429, 429),
        ("turn_timed_out", 504, 504),
    ],
)
async def test_a_failed_turn_is_a_problem_that_never_asks_the_caller_for_a_key(
    code, status, answered
):
    async def turn(_):
        yield TurnFailed(code=code, message="Look at OPENAI_API_KEY.", status=status)

    answer = await post(b'{"message": "hi", "session_id": "s-1"}', chat=FakeChat(turn))

    assert answer.status_code == answered
    assert answer.json()["code"] == code
    assert answer.json()["detail"] == "Look at OPENAI_API_KEY."
    assert answer.headers["x-ms-session-id"] == "s-1"


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (HubUnavailableError("the hub is down"), 503, "hub_unavailable"),
        (DataDirectoryError("/srv/data is full"), 503, "data_directory_unusable"),
        (ModelError("model_failed", "no", status=502), 502, "model_failed"),
    ],
)
async def test_an_error_of_the_runtime_keeps_its_meaning(error, status, code):
    answer = await post(b'{"message": "hi"}', chat=FakeChat(failing(error)))

    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert "/srv" not in answer.text


async def test_an_unexpected_error_shows_a_correlation_id_and_nothing_of_its_text(caplog):
    chat = FakeChat(failing(LookupError("password=hunter2")))
    answer = await post(b'{"message": "hi"}', chat=chat)

    assert answer.status_code == 500
    assert "hunter2" not in answer.text
    assert "hunter2" in caplog.text
    logged = [record for record in caplog.records if hasattr(record, "correlation_id")]
    assert [r.correlation_id for r in logged] == [answer.json()["correlation_id"]]


async def test_a_turn_without_an_end_is_a_problem_too():
    async def turn(_):
        nothing: tuple[TurnDone, ...] = ()
        for event in nothing:
            yield event

    answer = await post(b'{"message": "hi"}', chat=FakeChat(turn))

    assert (answer.status_code, answer.json()["code"]) == (500, "turn_failed")


async def test_a_forged_form_of_another_site_is_refused():
    forged = {"content-type": "text/plain", "sec-fetch-site": "cross-site"}
    answer = await post(b'{"message": "hi"}', headers=forged)
    asked_first = await post(b'{"message": "hi"}', headers={"sec-fetch-site": "cross-site"})

    assert (answer.status_code, answer.json()["code"]) == (403, "cross_site_request")
    assert asked_first.status_code == 200


async def test_curl_may_leave_out_the_content_type():
    answer = await post(
        json.dumps({"message": "hi"}), headers={"content-type": "application/x-www-form-urlencoded"}
    )

    assert answer.status_code == 200
