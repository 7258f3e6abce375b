"""What the work loop promises when the task hub is not at its best."""

import asyncio
import json

import durabletask.internal.orchestrator_service_pb2 as pb
import pytest

from tests.hosts.toy_app import Gate, toy_app
from workflow_runtime.errors import DataDirectoryError, HubUnavailableError
from workflow_runtime.hosts.functions import Activity
from workflow_runtime.hosts.host_json import HostSettings
from workflow_runtime.hosts.local.host import LocalHost, client_json, listen

SECONDS = 20


class Script:
    """A source of work that hands out what it was given and notes what it gets back."""

    def __init__(self, *items, refusing=False, failing=False):
        self.items = items
        self.refusing = refusing
        self.failing = failing
        self.answers = asyncio.Queue()

    async def work(self, *, orchestrators, activities):
        for item in self.items:
            yield item
        if self.failing:
            raise HubUnavailableError("the disk is full")
        await asyncio.Event().wait()

    async def complete_orchestrator(self, response):
        await self._note("turn", response)

    async def complete_activity(self, response):
        await self._note("result", response)

    async def abandon_orchestrator(self, token):
        self.answers.put_nowait(("turn abandoned", token))

    async def abandon_activity(self, token):
        self.answers.put_nowait(("activity abandoned", token))

    async def _note(self, kind, response):
        if self.refusing:
            self.refusing = False
            raise HubUnavailableError("the lease has ended")
        self.answers.put_nowait((kind, response))


def activity(name, value, token="1"):
    request = pb.ActivityRequest(name=name, taskId=int(token))
    request.input.value = json.dumps(json.dumps(value))
    request.orchestrationInstance.instanceId = "a"
    return pb.WorkItem(activityRequest=request, completionToken=token)


def host_over(script, **parts):
    client = client_json("127.0.0.1:1")
    return LocalHost(toy_app(**parts), script, client, settings=HostSettings())


async def test_an_answer_carries_the_token_of_its_work_item():
    script = Script(activity("shout", "x", token="7"))
    host = host_over(script)
    host.start()
    kind, response = await script.answers.get()
    await host.stop()
    assert (kind, response.completionToken, response.taskId) == ("result", "7", 7)
    assert json.loads(json.loads(response.result.value)) == "X"


async def test_a_refused_answer_is_one_line_and_the_loop_goes_on(caplog):
    script = Script(activity("shout", "x", "1"), activity("shout", "y", "2"), refusing=True)
    host = host_over(script)
    host.start()
    _, response = await script.answers.get()
    await host.stop()
    assert response.completionToken == "2"
    assert "an answer was not taken: the lease has ended" in caplog.text
    assert "Traceback" not in caplog.text


async def test_a_work_item_without_a_function_for_its_kind_is_passed_over():
    entity = pb.WorkItem(entityRequest=pb.EntityBatchRequest(instanceId="@e@k"))
    script = Script(entity, activity("shout", "x"))
    host = host_over(script)
    host.start()
    kind, _ = await script.answers.get()
    await host.stop()
    assert kind == "result"


async def test_a_turn_that_cannot_be_run_fails_its_instance():
    broken = pb.OrchestratorRequest(instanceId="a")
    script = Script(pb.WorkItem(orchestratorRequest=broken, completionToken="1"))
    host = host_over(script)
    host.start()
    _, response = await script.answers.get()
    await host.stop()
    (action,) = response.actions
    assert action.completeOrchestration.orchestrationStatus == pb.ORCHESTRATION_STATUS_FAILED


class Unheard(BaseException):
    """Of no kind that is usually caught."""


async def test_an_activity_that_raises_anything_at_all_has_failed():
    async def run(payload, service):
        raise Unheard

    script = Script(activity("odd", "x"))
    host = host_over(script, activities=[Activity(name="odd", run=run)])
    host.start()
    _, response = await asyncio.wait_for(script.answers.get(), SECONDS)
    await host.stop()
    assert response.failureDetails.errorType.endswith("Unheard")


async def test_what_is_cut_off_is_given_back():
    gate = Gate()
    script = Script(activity("gate", "x", token="5"))
    host = host_over(script, activities=[Activity(name="gate", run=gate)])
    host.start()
    await gate.entered.wait()
    await host.stop(drain=0)
    assert script.answers.get_nowait() == ("activity abandoned", "5")


async def test_a_hub_that_fails_ends_the_host_with_exit_code_1():
    said, host = [], host_over(Script(failing=True))
    serving = host.serve(listen(0), ready=lambda: None, say=said.append)
    assert await asyncio.wait_for(serving, SECONDS) == 1
    assert said == ["the task hub failed, so the host stops: the disk is full"]


async def test_a_hub_that_cannot_keep_an_answer_ends_the_host_instead_of_a_loop():
    class Full(Script):
        async def complete_activity(self, response):
            raise DataDirectoryError("the disk is full")

    said, host = [], host_over(Full(activity("shout", "x")))
    serving = host.serve(listen(0), ready=lambda: None, say=said.append)
    assert await asyncio.wait_for(serving, SECONDS) == 1
    assert said == ["the task hub failed, so the host stops: the disk is full"]


@pytest.mark.parametrize("value", ["😀", 'q"\\', ""])
async def test_an_activity_gets_the_text_that_was_handed_in(value):
    script = Script(activity("shout", value))
    host = host_over(script)
    host.start()
    _, response = await script.answers.get()
    await host.stop()
    assert json.loads(json.loads(response.result.value)) == value.upper()
