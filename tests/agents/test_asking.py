"""A chat tool for which a person is asked: never called in a turn, once by the run that waits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.agents.fakes import OWNER, FakeWorkflows, ScriptedModels, calls, says
from tests.agents.test_chat import talk
from workflow_runtime.agents.demo import DemoCall, DemoReply
from workflow_runtime.agents.events import ToolEnded, TurnDone, WorkflowChanged
from workflow_runtime.errors import TooManyActiveError
from workflow_runtime.execution import Tool
from workflow_runtime.plan.policies import WorkPolicy
from workflow_runtime.skills import MANAGEMENT_TOOLS, Catalog, Skill, WorkflowSettings

SCHEMA = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}


@pytest.fixture
def catalog():
    """A skill without workflows and one with them, and a tool that must not be called."""

    def never(_arguments: Any) -> None:
        pytest.fail("the tool was called in a turn")

    tool = Tool(
        name="delete_customer",
        description="Delete a customer.",
        arguments=SCHEMA,
        policy=WorkPolicy(approval=True),
        call=never,
    )
    skills = {
        slug: Skill(
            slug=slug,
            name=slug,
            description="d",
            instructions="i",
            path=Path(f"{slug}.agent.md"),
            workflows=workflows,
        )
        for slug, workflows in (("triage", WorkflowSettings()), ("plain", None))
    }
    return Catalog(skills=skills, chat_tools={"delete_customer": tool})


def result(models: ScriptedModels, request: int = -1) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(models.requests[request].messages[-1].results[0])
    return answer


async def test_the_call_becomes_a_run_that_waits_and_the_page_sees_it(
    make_chat, workflows, catalog
):
    models = ScriptedModels(calls("delete_customer", {"id": 1}), says("A person is asked."))
    events = await talk(make_chat(models, catalog=catalog), "delete customer 1", workflows)
    assert workflows.called == [("delete_customer", {"id": 1})]
    assert result(models) == {
        "status": "waiting_for_approval",
        "workflow_id": "c1",
        "next": "A person is asked. End your turn; you will be told.",
    }
    (changed,) = [event.envelope for event in events if isinstance(event, WorkflowChanged)]
    assert (changed["workflow_id"], changed["name"]) == ("c1", "Call delete_customer")
    done = events[-1]
    assert isinstance(done, TurnDone)
    assert done.workflows == ({"workflow_id": "c1", "status": "Pending"},)
    assert done.tool_calls == ({"name": "delete_customer", "status": "ok"},)


async def test_the_model_is_shown_that_a_person_is_asked_and_no_tool_that_approves(
    make_chat, workflows, catalog
):
    models = ScriptedModels(says("Hello."))
    chat = make_chat(models, catalog=catalog)
    await talk(chat, "hello", workflows)
    assert set(models.requests[0].tools) == {*MANAGEMENT_TOOLS, "delete_customer"}
    (shown,) = [
        tool for tool in chat._tools(_turn(catalog, workflows), print) if "delete" in tool.name
    ]
    assert shown.description == "Delete a customer.\n\nA person is asked by itself."


def _turn(catalog: Catalog, workflows: FakeWorkflows) -> Any:
    from workflow_runtime.agents.chat import _Turn

    skill = catalog.skills["triage"]
    return _Turn(owner=OWNER, skill=skill, workflows=workflows, correlation_id="c")


async def test_the_same_call_twice_in_one_turn_asks_once(make_chat, workflows, catalog):
    twice = DemoReply(calls=(DemoCall("delete_customer", '{"id": 1}'),) * 2)
    models = ScriptedModels(twice, calls("delete_customer", {"id": 1}), says("Asked."))
    await talk(make_chat(models, catalog=catalog), "delete customer 1", workflows)
    assert workflows.called == [("delete_customer", {"id": 1})]
    assert result(models)["workflow_id"] == "c1"


async def test_other_arguments_are_another_question(make_chat, workflows, catalog):
    models = ScriptedModels(
        calls("delete_customer", {"id": 1}), calls("delete_customer", {"id": 2}), says("Asked.")
    )
    await talk(make_chat(models, catalog=catalog), "delete both", workflows)
    assert [args for _, args in workflows.called] == [{"id": 1}, {"id": 2}]


@pytest.mark.parametrize(
    "sent", [{"id": "one"}, {}, '{"id": ', "[1]", '{"id": 1, "more": NaN}', "null"]
)
async def test_nobody_is_asked_about_arguments_that_the_tool_does_not_take(
    make_chat, workflows, catalog, sent
):
    models = ScriptedModels(calls("delete_customer", sent), says("I could not."))
    events = await talk(make_chat(models, catalog=catalog), "delete it", workflows)
    assert workflows.called == []
    assert result(models)["error"] == "invalid_arguments"
    assert ToolEnded(name="delete_customer", status="error") in events


@pytest.mark.parametrize(
    ("error", "code"),
    [(TooManyActiveError("ten runs are going"), "too_many_active"), (OSError("key=s3"), "failed")],
)
async def test_a_run_that_cannot_be_started_is_told_to_the_model(
    make_chat, workflows, catalog, error, code
):
    async def start_call(*_args: Any, **_more: Any) -> Any:
        raise error

    workflows.start_call = start_call
    models = ScriptedModels(calls("delete_customer", {"id": 1}), says("It cannot be done now."))
    await talk(make_chat(models, catalog=catalog), "delete it", workflows)
    assert result(models)["error"] == code
    assert "s3" not in json.dumps(result(models))


async def test_a_skill_without_workflows_is_told_the_outcome_itself(make_chat, workflows, catalog):
    from workflow_runtime.service import Owner

    owner = Owner(principal="", skill="plain", session="s1")
    models = ScriptedModels(
        calls("delete_customer", {"id": 1}), says("Asked."), says("Customer 1 is gone.")
    )
    chat = make_chat(models, catalog=catalog)
    await talk(chat, "delete customer 1", workflows, owner=owner)
    workflows.status_of["c1"] = "Completed"
    workflows.output = {"deleted": 1}
    await chat.notify(owner, "c1", workflows=workflows)
    told = models.requests[-1].messages[-1].text
    assert '"output":{"deleted":1}' in told
    assert "get_workflow_status" not in told
    assert (await chat.history(owner))["messages"][-1]["text"] == "Customer 1 is gone."
