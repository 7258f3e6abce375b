"""
Work items of the task hub, each carried to the registered function and its answer carried back.

The payloads on the way are those of the Functions host: an orchestrator gets its request as
base64 protobuf and answers in kind, an activity is decoded and encoded by the SDK's own
converters. Nothing is retried here; what is interrupted is given back to the hub.
"""

from __future__ import annotations

import asyncio
import base64
import logging
from collections.abc import AsyncIterator
from typing import Any, Protocol

import azure.functions as func
import durabletask.internal.helpers as ph
import durabletask.internal.orchestrator_service_pb2 as pb
from azure.functions.meta import Datum

from .calls import Caller
from .functions_app import ACTIVITY, ORCHESTRATION, AppFunctions

_LOG = logging.getLogger(__name__)


class WorkSource(Protocol):
    """Where work items come from and answers go; the SQLite task hub is one."""

    def work(self, *, orchestrators: int, activities: int) -> AsyncIterator[pb.WorkItem]:
        """Yield work items, at most so many of each kind unanswered at a time."""
        ...

    async def complete_orchestrator(self, response: pb.OrchestratorResponse) -> None: ...

    async def complete_activity(self, response: pb.ActivityResponse) -> None: ...

    async def abandon_orchestrator(self, completion_token: str) -> None: ...

    async def abandon_activity(self, completion_token: str) -> None: ...


class Dispatcher:
    """Takes work while :meth:`run` runs; :meth:`drain` ends what was taken."""

    def __init__(self, source: WorkSource, functions: AppFunctions, caller: Caller) -> None:
        self._source = source
        self._functions = functions
        self._caller = caller
        self._running: set[asyncio.Task[None]] = set()

    async def run(self, *, orchestrators: int, activities: int) -> None:
        """Take work and start it, for ever; raises what the source raises."""
        slots = {
            "orchestratorRequest": asyncio.Semaphore(orchestrators),
            "activityRequest": asyncio.Semaphore(activities),
        }
        async for item in self._source.work(orchestrators=orchestrators, activities=activities):
            kind = str(item.WhichOneof("request"))
            if kind not in slots:
                _LOG.error("no function of this app takes a work item of the kind %s", kind)
                continue
            task = asyncio.create_task(self._carry(item, slots[kind]))
            self._running.add(task)
            task.add_done_callback(self._running.discard)

    async def drain(self, seconds: float) -> None:
        """Wait so long for what is running, then give the rest back to the hub."""
        if self._running:
            await asyncio.wait(self._running, timeout=seconds)
        rest = tuple(self._running)
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)

    async def _carry(self, item: pb.WorkItem, slot: asyncio.Semaphore) -> None:
        answered = False
        try:
            async with slot:
                await self._answer(item)
            answered = True
        except Exception:  # noqa: BLE001 one item that goes wrong must not end the work loop
            _LOG.exception("the task hub did not take an answer")
        finally:
            if not answered:
                await self._give_back(item)

    async def _answer(self, item: pb.WorkItem) -> None:
        if item.HasField("orchestratorRequest"):
            turn = await self._orchestrator(item.orchestratorRequest)
            turn.completionToken = item.completionToken
            await self._source.complete_orchestrator(turn)
        else:
            result = await self._activity(item.activityRequest)
            result.completionToken = item.completionToken
            await self._source.complete_activity(result)

    async def _give_back(self, item: pb.WorkItem) -> None:
        try:
            if item.HasField("orchestratorRequest"):
                await self._source.abandon_orchestrator(item.completionToken)
            else:
                await self._source.abandon_activity(item.completionToken)
        except Exception:  # noqa: BLE001 the hub finds out by itself, when the lock runs out
            _LOG.exception("the task hub did not take a work item back")

    async def _orchestrator(self, request: pb.OrchestratorRequest) -> pb.OrchestratorResponse:
        """Run one turn; one that cannot be run fails its instance, which tells more than a loop."""
        name = _orchestration(request)
        function = self._functions.orchestrators.get(name)
        if function is None:
            return _failed(request, LookupError(f"no orchestrator {name!r} is registered"))
        body = base64.b64encode(request.SerializeToString()).decode()
        try:
            context = _decode(ORCHESTRATION, Datum(body, "string"))
            answer = _encode(ORCHESTRATION, await self._caller.call(function, context))
            response = pb.OrchestratorResponse()
            response.ParseFromString(base64.b64decode(answer))
        except Exception as error:  # noqa: BLE001 whatever it is, it is this instance's failure
            _LOG.exception("a turn of %s could not be run", request.instanceId)
            return _failed(request, error)
        return response

    async def _activity(self, request: pb.ActivityRequest) -> pb.ActivityResponse:
        """Run one activity; what it raises becomes the failure that its orchestrator sees."""
        response = pb.ActivityResponse(
            instanceId=request.orchestrationInstance.instanceId, taskId=request.taskId
        )
        function = self._functions.activities.get(request.name)
        try:
            if function is None:
                raise LookupError(f"no activity {request.name!r} is registered")  # noqa: TRY301
            value = _decode(ACTIVITY, Datum(request.input.value, "json"))
            result = await self._caller.call(function, value)
            response.result.value = _encode(ACTIVITY, result)
        except Exception as error:  # noqa: BLE001 whatever it is, it is the activity's failure
            _LOG.exception(
                "activity %s of %s failed", request.name, request.orchestrationInstance.instanceId
            )
            response.failureDetails.CopyFrom(ph.new_failure_details(error))
        return response


def _orchestration(request: pb.OrchestratorRequest) -> str:
    """Return the name in the newest start: continue-as-new may leave more than one."""
    for event in (*reversed(request.newEvents), *reversed(request.pastEvents)):
        if event.HasField("executionStarted"):
            return str(event.executionStarted.name)
    return ""


def _failed(request: pb.OrchestratorRequest, error: Exception) -> pb.OrchestratorResponse:
    action = ph.new_complete_orchestration_action(
        -1, pb.ORCHESTRATION_STATUS_FAILED, "", ph.new_failure_details(error)
    )
    return pb.OrchestratorResponse(instanceId=request.instanceId, actions=[action])


def _decode(binding: str, datum: Datum) -> Any:
    return _converter(binding).decode(datum, trigger_metadata=None)


def _encode(binding: str, value: Any) -> str:
    return str(_converter(binding).encode(value, expected_type=None).value)


def _converter(binding: str) -> Any:
    return func.get_binding_registry().get(binding)  # type: ignore[no-untyped-call]
