"""The routes by which people decide, events arrive and runs are run again."""

import httpx
import pytest

from tests.web.fakes import FakeWorkflows, app, skill
from workflow_runtime.service import Owner

OWNER = Owner(principal="function-key", skill="triage", session="s")


@pytest.fixture
def workflows():
    service = FakeWorkflows()
    asked = {"task": "each[3]", "kind": "approval", "digest": "d1"}
    service.put(OWNER, {"workflow_id": "w1", "status": "Running", "waiting_for": [asked]})
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


async def test_an_answer_echoes_the_digest_and_records_who_gave_it(client, workflows):
    body = {"approved": True, "digest": "d1", "comment": "go"}
    answer = await client.post("workflows/w1/approvals/each%5B3%5D", json=body)

    assert answer.json() == {"workflow_id": "w1", "task": "each[3]", "approved": True}
    assert workflows.calls == [("approve", "w1", "each[3]", True, "d1", "function-key", "go")]


async def test_an_answer_to_what_is_not_asked_any_more_is_a_conflict(client):
    body = {"approved": True, "digest": "old"}
    answer = await client.post("workflows/w1/approvals/each[3]", json=body)

    assert answer.status_code == 409
    assert answer.json()["code"] == "conflict"


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({"digest": "d1"}, "body.approved"),
        ({"approved": "yes", "digest": "d1"}, "body.approved"),
        ({"approved": True}, "body.digest"),
        ({"approved": True, "digest": 7}, "body.digest"),
        ({"approved": True, "digest": "d1", "comment": "x" * 501}, "body.comment"),
    ],
)
async def test_an_answer_that_is_not_one_is_refused(client, workflows, body, where):
    answer = await client.post("workflows/w1/approvals/each[3]", json=body)

    assert answer.status_code == 400
    assert answer.json()["where"] == where
    assert workflows.calls == []


async def test_an_event_arrives_with_its_payload_and_id(client, workflows):
    await client.post("workflows/w1/events/go", json={"payload": {"x": 1}, "id": "e1"})
    await client.post("workflows/w1/events/go")

    assert workflows.calls == [
        ("event", "w1", "go", {"x": 1}, "e1"),
        ("event", "w1", "go", None, None),
    ]


async def test_a_run_is_run_again_with_the_same_or_an_edited_plan(client, workflows):
    answer = await client.post("workflows/w1/rerun")
    edited = await client.post("workflows/w1/rerun", json={"plan": {"tasks": []}})

    assert answer.json()["rerun_of"] == "w1"
    assert edited.status_code == 200
    assert workflows.calls == [("rerun", "w1", None), ("rerun", "w1", {"tasks": []})]


async def test_an_edited_plan_that_is_wrong_is_answered_with_its_problems(client):
    answer = await client.post("workflows/w1/rerun", json={"plan": {}})

    assert answer.status_code == 400
    assert answer.json()["problems"] == [{"code": "missing_field"}]


async def test_an_event_whose_payload_has_another_key_is_refused_and_not_used_up(client, workflows):
    answer = await client.post("workflows/w1/events/go", json={"plates": 1})

    assert (answer.status_code, answer.json()["where"]) == (400, "body.plates")
    assert not [call for call in workflows.calls if call[0] == "event"]


async def test_a_number_that_no_json_reader_keeps_is_a_bad_request(client):
    body, headers = '{"payload": 1e999}', {"content-type": "application/json"}
    answer = await client.post("workflows/w1/events/go", content=body, headers=headers)

    assert answer.status_code == 400


@pytest.mark.parametrize("path", ["approvals/a", "events/go", "rerun"])
async def test_a_run_of_another_session_is_not_found(client, path):
    body = {"approved": True, "digest": "d1"} if path == "approvals/a" else {}
    answer = await client.post(
        f"workflows/w1/{path}", json=body, headers={"x-ms-session-id": "other"}
    )

    assert answer.status_code == 404
