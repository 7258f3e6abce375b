"""
The production Python worker's own engine, in this process.

`azure-functions-runtime` is what runs inside the Functions Python worker; the process around it
only turns the host's gRPC messages into calls of it. This module plays that process: messages are
plain objects with the fields of the protocol, HTTP goes to the worker's own server beside an
invocation request, as it does behind the Functions host.
"""

import asyncio
import sys
import threading
import uuid
from contextlib import contextmanager
from types import SimpleNamespace

import httpx


class Message(SimpleNamespace):
    """A protocol message; `WhichOneof` names the field that is set, as protobuf does."""

    def WhichOneof(self, _group):  # noqa: N802 protobuf's name
        return next((name for name, value in vars(self).items() if value is not None), None)


class Protocol:
    """Every message of the protocol that the engine makes, by its name."""

    class StatusResult(Message):
        Failure, Success = 0, 1

    class BindingInfo(Message):
        in_, out, inout, undefined = 0, 1, 2, 0

    def __getattr__(self, name):
        return type(name, (Message,), {})


class WorkerEngine:
    """One worker with one function app; functions are called by their names."""

    def __init__(self, functions, http_uri, loop):
        self.functions = {function.name: function for function in functions}
        self._http_uri = http_uri
        self._loop = loop

    def trigger(self, name, *, trigger, client=None):
        """Invoke a function that HTTP does not trigger; return the invocation's response."""
        data = {trigger[0]: Message(string=trigger[1])}
        if client is not None:
            data["client"] = Message(string=client)
        return self._run(_invoke(self.functions[name], data, str(uuid.uuid4())))

    def http(self, name, method, path, *, parameters=None, client=None, **request):
        """Send an HTTP request as the host does; return the worker's answer to it."""
        call = self._http(name, method, path, parameters or {}, client, dict(request))
        return self._run(call)

    async def _http(self, name, method, path, parameters, client, request):
        invocation = str(uuid.uuid4())
        http = Message(
            method=method, url=path, headers={}, body=Message(), params=parameters, query={}
        )
        data = {"request": Message(http=http)}
        if client is not None:
            data["client"] = Message(string=client)
        headers = {**request.pop("headers", {}), "x-ms-invocation-id": invocation}
        async with httpx.AsyncClient() as http_client, asyncio.TaskGroup() as group:
            answer = group.create_task(
                http_client.request(method, self._http_uri + path, headers=headers, **request)
            )
            group.create_task(_invoke(self.functions[name], data, invocation))
        return answer.result()

    def _run(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(timeout=30)


async def _invoke(function, data, invocation):
    import azure_functions_runtime

    bindings = [Binding(name=name, data=value) for name, value in data.items()]
    request = Message(
        invocation_id=invocation,
        function_id=function.function_id,
        input_data=bindings,
        trigger_metadata={},
        trace_context=Message(trace_parent="", trace_state="", attributes={}),
        retry_context=Message(retry_count=0, max_retry_count=0, exception=None),
    )
    return await azure_functions_runtime.invocation_request(_request(invocation_request=request))


class Binding(Message):
    def WhichOneof(self, _group):  # noqa: N802 protobuf's name
        return "data"


def _request(**fields):
    return Message(
        request=Message(**fields), properties={"host": "127.0.0.1", "protos": Protocol()}
    )


class _Loop(asyncio.SelectorEventLoop):
    """Remembers the servers it opened: the engine never closes its own."""

    def __init__(self):
        super().__init__()
        self.servers = []

    async def create_server(self, *arguments, **options):
        server = await super().create_server(*arguments, **options)
        self.servers.append(server)
        return server


async def _start(directory):
    import azure_functions_runtime as runtime

    runtime.start_threadpool_executor()
    init = Message(capabilities={}, function_app_directory=str(directory))
    answer = await runtime.worker_init_request(_request(worker_init_request=init))
    if answer.result.status != Protocol.StatusResult.Success:
        raise AssertionError(answer.result.exception.stack_trace)
    metadata = await runtime.functions_metadata_request(_request())
    for function in metadata.function_metadata_results:
        load = Message(function_id=function.function_id)
        await runtime.function_load_request(_request(function_load_request=load))
    return metadata.function_metadata_results, answer.capabilities["HttpUri"]


@contextmanager
def worker_engine(directory):
    """Run the engine over the function app in *directory*, on a loop in a thread of its own."""
    import azure_functions_runtime as runtime

    loop = _Loop()
    thread = threading.Thread(target=loop.run_forever, name="worker")
    thread.start()
    sys.path.insert(0, str(directory))
    try:
        functions, uri = asyncio.run_coroutine_threadsafe(_start(directory), loop).result(
            timeout=30
        )
        yield WorkerEngine(functions, uri, loop)
    finally:
        sys.path.remove(str(directory))
        sys.modules.pop("function_app", None)
        asyncio.run_coroutine_threadsafe(_cancel_all(loop), loop).result(timeout=30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
        runtime.stop_threadpool_executor()


async def _cancel_all(loop):
    for server in loop.servers:
        server.close()
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
