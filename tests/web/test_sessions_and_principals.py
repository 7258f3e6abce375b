"""Whose session it is: ids in the header and in the body, and signed-in users."""

import re

import httpx
import pytest

from tests.web.fakes import FakeChat, FakeWorkflows, app, skill
from workflow_runtime.service import Owner

VALID = re.compile(r"[A-Za-z0-9._-]{1,128}")


def client_of(application, **headers):
    transport = httpx.ASGITransport(app=application)
    return httpx.AsyncClient(transport=transport, base_url="http://test", headers=headers)


async def test_the_server_makes_a_new_unguessable_id_for_each_new_session():
    async with client_of(app([skill()])) as client:
        answers = [await client.post("/skills/triage/chat", json={"message": "hi"}) for _ in "ab"]

    ids = [answer.headers["x-ms-session-id"] for answer in answers]
    assert len(set(ids)) == 2
    assert all(VALID.fullmatch(made) and len(made) >= 22 for made in ids)


async def test_the_header_carries_the_session_as_well_as_the_body():
    chat = FakeChat()
    async with client_of(app([skill()], chat=chat), **{"x-ms-session-id": "mine.1"}) as client:
        await client.post("/skills/triage/chat", json={"message": "a"})
        await client.post("/skills/triage/chat", json={"message": "b", "session_id": "mine.1"})
        history = await client.get("/skills/triage/history")

    assert {asked.owner.session for asked in chat.asked} == {"mine.1"}
    assert history.json()["session_id"] == "mine.1"
    assert history.headers["x-ms-session-id"] == "mine.1"
    assert [m["role"] for m in history.json()["messages"]] == ["user", "assistant"] * 2


async def test_two_different_ids_in_one_request_are_refused():
    async with client_of(app([skill()]), **{"x-ms-session-id": "one"}) as client:
        answer = await client.post(
            "/skills/triage/chat", json={"message": "hi", "session_id": "two"}
        )

    assert answer.status_code == 400
    assert "two sessions" in answer.json()["detail"]


@pytest.mark.parametrize("bad", ["", "a b", "ä", "a/b", "x" * 129, "a;b", "../etc"])
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "chat"),
        ("POST", "chat/stream"),
        ("GET", "history"),
        ("GET", "workflows"),
        ("GET", "workflows/w1"),
        ("POST", "workflows/w1/cancel"),
        ("POST", "workflows/w1/terminate"),
    ],
)
async def test_an_id_with_other_characters_is_refused_everywhere(method, path, bad):
    async with client_of(app([skill()])) as client:
        answer = await client.request(
            method,
            f"/skills/triage/{path}",
            headers={"x-ms-session-id": bad.encode()},
            json={"message": "hi"} if method == "POST" else None,
        )

    assert answer.status_code == 400
    assert answer.json()["where"] == "header x-ms-session-id"


async def test_a_repeated_session_header_is_refused():
    async with client_of(app([skill()])) as client:
        answer = await client.get(
            "/skills/triage/history",
            headers=[("x-ms-session-id", "a"), ("x-ms-session-id", "b")],
        )

    assert answer.status_code == 400


@pytest.mark.parametrize("path", ["history", "workflows", "workflows/w1"])
async def test_a_read_without_a_session_says_which_header_is_missing(path):
    async with client_of(app([skill()])) as client:
        answer = await client.get(f"/skills/triage/{path}")

    assert answer.status_code == 400
    assert answer.json()["where"] == "header x-ms-session-id"


ENTRA_CALLS = [
    ("POST", "chat"),
    ("POST", "chat/stream"),
    ("GET", "history"),
    ("GET", "workflows"),
    ("GET", "workflows/w1"),
    ("POST", "workflows/w1/cancel"),
    ("POST", "workflows/w1/terminate"),
]


@pytest.mark.parametrize(("method", "path"), ENTRA_CALLS)
@pytest.mark.parametrize(
    ("easy_auth", "headers"),
    [
        (True, {}),
        (True, {"x-ms-client-principal-id": ""}),
        (True, {"x-ms-client-principal-id": " "}),
        (True, {"x-ms-client-principal-id": "u1", "x-ms-client-principal-idp": "google"}),
        (True, {"x-ms-client-principal-id": "u1"}),
        (False, {"x-ms-client-principal-id": "u1"}),
    ],
)
async def test_an_entra_skill_answers_401_to_everybody_who_is_not_signed_in(
    method, path, easy_auth, headers
):
    chat = FakeChat()
    application = app([skill(auth="entra")], chat=chat, easy_auth=easy_auth)
    async with client_of(application, **headers, **{"x-ms-session-id": "s"}) as client:
        answer = await client.request(
            method, f"/skills/triage/{path}", json={"message": "hi"} if method == "POST" else None
        )

    assert answer.status_code == 401
    assert answer.json()["code"] == "sign_in_required"
    assert not chat.asked


async def test_a_session_belongs_to_the_user_who_is_signed_in():
    chat, workflows = FakeChat(), FakeWorkflows()
    application = app([skill(auth="entra")], chat=chat, workflows=workflows, easy_auth=True)
    mine = Owner(principal="entra:u1", skill="triage", session="s")
    workflows.put(mine, {"workflow_id": "w1", "status": "Running"})

    def as_user(user):
        signed_in = {"x-ms-client-principal-id": user, "x-ms-client-principal-idp": "aad"}
        return client_of(application, **signed_in, **{"x-ms-session-id": "s"})

    async with as_user("u1") as client:
        assert (await client.post("/skills/triage/chat", json={"message": "a"})).is_success
        assert (await client.get("/skills/triage/workflows/w1")).is_success
    async with as_user("u2") as client:
        assert (await client.get("/skills/triage/history")).json()["messages"] == []
        assert (await client.get("/skills/triage/workflows/w1")).status_code == 404

    assert chat.asked[0].owner == mine


async def test_without_entra_a_principal_header_changes_nothing():
    chat = FakeChat()
    async with client_of(app([skill()], chat=chat)) as client:
        await client.post(
            "/skills/triage/chat",
            json={"message": "hi"},
            headers={"x-ms-client-principal-id": "somebody"},
        )

    assert chat.asked[0].owner.principal == "function-key"
