"""
What each call of the service does, in terms of the hub: requests in, responses out.

The names are those of the service in snake case; a call that has no method here is not built.
Refusals are raised, not answered: the service turns them into status codes.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from durabletask.internal import orchestrator_service_pb2 as pb
from google.protobuf import empty_pb2, wrappers_pb2

from . import queries
from .clock import from_timestamp
from .events import optional
from .leases import Filter, Session
from .queries import Criteria
from .refusal import Reason, RefusedError

if TYPE_CHECKING:
    from .hub import SqliteTaskHub

_DEFAULT_LIMIT = 100


class Calls:
    """The calls that are built, by their names in the service."""

    def __init__(self, hub: SqliteTaskHub) -> None:
        self._hub = hub

    async def hello(self, _request: empty_pb2.Empty) -> empty_pb2.Empty:
        return empty_pb2.Empty()

    async def start_instance(self, request: pb.CreateInstanceRequest) -> pb.CreateInstanceResponse:
        return pb.CreateInstanceResponse(instanceId=await self._hub.start(request))

    async def get_instance(self, request: pb.GetInstanceRequest) -> pb.GetInstanceResponse:
        state = await self._hub.get(request.instanceId, payloads=request.getInputsAndOutputs)
        return pb.GetInstanceResponse(exists=state is not None, orchestrationState=state)

    async def wait_for_instance_start(
        self, request: pb.GetInstanceRequest
    ) -> pb.GetInstanceResponse:
        await self._hub.wait(request.instanceId, for_end=False)
        return await self.get_instance(request)

    async def wait_for_instance_completion(
        self, request: pb.GetInstanceRequest
    ) -> pb.GetInstanceResponse:
        await self._hub.wait(request.instanceId, for_end=True)
        return await self.get_instance(request)

    async def raise_event(self, request: pb.RaiseEventRequest) -> pb.RaiseEventResponse:
        await self._hub.raise_event(request.instanceId, request.name, optional(request, "input"))
        return pb.RaiseEventResponse()

    async def terminate_instance(self, request: pb.TerminateRequest) -> pb.TerminateResponse:
        await self._hub.terminate(
            request.instanceId, optional(request, "output"), recurse=request.recursive
        )
        return pb.TerminateResponse()

    async def query_instances(self, request: pb.QueryInstancesRequest) -> pb.QueryInstancesResponse:
        query = request.query
        criteria = Criteria(
            prefix=query.instanceIdPrefix.value,
            statuses=tuple(query.runtimeStatus),
            after=optional(query, "continuationToken") or None,
            created_from=_moment(query, "createdTimeFrom"),
            created_to=_moment(query, "createdTimeTo"),
        )
        states, after = await self._hub.read(
            lambda reader: queries.page(
                reader, criteria, query.maxInstanceCount, payloads=query.fetchInputsAndOutputs
            )
        )
        token = None if after is None else wrappers_pb2.StringValue(value=after)
        return pb.QueryInstancesResponse(orchestrationState=states, continuationToken=token)

    async def list_instance_ids(
        self, request: pb.ListInstanceIdsRequest
    ) -> pb.ListInstanceIdsResponse:
        limit = min(request.pageSize, queries.MAX_PAGE) if request.pageSize > 0 else queries.PAGE
        rows = await self._hub.read(
            lambda reader: queries.completed_ids(
                reader,
                statuses=request.runtimeStatus,
                completed_from=_moment(request, "completedTimeFrom"),
                completed_to=_moment(request, "completedTimeTo"),
                after=_completion_key(optional(request, "lastInstanceKey")),
                limit=limit + 1,
            )
        )
        response = pb.ListInstanceIdsResponse(instanceIds=[row[1] for row in rows[:limit]])
        if len(rows) > limit:
            completed, instance_id = rows[limit - 1]
            response.lastInstanceKey.value = f"{completed}|{instance_id}"
        return response

    async def purge_instances(self, request: pb.PurgeInstancesRequest) -> pb.PurgeInstancesResponse:
        complete = True
        if request.HasField("purgeInstanceFilter"):
            wanted = request.purgeInstanceFilter
            criteria = Criteria(
                statuses=tuple(wanted.runtimeStatus),
                created_from=_moment(wanted, "createdTimeFrom"),
                created_to=_moment(wanted, "createdTimeTo"),
            )
            removed, complete = await self._hub.purge_matching(
                criteria,
                recursive=request.recursive,
                within=(
                    wanted.timeout.ToTimedelta().total_seconds()
                    if wanted.HasField("timeout")
                    else None
                ),
            )
        else:
            ids = [*request.instanceBatch.instanceIds, *filter(None, [request.instanceId])]
            removed = await self._hub.purge(ids, recursive=request.recursive)
        return pb.PurgeInstancesResponse(
            deletedInstanceCount=removed, isComplete=wrappers_pb2.BoolValue(value=complete)
        )

    async def stream_instance_history(
        self, request: pb.StreamInstanceHistoryRequest
    ) -> AsyncGenerator[pb.HistoryChunk]:
        events = await self._hub.read(lambda reader: queries.history(reader, request.instanceId))
        if events is None:
            raise RefusedError(
                Reason.NOT_FOUND, f"there is no orchestration instance {request.instanceId!r}"
            )
        for chunk in queries.chunks(events):
            yield chunk

    async def get_work_items(self, request: pb.GetWorkItemsRequest) -> AsyncGenerator[bytes]:
        filters = request.workItemFilters if request.HasField("workItemFilters") else None
        session = Session(
            turn_limit=request.maxConcurrentOrchestrationWorkItems or _DEFAULT_LIMIT,
            task_limit=request.maxConcurrentActivityWorkItems or _DEFAULT_LIMIT,
            turn_filter=None if filters is None else _filter(filters.orchestrations),
            task_filter=None if filters is None else _filter(filters.activities),
        )
        ping_every = self._hub.options.ping_every
        async with aclosing(self._hub.work_encoded(session, ping_every=ping_every)) as items:
            async for item in items:
                yield item

    async def complete_orchestrator_task(
        self, request: pb.OrchestratorResponse
    ) -> pb.CompleteTaskResponse:
        await self._hub.complete_orchestrator(request)
        return pb.CompleteTaskResponse()

    async def complete_activity_task(self, request: pb.ActivityResponse) -> pb.CompleteTaskResponse:
        await self._hub.complete_activity(request)
        return pb.CompleteTaskResponse()

    async def abandon_task_orchestrator_work_item(
        self, request: pb.AbandonOrchestrationTaskRequest
    ) -> pb.AbandonOrchestrationTaskResponse:
        await self._hub.abandon_orchestrator(request.completionToken)
        return pb.AbandonOrchestrationTaskResponse()

    async def abandon_task_activity_work_item(
        self, request: pb.AbandonActivityTaskRequest
    ) -> pb.AbandonActivityTaskResponse:
        await self._hub.abandon_activity(request.completionToken)
        return pb.AbandonActivityTaskResponse()


def _moment(message: Any, name: str) -> int | None:
    return from_timestamp(getattr(message, name)) if message.HasField(name) else None


def _completion_key(token: str | None) -> tuple[int, str] | None:
    if not token:
        return None
    moment, _, instance_id = token.partition("|")
    if not moment.isdecimal():
        raise RefusedError(Reason.INVALID, f"{token!r} is no continuation token of this hub")
    return int(moment), instance_id


def _filter(wanted: Any) -> Filter:
    merged: dict[str, frozenset[str]] = {}
    for entry in wanted:
        merged[entry.name] = merged.get(entry.name, frozenset()) | frozenset(entry.versions)
    return merged
