"""The whole app on the local host, with the real client of a model over loopback."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.fake_openai import Reply, Script, fake_openai
from tests.hosts.conftest import local_host

CHAT = "/skills/incident_triage/chat"
HISTORY = "/skills/incident_triage/history"
PLAN = {
    "name": "Triage",
    "tasks": [{"id": "logs", "tool": "fetch_logs", "args": {"service": "checkout"}}],
    "output": "${logs.result.error_count}",
}


def start(plan: object) -> Reply:
    text = plan if isinstance(plan, str) else json.dumps(plan)
    return Reply(calls=(("start_workflow", text),))


def status_of_the_notified_run(request: dict) -> Reply:
    told = str(request["messages"][-1]["content"])
    run = told.partition('"workflow_id":"')[2].partition('"')[0]
    return Reply(calls=(("get_workflow_status", json.dumps({"workflow_id": run})),))


async def until_said(http, text: str, headers: dict[str, str]) -> list[dict]:
    """Return the history once *text* is in its last message."""
    while True:
        messages = (await http.get(HISTORY, headers=headers)).json()["messages"]
        if messages and text in messages[-1]["text"]:
            return messages
        await asyncio.sleep(0.05)


async def test_a_broken_plan_is_repaired_run_and_answered_without_another_request(
    app_with, tmp_path
):
    broken = {**PLAN, "tasks": [{"id": "logs", "tool": "fetch_log", "args": {"servce": "x"}}]}
    script: list[Script] = [
        start(broken),
        start('{"tasks": ['),
        start({"plan": {**PLAN, "tasks": json.dumps(PLAN["tasks"])}}),
        Reply(text="I have started it."),
        status_of_the_notified_run,
        Reply(text="Checkout logged many errors."),
    ]
    headers = {"x-ms-session-id": "one"}
    with fake_openai(script) as server:
        async with local_host(app_with(server), directory=tmp_path / "hub") as running:
            answered = await running.http.post(CHAT, json={"message": "look"}, headers=headers)
            assert answered.json()["response"] == "I have started it."
            assert [c["status"] for c in answered.json()["tool_calls"]] == ["error", "error", "ok"]
            messages = await until_said(running.http, "many errors", headers)
    assert [m["role"] for m in messages] == ["user", "assistant", "assistant"]
    first, second, third = (
        json.loads(server.requests[n]["messages"][-1]["content"]) for n in (1, 2, 3)
    )
    assert {problem["code"] for problem in first["problems"]} >= {"unknown_tool"}
    assert second["problems"]
    assert third["workflow_id"]
    envelope = json.loads(server.requests[5]["messages"][-1]["content"])
    assert envelope["status"] == "Completed"
    assert envelope["output"] > 0


@pytest.mark.parametrize(
    ("reply", "code", "named"),
    [
        (Reply(status=401), "model_unauthorized", "OPENAI_API_KEY"),
        (Reply(status=404), "model_not_found", "WORKFLOW_RUNTIME_MODEL"),
    ],
)
async def test_a_providers_trouble_is_a_problem_over_http(app_with, tmp_path, reply, code, named):
    with fake_openai([reply]) as server:
        async with local_host(app_with(server), directory=tmp_path / "hub") as running:
            answered = await running.http.post(CHAT, json={"message": "look"})
    assert answered.status_code == 502
    assert answered.headers["content-type"] == "application/problem+json"
    assert code in answered.text
    assert named in answered.text
