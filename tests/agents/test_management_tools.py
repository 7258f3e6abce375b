"""The five tools of a turn: their answers, and what a turn may not do too often."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.agents.fakes import OWNER, FakeWorkflows
from workflow_runtime.agents.management_tools import ManagementTools
from workflow_runtime.errors import (
    ConflictError,
    HubUnavailableError,
    InvalidRequestError,
    TooManyActiveError,
)
from workflow_runtime.skills import MANAGEMENT_TOOLS

PLAN = {"tasks": [{"id": "a", "tool": "t"}]}


class Turn:
    """The tools of one turn, called by name."""

    def __init__(self, workflows: FakeWorkflows, **more: Any) -> None:
        self.tools = {t.name: t for t in ManagementTools(workflows, OWNER, **more).tools()}

    async def __call__(self, name: str, arguments: Any) -> dict[str, Any]:
        return json.loads((await self.tools[name].call(arguments)).text)


async def test_there_are_five_and_their_schemas_are_objects(workflows):
    turn = Turn(workflows)
    assert turn.tools.keys() == MANAGEMENT_TOOLS
    assert len(turn.tools) == 5
    assert all(tool.schema["type"] == "object" for tool in turn.tools.values())


async def test_the_third_rejected_plan_of_a_turn_says_to_stop(workflows):
    turn = Turn(workflows)
    answers = [await turn("start_workflow", {"tasks": []}) for _ in range(3)]
    assert [("Stop" in a["next"]) for a in answers] == [False, False, True]
    assert "tell the user" in answers[2]["next"]
    assert answers[2]["problems"]


async def test_an_idempotency_key_goes_through_with_the_plan(workflows):
    await Turn(workflows)("start_workflow", {**PLAN, "idempotency_key": "order-7"})
    assert workflows.started == [{**PLAN, "idempotency_key": "order-7"}]


async def test_another_turn_counts_its_own_rejections(workflows):
    for _ in range(3):
        answer = await Turn(workflows)("start_workflow", {"tasks": []})
        assert "Stop" not in answer["next"]


async def test_a_second_look_at_a_running_workflow_says_to_end_the_turn(workflows):
    turn = Turn(workflows)
    started = await turn("start_workflow", PLAN)
    run = {"workflow_id": started["workflow_id"]}
    assert "progress" in await turn("get_workflow_status", run)
    again = await turn("get_workflow_status", run)
    assert again.keys() == {"workflow_id", "status", "next"}
    assert "end your turn" in again["next"]


async def test_a_second_look_at_an_ended_workflow_shows_everything(workflows):
    turn = Turn(workflows)
    run = {"workflow_id": (await turn("start_workflow", PLAN))["workflow_id"]}
    await turn("get_workflow_status", run)
    workflows.status_of["w1"] = "Completed"
    assert "output" in await turn("get_workflow_status", run)
    assert "output" in await turn("get_workflow_status", run)


@pytest.mark.parametrize(("given", "waited"), [(10, 10), ("20", 20), (900, 25), (-5, 0)])
async def test_a_wait_is_bounded(workflows, given, waited):
    turn = Turn(workflows)
    await turn("start_workflow", PLAN)
    await turn("get_workflow_status", {"workflow_id": "w1", "wait_seconds": given})
    assert workflows.asked[-1]["wait_seconds"] == waited


async def test_a_turn_waits_once(workflows):
    turn = Turn(workflows)
    await turn("start_workflow", PLAN)
    for _ in range(2):
        await turn("get_workflow_status", {"workflow_id": "w1", "wait_seconds": 20})
    assert [asked["wait_seconds"] for asked in workflows.asked] == [20, 0]


async def test_somebody_elses_workflow_is_not_found(workflows):
    answer = await Turn(workflows)("get_workflow_status", {"workflow_id": "other"})
    assert answer["error"] == "workflow_not_found"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InvalidRequestError("limit is wrong"), "invalid_request"),
        (TooManyActiveError("ten runs are going"), "too_many_active"),
        (ConflictError("the run has ended"), "conflict"),
        (HubUnavailableError("the hub does not answer"), "hub_unavailable"),
    ],
)
async def test_expected_errors_are_answered_by_name(workflows, error, code):
    async def start(*_args, **_kwargs):
        raise error

    workflows.start = start
    answer = await Turn(workflows)("start_workflow", PLAN)
    assert answer == {"error": code, "message": str(error)}


async def test_an_unexpected_error_shows_nothing_but_a_correlation_id(workflows, caplog):
    async def start(*_args, **_kwargs):
        message = "password=hunter2"
        raise RuntimeError(message)

    workflows.start = start
    answer = await Turn(workflows)("start_workflow", PLAN)
    assert answer["error"] == "failed"
    assert "hunter2" not in json.dumps(answer)
    assert answer["correlation_id"] in caplog.text


async def test_listing_cancelling_and_terminating(workflows):
    seen: list[Any] = []
    turn = Turn(workflows, changed=seen.append)
    await turn("start_workflow", PLAN)
    listed = await turn("list_workflows", {})
    assert listed == {"workflows": [{"workflow_id": "w1", "status": "Running"}]}
    canceled = await turn("cancel_workflow", {"workflow_id": "w1", "reason": "wrong service"})
    assert canceled == {"workflow_id": "w1", "status": "Canceling"}
    ended = await turn("terminate_workflow", {"workflow_id": "w1"})
    assert ended["status"] == "Terminated"
    assert [envelope["status"] for envelope in seen] == ["Pending", "Canceling", "Terminated"]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("get_workflow_status", {}),
        ("get_workflow_status", {"workflow_id": 5}),
        ("get_workflow_status", {"workflow_id": "w1", "wait_seconds": "soon"}),
        ("get_workflow_status", {"workflow_id": "w1", "wait_seconds": True}),
        ("get_workflow_status", {"workflow_id": "w1", "path": ["a"]}),
        ("list_workflows", {"limit": "many"}),
        ("cancel_workflow", None),
    ],
)
async def test_bad_arguments_are_named(workflows, name, arguments):
    answer = await Turn(workflows)(name, arguments)
    assert answer["error"] == "invalid_request"
