"""
The task hub over gRPC: one long-lived client per process for one durable-client binding.

The Durable extension hands every invocation the address of its gRPC endpoint as a JSON text, and
the SDK builds a client from it that it closes when the invocation returns. This adapter is built
from the same text and stays open, so that a streamed response and a background task may use it.
Payloads are one JSON string of ours each; what the SDK's codec adds is taken off again here.

A hub belongs to the event loop that uses it first, as every ``grpc.aio`` channel does.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import grpc
from azure.durable_functions import DurableFunctionsClient
from durabletask.client import (
    OrchestrationQuery,
    OrchestrationState,
    OrchestrationStatus,
    parse_orchestration_state,
)
from durabletask.grpc_options import GrpcChannelOptions
from durabletask.internal.client_helpers import build_query_instances_req
from google.protobuf.wrappers_pb2 import StringValue

from ..errors import HubUnavailableError, WorkflowNotFoundError
from ..hub import HistoryEntry, InstancePage, InstanceState
from .entries import entries, plain, utc

_UNFINISHED = (
    OrchestrationStatus.PENDING,
    OrchestrationStatus.RUNNING,
    OrchestrationStatus.SUSPENDED,
)


class _Client(DurableFunctionsClient):
    """The SDK's client, plus one page of a query, minus any HTTP proxy on the way to localhost."""

    def __init__(self, client_json: str) -> None:
        super().__init__(client_json)
        size = self.maxGrpcMessageSizeInBytes or None
        self._channel_options = GrpcChannelOptions(
            max_receive_message_length=size,
            max_send_message_length=size,
            raw_options=[("grpc.enable_http_proxy", 0)],
        )

    async def query_page(
        self, query: OrchestrationQuery, after: str | None
    ) -> tuple[list[OrchestrationState], str | None]:
        """Return one page; ``get_all_orchestration_states`` would go on to the last one."""
        token = StringValue(value=after) if after is not None else None
        answer = await self._get_stub().QueryInstances(build_query_instances_req(query, token))
        states = [parse_orchestration_state(state) for state in answer.orchestrationState]
        following = answer.continuationToken.value
        return states, following if following not in {"", "0", after} else None


class DurableTaskHub:
    """Implements :class:`workflow_runtime.hub.TaskHub` for one durable-client binding's JSON."""

    def __init__(self, client_json: str) -> None:
        self._client = _Client(client_json)
        self._address = self._client.rpcBaseUrl

    async def close(self) -> None:
        """Close the channel; call it on the loop that used the hub."""
        await self._client.close()

    async def start(self, instance_id: str, orchestrator: str, payload: str) -> None:
        """Start *orchestrator*; an id that is in use is refused (HubUnavailableError)."""
        with self._calling("start an instance"):
            await self._client.schedule_new_orchestration(
                orchestrator, input=payload, instance_id=instance_id
            )

    async def state(self, instance_id: str, *, payloads: bool) -> InstanceState | None:
        """Return the instance, or None when there is none.

        Without payloads this is a query by the full id: the extension's single read fetches the
        payloads even when it is told not to.
        """
        if not payloads:
            page = await self.query(instance_id, limit=1)
            return next((i for i in page.instances if i.instance_id == instance_id), None)
        with self._calling("read an instance"):
            state = await self._client.get_orchestration_state(instance_id, fetch_payloads=True)
        return None if state is None else _instance(state, payloads=True)

    async def query(
        self,
        prefix: str,
        *,
        limit: int,
        payloads: bool = False,
        after: str | None = None,
        unfinished: bool = False,
    ) -> InstancePage:
        """Return up to *limit* instances whose id starts with *prefix*; short pages are joined."""
        found: list[OrchestrationState] = []
        while len(found) < limit:
            query = OrchestrationQuery(
                instance_id_prefix=prefix,
                max_instance_count=limit - len(found),
                fetch_inputs_and_outputs=payloads,
                runtime_status=list(_UNFINISHED) if unfinished else None,
            )
            with self._calling("list instances"):
                states, after = await self._client.query_page(query, after)
            found += states
            if after is None:
                break
        found.sort(key=lambda state: state.instance_id)
        return InstancePage(
            instances=tuple(_instance(state, payloads=payloads) for state in found), after=after
        )

    async def raise_event(self, instance_id: str, name: str, payload: str) -> None:
        """Deliver an event; one for an instance that has ended is dropped, as hubs do.

        Raises WorkflowNotFoundError when there is no such instance.
        """
        with self._calling("raise an event", instance_id, may_have_ended=True):
            await self._client.raise_orchestration_event(instance_id, name, data=payload)

    async def terminate(self, instance_id: str, reason: str) -> None:
        """End an instance at once; one that has ended stays as it is.

        Children are asked to end too, but the Durable extension ignores that wish.
        """
        with self._calling("terminate an instance", instance_id, may_have_ended=True):
            await self._client.terminate_orchestration(instance_id, output=reason)

    async def purge(self, instance_id: str) -> None:
        """Forget an instance that has ended, and its history."""
        with self._calling("purge an instance"):
            await self._client.purge_orchestration(instance_id)

    async def history(self, instance_id: str) -> tuple[HistoryEntry, ...]:
        """Return the history of the current generation; empty when there is no such instance."""
        try:
            with self._calling("read a history", instance_id):
                events = await self._client.get_orchestration_history(instance_id)
        except WorkflowNotFoundError:
            return ()
        return tuple(entries(events))

    async def wait(self, instance_id: str, timeout: float) -> InstanceState | None:  # noqa: ASYNC109
        """Return when the instance has ended or after *timeout* seconds, with its state."""
        try:
            with self._calling("wait for an instance"):
                state = await self._client.wait_for_orchestration_completion(
                    instance_id, timeout=timeout
                )
        except TimeoutError:
            return await self.state(instance_id, payloads=True)
        return None if state is None else _instance(state, payloads=True)

    @contextmanager
    def _calling(
        self, what: str, instance_id: str | None = None, *, may_have_ended: bool = False
    ) -> Iterator[None]:
        try:
            yield
        except grpc.aio.AioRpcError as error:
            code = error.code()
            if instance_id is not None and code is grpc.StatusCode.NOT_FOUND:
                message = f"the task hub has no instance {instance_id!r}"
                raise WorkflowNotFoundError(message) from error
            if may_have_ended and code is grpc.StatusCode.FAILED_PRECONDITION:
                return
            raise HubUnavailableError(self._sentence(what, error)) from error

    def _sentence(self, what: str, error: grpc.aio.AioRpcError) -> str:
        code, details = error.code(), " ".join(str(error.details() or "").split())
        where = f"the task hub at {self._address!r}"
        if code is grpc.StatusCode.UNAVAILABLE:
            return f"cannot {what}: {where} does not answer; is the host running?"
        return f"cannot {what}: {where} refused the call ({code.name}: {details})"


def _instance(state: OrchestrationState, *, payloads: bool) -> InstanceState:
    failure = state.failure_details.message if state.failure_details and payloads else None
    return InstanceState(
        instance_id=state.instance_id,
        native_status=state.runtime_status.name,
        created_at=utc(state.created_at),
        updated_at=utc(state.last_updated_at),
        custom_status=plain(state.serialized_custom_status),
        input=plain(state.serialized_input) if payloads else None,
        output=plain(state.serialized_output) if payloads else None,
        failure=failure,
    )
