"""Whatever a model sends as arguments reaches our code through the framework's real loop."""

from __future__ import annotations

import json

import pytest

from tests.agents.fakes import OWNER, FakeWorkflows, ScriptedModels, calls, says
from workflow_runtime.agents.conversation import Entry
from workflow_runtime.agents.maf import loop
from workflow_runtime.agents.management_tools import ManagementTools

PLAN = {"name": "One", "tasks": [{"id": "a", "tool": "t"}]}
TEXT = json.dumps(PLAN)
DEEP = "[" * 100_000 + "]" * 100_000
HUGE = "9" * 5_000

# name -> (the argument text of the model, what the service must be given)
CASES = {
    "an object": (TEXT, PLAN),
    "an object as a JSON string": (json.dumps(TEXT), PLAN),
    "tasks as a JSON string": (
        json.dumps({"tasks": json.dumps(PLAN["tasks"])}),
        {"tasks": json.dumps(PLAN["tasks"])},
    ),
    "a plan in a wrapper": (json.dumps({"plan": PLAN}), {"plan": PLAN}),
    "fields that nobody knows": ('{"tasks": [], "mood": "good"}', {"tasks": [], "mood": "good"}),
    "JSON that is cut off": ('{"tasks": [', '{"tasks": ['),
    "words": ("start it, please", "start it, please"),
    "an array": ("[1, 2]", [1, 2]),
    "a number": ("7", 7),
    "null": ("null", None),
    "nothing": ("", {}),
    "nested 100,000 deep": (DEEP, DEEP),
    "nested deep in a field": (f'{{"tasks": {DEEP}}}', f'{{"tasks": {DEEP}}}'),
    "an integer of 5,000 digits": (f'{{"tasks": {HUGE}}}', f'{{"tasks": {HUGE}}}'),
}


class Recorder(FakeWorkflows):
    """A service that keeps every submission."""

    def __init__(self) -> None:
        super().__init__()
        self.submissions: list[object] = []

    async def start(self, owner, submission, *, context=None, **more):
        self.submissions.append(submission)
        return await super().start(owner, submission, context=context)


async def exchange(models: ScriptedModels, workflows: FakeWorkflows, *, stream: bool) -> str:
    asked = loop.Exchange(
        client=models.client_for(None),
        provider="demo",
        request_timeout=10,
        instructions="",
        entries=[Entry(role="user", text="go")],
        tools=ManagementTools(workflows, OWNER).tools(),
    )
    if not stream:
        return (await loop.run(asked)).text
    return "".join([p.text async for p in loop.stream(asked) if isinstance(p, loop.Piece)])


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "plain"])
@pytest.mark.parametrize("case", CASES)
async def test_arguments_reach_the_service_as_they_were_sent(case, stream):
    sent, wanted = CASES[case]
    workflows = Recorder()
    models = ScriptedModels(calls("start_workflow", sent), says("Over."))
    assert await exchange(models, workflows, stream=stream) == "Over."
    assert workflows.submissions == [wanted]
    answered = json.loads(models.requests[-1].messages[-1].results[0])
    assert "workflow_id" in answered or answered["problems"]


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "plain"])
@pytest.mark.parametrize("sent", ['{"workflow_id": ', DEEP, f'{{"workflow_id": {HUGE}}}', "[]"])
async def test_arguments_that_make_no_sense_are_answered_with_our_own_words(sent, stream):
    models = ScriptedModels(calls("get_workflow_status", sent), says("Over."))
    assert await exchange(models, FakeWorkflows(), stream=stream) == "Over."
    answered = json.loads(models.requests[-1].messages[-1].results[0])
    assert answered["error"] == "invalid_request"


@pytest.mark.parametrize("sent", ['{"tasks": [', DEEP, "words", "[1]"])
async def test_what_goes_back_to_the_provider_is_always_a_json_object(sent):
    models = ScriptedModels(calls("start_workflow", sent), says("Over."))
    await exchange(models, FakeWorkflows(), stream=True)
    repeated = models.requests[-1].messages[-2].calls[0].arguments
    assert repeated == str({"raw": sent})


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "plain"])
async def test_a_model_repairs_its_plan_from_our_problems(stream):
    workflows = Recorder()

    def repair(request):
        problems = json.loads(request.messages[-1].results[0])["problems"]
        assert problems[0]["path"] == "/tasks"
        return calls("start_workflow", PLAN)

    models = ScriptedModels(calls("start_workflow", {"name": "One"}), repair, says("Started."))
    assert await exchange(models, workflows, stream=stream) == "Started."
    assert workflows.started == [PLAN]
