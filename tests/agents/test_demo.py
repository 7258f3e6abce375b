"""The demo model drives the bundled skills: it reads, plans, and sums up what really came out."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.agents.fakes import NOW, FakeWorkflows, calls_of_step
from workflow_runtime.agents import ModelSettings, TurnDone, make_models
from workflow_runtime.agents.demo.reading import minutes_in, service_in
from workflow_runtime.agents.demo.specialists import specialist
from workflow_runtime.agents.sub_agents import AgentExecutor
from workflow_runtime.execution import AgentAnswer, AgentRequest, call_tool
from workflow_runtime.plan.policies import WorkPolicy
from workflow_runtime.service import Owner
from workflow_runtime.skills import load_catalog

ROOT = Path(__file__).parents[2]
INCIDENT = "checkout is returning 5xx since 14:10, what happened?"
NOTICE = "Demo answer"


@pytest.fixture(scope="module")
def catalog():
    return load_catalog(ROOT)


@pytest.fixture
def models():
    return make_models(ModelSettings())


@pytest.fixture
def say(make_chat, catalog, models, workflows):
    """Say something to a bundled skill; gives the TurnDone."""
    chat = make_chat(models, catalog=catalog)

    async def say_(message: str, skill: str = "incident_triage") -> TurnDone:
        owner = Owner(principal="", skill=skill, session="s1")
        events = [e async for e in chat.stream(owner, message, context=None, workflows=workflows)]
        assert isinstance(events[-1], TurnDone), events[-1]
        assert NOTICE in events[-1].response
        return events[-1]

    async def told(workflow_id: str, skill: str = "incident_triage") -> str:
        owner = Owner(principal="", skill=skill, session="s1")
        await chat.notify(owner, workflow_id, workflows=workflows)
        message: Any = (await chat.history(owner))["messages"][-1]
        assert NOTICE in message["text"]
        return message["text"]

    say_.told = told  # type: ignore[attr-defined]
    return say_


async def test_an_incident_becomes_a_plan_of_parallel_evidence(say, workflows):
    done = await say(INCIDENT)
    (plan,) = workflows.started
    tasks = {task["id"]: task for task in plan["tasks"]}
    assert tasks.keys() == {"logs", "metrics", "deploys", "settle"}
    assert tasks["logs"]["args"] == {"service": "checkout", "window_minutes": 20}
    assert tasks["deploys"]["args"] == {"service": "checkout"}
    assert not any("depends_on" in tasks[name] for name in ("logs", "metrics", "deploys"))
    assert tasks["settle"]["duration"] == "PT2S"
    assert plan["output"]["logs"] == "${logs.result}"
    assert plan["context"] == INCIDENT
    assert "Triage of checkout" in done.response


async def test_it_sums_up_what_the_tools_really_gave(say, workflows, catalog, pool):
    await say(INCIDENT)
    output = {}
    for task in workflows.started[0]["tasks"][:3]:
        outcome = await call_tool(catalog.workflow_tools[task["tool"]], task["args"], pool=pool)
        output[task["id"]] = outcome["value"]
    workflows.output = output
    workflows.status_of["w1"] = "Completed"
    text = await say.told("w1")
    assert str(output["logs"]["error_count"]) in text
    assert output["logs"]["top_error"] in text
    suspect = output["deploys"]["deploys"][0]
    assert f"roll back {suspect['id']}" in text
    assert suspect["change"] in text


async def test_other_results_give_another_summary(say, workflows):
    await say(INCIDENT)
    workflows.output = {
        "logs": {"service": "checkout", "error_count": 0},
        "metrics": {
            "error_rate": 0.001,
            "baseline_error_rate": 0.001,
            "p95_latency_ms": 90,
            "baseline_p95_latency_ms": 91,
            "verdict": "healthy",
        },
        "deploys": {"deploys": [{"id": "checkout-1", "at": "14:06:00Z"}]},
    }
    workflows.status_of["w1"] = "Completed"
    text = await say.told("w1")
    assert "no error" in text
    assert "does not point to a deploy" in text


async def test_a_portfolio_becomes_a_plan_of_specialists(say, workflows):
    await say("Please review the open pull requests of contoso/shop", "pr_portfolio")
    (plan,) = workflows.started
    tasks = plan["tasks"]
    assert [task.get("tool") or task.get("agent") for task in tasks] == [
        "list_pull_requests",
        "fetch_pull_request",
        "pr_status_analyst",
        "actionable_report_writer",
        "render_report",
    ]
    assert tasks[2]["for_each"] == "${details.result}"
    assert tasks[4]["args"]["sections"] == "${assess.result}"


async def test_a_cut_off_output_is_read_by_its_task(say, workflows):
    await say("review the portfolio of contoso/shop", "pr_portfolio")
    workflows.status_of["w1"] = "Completed"
    whole = workflows.status

    async def status(owner, workflow_id, *, task_id=None, **more):
        if task_id is None:
            envelope = await whole(owner, workflow_id, **more)
            return {**envelope, "output": {"truncated": True, "bytes": 9, "preview": "{"}}
        assert (task_id, more["path"]) == ("summary", "result")
        return {"workflow_id": workflow_id, "value": "Next actions\n- ana merges #7"}

    workflows.status = status
    assert "- ana merges #7" in await say.told("w1", "pr_portfolio")


async def test_a_report_is_told_with_its_writers_words(say, workflows):
    await say("review the portfolio of contoso/shop", "pr_portfolio")
    workflows.status_of["w1"] = "Completed"
    whole = workflows.status

    async def status(owner, workflow_id, *, task_id=None, **more):
        envelope = await whole(owner, workflow_id, **more)
        if task_id == "summary":
            return {"workflow_id": workflow_id, "value": "Next actions\n- bo repairs lint"}
        return {**envelope, "output": {"sections": 5, "missing": 1, "html": "<h1>"}}

    workflows.status = status
    text = await say.told("w1", "pr_portfolio")
    assert "covers 5 items; 1 could not be assessed" in text
    assert "- bo repairs lint" in text


async def test_a_question_about_one_item_is_answered_by_a_chat_tool(say, workflows):
    done = await say("what about #412?", "pr_portfolio")
    assert workflows.started == []
    assert done.tool_calls == ({"name": "fetch_pull_request", "status": "ok"},)


async def test_small_talk_starts_nothing(say, workflows):
    done = await say("hello, who are you?")
    assert workflows.started == []
    assert "fetch_logs" in done.response


async def test_an_incident_without_a_service_is_asked_back(say, workflows):
    done = await say("something is wrong, we see many errors")
    assert workflows.started == []
    assert "Which service" in done.response


async def test_a_question_that_a_chat_tool_answers_needs_no_workflow(say, workflows):
    done = await say("which services are there?")
    assert workflows.started == []
    assert done.tool_calls == ({"name": "list_services", "status": "ok"},)
    assert "- checkout" in done.response


async def test_cancel_and_progress_go_to_the_latest_run(say, workflows):
    await say(INCIDENT)
    assert "still going: 3 of 3" in (await say("how far is it?")).response
    await say("cancel it, please")
    assert workflows.status_of["w1"] == "Canceling"


async def test_a_rejected_plan_is_told_to_the_user(say, workflows):
    async def start(*_args, **_kwargs):
        return {"error": "invalid_plan", "problems": [{"path": "/tasks/0", "message": "too odd"}]}

    workflows.start = start
    assert "/tasks/0: too odd" in (await say(INCIDENT)).response


async def test_a_call_for_which_a_person_is_asked_is_said_to_wait(catalog, models, make_chat):
    tools = {
        name: replace(tool, policy=WorkPolicy(approval=True))
        for name, tool in catalog.chat_tools.items()
    }
    chat = make_chat(models, catalog=replace(catalog, chat_tools=tools))
    owner = Owner(principal="", skill="pr_portfolio", session="s1")
    workflows = FakeWorkflows()
    turn = chat.stream(owner, "what about #101?", context=None, workflows=workflows)
    done = [event async for event in turn][-1]
    assert workflows.called == [("fetch_pull_request", {"number": 101})]
    assert "A person is asked before I may call fetch_pull_request" in done.response


async def test_specialists_answer_from_the_data_in_their_task(catalog, models, pool):
    pull_requests = json.loads((ROOT / "skills/tools/pull_requests.json").read_text("utf-8"))
    executor = AgentExecutor(catalog=catalog, models=models, pool=pool)

    async def run(agent: str, task: str) -> str:
        request = AgentRequest(agent=agent, task=task, context=None, calls=calls_of_step())
        answer = await executor.run(request)
        assert isinstance(answer, AgentAnswer)
        return answer.text

    texts = [
        await run("pr_status_analyst", f"Assess this item:\n{json.dumps(item)}")
        for item in pull_requests
    ]
    for item, text in zip(pull_requests, texts, strict=True):
        assert text.startswith(f"#{item['number']} {item['title']}")
        failing = "failed" in item["checks"].values()
        assert ("Status: blocked" in text) or not failing
        assert NOTICE in text
    task = f"Sum up these assessments:\n{json.dumps([*texts, None])}"
    report = await run("actionable_report_writer", task)
    assert report.startswith(f"{len(texts) + 1} items:")
    assert "1 could not be assessed" in report
    assert "Next actions" in report


@pytest.mark.parametrize("task", ["", "{", "[" * 100_000, '{"checks": null}', "[1, 2]", "Hello"])
def test_a_specialist_takes_any_task(task):
    assert specialist(task)


@pytest.mark.parametrize(
    ("text", "service"),
    [
        (INCIDENT, "checkout"),
        ("what is wrong with the payments service?", "payments"),
        ("Search is slow", "search"),
        ("Why is the search service slow since 09:30?", "search"),
        ("errors on `cart-api` for 2 hours", "cart-api"),
        ("something is wrong", None),
        ("it is down", None),
        ("what happened?", None),
    ],
)
def test_the_service_is_read_from_the_report(text, service):
    assert service_in(text) == service


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        (INCIDENT, 20),
        ("since 23:30", 900),
        ("for 2 hours", 120),
        ("in the last 15 minutes", 15),
        ("for the past hour", 60),
        ("since 14:29", 5),
        ("it is slow", 30),
    ],
)
def test_the_window_is_read_from_the_report(text, minutes):
    assert minutes_in(text, NOW) == minutes
