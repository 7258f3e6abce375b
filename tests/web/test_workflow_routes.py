"""The routes of runs, healthz, and the list of routes itself."""

from typing import Any

import httpx
import pytest

from tests.web.fakes import NOW, FakeChat, FakeWorkflows, app, catalog_of, skill
from workflow_runtime.service import Owner
from workflow_runtime.web import routes

OWNER = Owner(principal="function-key", skill="triage", session="s")


@pytest.fixture
def workflows():
    service = FakeWorkflows()
    service.put(OWNER, {"workflow_id": "w1", "status": "Running"})
    return service


@pytest.fixture
async def client(workflows):
    transport = httpx.ASGITransport(app=app([skill()], workflows=workflows))
    async with httpx.AsyncClient(
        transport=transport,
        base_url="http://test/skills/triage/",
        headers={"x-ms-session-id": "s"},
    ) as made:
        yield made


async def test_runs_are_listed_as_envelopes(client, workflows):
    answer = await client.get("workflows")

    assert answer.json() == {"workflows": [{"workflow_id": "w1", "status": "Running"}]}
    assert answer.headers["x-ms-session-id"] == "s"
    assert workflows.calls == [("list", 20, None)]


async def test_a_list_can_be_narrowed(client, workflows):
    await client.get("workflows?limit=5&status=Running")

    assert workflows.calls == [("list", 5, "Running")]


@pytest.mark.parametrize("bad", ["0", "101", "-1", "x", "1e3", "9" * 5000, ""])
async def test_a_limit_that_is_no_small_number_is_refused(client, bad):
    answer = await client.get("workflows", params={"limit": bad})

    assert answer.status_code == 400
    assert answer.json()["where"] == "query.limit"


async def test_a_status_that_no_run_can_have_is_refused(client):
    answer = await client.get("workflows?status=running")

    assert answer.status_code == 400
    assert answer.json()["where"] == "query.status"
    assert "Running" in answer.json()["fix"]


async def test_one_run_is_its_envelope(client, workflows):
    answer = await client.get("workflows/w1?task_id=fetch&path=lines.0")

    assert answer.json() == {"workflow_id": "w1", "status": "Running"}
    assert workflows.calls == [("status", "w1", "fetch", "lines.0")]


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "workflows/w2"), ("POST", "workflows/w2/cancel"), ("POST", "workflows/w2/terminate")],
)
async def test_an_unknown_run_and_somebody_elses_are_the_same_404(client, method, path):
    unknown = await client.request(method, path)
    theirs = await client.request(
        method, path.replace("w2", "w1"), headers={"x-ms-session-id": "other"}
    )

    for answer, run in ((unknown, "w2"), (theirs, "w1")):
        assert answer.status_code == 404
        assert answer.json() == {
            "type": "urn:workflow-runtime:problem:workflow_not_found",
            "title": "Not Found",
            "status": 404,
            "code": "workflow_not_found",
            "detail": f"no workflow '{run}' in this session",
        }


@pytest.mark.parametrize(
    ("path", "call", "status"),
    [("cancel", "cancel", "Canceling"), ("terminate", "terminate", "Terminated")],
)
async def test_a_run_is_stopped_with_or_without_a_reason(client, workflows, path, call, status):
    told = await client.post(f"workflows/w1/{path}", json={"reason": "wrong service"})
    untold = await client.post(f"workflows/w1/{path}")

    assert told.json() == untold.json() == {"workflow_id": "w1", "status": status}
    assert workflows.calls == [(call, "w1", "wrong service"), (call, "w1", "")]


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"reason": 1}', b'{"reason": "%s"}'])
async def test_a_reason_of_the_wrong_kind_stops_nothing(client, workflows, content):
    answer = await client.post("workflows/w1/cancel", content=content.replace(b"%s", b"x" * 501))

    assert answer.status_code == 400
    assert workflows.calls == []


async def test_healthz_says_ok_to_anybody():
    transport = httpx.ASGITransport(app=app([]))
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        answer = await client.get("/healthz")

    assert answer.json() == {"status": "ok", "time": NOW.isoformat()}


def made(*skills):
    chat: Any = FakeChat()
    return routes(catalog=catalog_of(*skills), chat=chat, clock=lambda: NOW)


async def test_a_skill_gets_exactly_the_routes_of_its_endpoints():
    api = {
        ("POST", "skills/a/chat"),
        ("POST", "skills/a/chat/stream"),
        ("GET", "skills/a/history"),
        ("GET", "skills/a/workflows"),
        ("GET", "skills/a/workflows/{id}"),
        ("POST", "skills/a/workflows/{id}/cancel"),
        ("POST", "skills/a/workflows/{id}/terminate"),
        ("POST", "skills/a/workflows/{id}/rerun"),
        ("POST", "skills/a/workflows/{id}/approvals/{task}"),
        ("POST", "skills/a/workflows/{id}/events/{name}"),
    }
    page = {("GET", "skills/a"), ("GET", "skills/a/assets/{file}")}
    health = {("GET", "healthz")}

    def table(**endpoints):
        return {(r.method, r.path) for r in made(skill("a", **endpoints))}

    assert table(chat=True, page=True) == api | page | health
    assert table(chat=True, page=False) == api | health
    assert table(chat=False, page=True) == api | page | health


@pytest.mark.parametrize(
    ("auth", "level"),
    [
        ("function", "function"),
        ("admin", "admin"),
        ("anonymous", "anonymous"),
        ("entra", "anonymous"),
    ],
)
async def test_calls_have_the_skills_level_and_the_page_is_anonymous(auth, level):
    levels = {route.name: route.auth for route in made(skill("a", auth=auth))}

    public = {"healthz", "page_a", "asset_a"}
    assert {levels.pop(name) for name in public} == {"anonymous"}
    assert set(levels.values()) == {level}


async def test_function_names_are_unique_for_skills_with_similar_names():
    names = [r.name for r in made(skill("x"), skill("chat_x"), skill("stream_x"), skill("x_chat"))]

    assert len(set(names)) == len(names)
