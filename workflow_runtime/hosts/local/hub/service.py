"""
Durable Task's gRPC service over the hub.

One coroutine per call that is built; the rest of the service answers UNIMPLEMENTED and says why.
Work items leave as bytes, since the hub puts them together encoded.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Self

import grpc
import grpc.aio
from durabletask.internal import orchestrator_service_pb2 as pb
from google.protobuf import message_factory

from workflow_runtime.errors import DataDirectoryError, HubUnavailableError

from .calls import Calls
from .refusal import Reason, RefusedError

if TYPE_CHECKING:
    from .hub import SqliteTaskHub

_SERVICE = "TaskHubSidecarService"
_STOP_GRACE = 1.0
_STREAMS = frozenset({"GetWorkItems", "StreamInstanceHistory"})
_ENCODED = frozenset({"GetWorkItems"})

_CODES = {
    Reason.ALREADY_EXISTS: grpc.StatusCode.ALREADY_EXISTS,
    Reason.NOT_FOUND: grpc.StatusCode.NOT_FOUND,
    Reason.LEASE_LOST: grpc.StatusCode.FAILED_PRECONDITION,
    Reason.NOT_BUILT: grpc.StatusCode.UNIMPLEMENTED,
    Reason.INVALID: grpc.StatusCode.INVALID_ARGUMENT,
}


class GrpcServer:
    """The service on its port."""

    def __init__(self, server: grpc.aio.Server, address: str) -> None:
        self._server = server
        self.address = address

    @classmethod
    async def start(cls, hub: SqliteTaskHub, port: int) -> Self:
        """Listen on 127.0.0.1; HubUnavailableError if the port is taken."""
        server = grpc.aio.server(
            options=[
                ("grpc.max_receive_message_length", hub.options.max_message),
                ("grpc.max_send_message_length", -1),
                ("grpc.so_reuseport", 0),
            ]
        )
        server.add_generic_rpc_handlers((_handlers(Calls(hub)),))
        try:
            bound = server.add_insecure_port(f"127.0.0.1:{port}")
        except RuntimeError as error:
            raise HubUnavailableError(
                f"port {port} of 127.0.0.1 is in use: choose another one, or 0 for any"
            ) from error
        await server.start()
        return cls(server, f"127.0.0.1:{bound}")

    async def stop(self) -> None:
        """Let calls end, then hang up."""
        await self._server.stop(_STOP_GRACE)


def _handlers(calls: Calls) -> grpc.GenericRpcHandler:
    """A handler for every method of the service, by its descriptor."""
    handlers = {}
    for method in pb.DESCRIPTOR.services_by_name[_SERVICE].methods:
        read = message_factory.GetMessageClass(method.input_type).FromString
        write = message_factory.GetMessageClass(method.output_type).SerializeToString
        call: Any = getattr(calls, _snake(method.name), None) or _not_built(method.name)
        if method.name in _STREAMS:
            handlers[method.name] = grpc.unary_stream_rpc_method_handler(
                _guarded_stream(call),
                request_deserializer=read,
                response_serializer=None if method.name in _ENCODED else write,
            )
        else:
            handlers[method.name] = grpc.unary_unary_rpc_method_handler(
                _guarded(call), request_deserializer=read, response_serializer=write
            )
    return grpc.method_handlers_generic_handler(_SERVICE, handlers)


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def _not_built(name: str) -> Callable[[Any], Awaitable[Any]]:
    async def refuse(_request: Any) -> Any:
        raise RefusedError(
            Reason.NOT_BUILT,
            f"the local task hub does not implement {name}: it has no entities, and does not"
            " suspend, rewind or restart",
        )

    return refuse


def _guarded(call: Callable[[Any], Awaitable[Any]]) -> Callable[[Any, Any], Awaitable[Any]]:
    async def guarded(request: Any, context: grpc.aio.ServicerContext) -> Any:
        try:
            return await call(request)
        except HubUnavailableError as error:
            await _abort(context, error)
        except DataDirectoryError as error:
            await context.abort(grpc.StatusCode.INTERNAL, str(error))

    return guarded


def _guarded_stream(
    call: Callable[[Any], AsyncGenerator[Any]],
) -> Callable[[Any, Any], AsyncGenerator[Any]]:
    async def guarded(request: Any, context: grpc.aio.ServicerContext) -> AsyncGenerator[Any]:
        try:
            async with aclosing(call(request)) as items:
                async for item in items:
                    yield item
        except HubUnavailableError as error:
            await _abort(context, error)
        except DataDirectoryError as error:
            await context.abort(grpc.StatusCode.INTERNAL, str(error))

    return guarded


async def _abort(context: grpc.aio.ServicerContext, error: HubUnavailableError) -> None:
    code = _CODES[error.reason] if isinstance(error, RefusedError) else grpc.StatusCode.UNAVAILABLE
    await context.abort(code, str(error))
