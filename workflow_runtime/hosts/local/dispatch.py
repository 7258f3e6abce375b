"""
Work items of the task hub, each carried to the registered function and its answer carried back.

The payloads on the way are those of the Functions host: an orchestrator gets its request as
base64 protobuf and answers in kind, an activity is decoded and encoded by the SDK's own
converters. Nothing is retried here; what is interrupted is given back to the hub.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, Protocol, cast

import azure.functions as func
import durabletask.internal.helpers as ph
import durabletask.internal.orchestrator_service_pb2 as pb
from azure.functions.meta import Datum

from ...errors import HubUnavailableError
from ...logs import get_logger
from .calls import Caller
from .functions_app import ACTIVITY, ORCHESTRATION, AppFunctions

_LOG = get_logger(__name__)


class WorkSource(Protocol):
    """Where work items come from and answers go; the SQLite task hub is one.

    An answer may be refused (HubUnavailableError): the instance was ended meanwhile.
    """

    def work(self, *, orchestrators: int, activities: int) -> AsyncGenerator[pb.WorkItem]:
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
        self._fault: Exception | None = None
        self._faulty = asyncio.Event()

    async def run(self, *, orchestrators: int, activities: int) -> None:
        """Take work and start it, for ever; raises what is wrong with the source.

        A source that cannot keep an answer (a full disk) ends the loop: giving the item out again
        would run the same function again and again.
        """
        taking = asyncio.create_task(self._take(orchestrators, activities))
        faulty = asyncio.create_task(self._faulty.wait())
        try:
            await asyncio.wait((taking, faulty), return_when=asyncio.FIRST_COMPLETED)
            if self._fault is not None:
                raise self._fault
            await taking
        finally:
            taking.cancel()
            faulty.cancel()
            await asyncio.gather(taking, faulty, return_exceptions=True)

    async def _take(self, orchestrators: int, activities: int) -> None:
        slots = {
            "orchestratorRequest": asyncio.Semaphore(orchestrators),
            "activityRequest": asyncio.Semaphore(activities),
        }
        work = self._source.work(orchestrators=orchestrators, activities=activities)
        async with aclosing(work) as items:
            async for item in items:
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
        try:
            async with slot:
                await self._answer(item)
        except HubUnavailableError as error:
            _LOG.warning("an answer was not taken: %s", error)  # as after a terminate
        except asyncio.CancelledError:
            await self._give_back(item)
            raise
        except Exception as error:  # noqa: BLE001 what functions raise ends further in
            self._fault = error
            self._faulty.set()

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
        except HubUnavailableError as error:
            _LOG.warning("a work item was not taken back: %s", error)

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
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # noqa: BLE001 whatever it is, it is the activity's failure
            _LOG.exception(
                "activity %s of %s failed", request.name, request.orchestrationInstance.instanceId
            )
            response.failureDetails.CopyFrom(ph.new_failure_details(cast("Exception", error)))
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
