"""
Calling one registered function: its bindings filled in, off the loop when it is synchronous.

Asynchronous functions run on the one loop, beside HTTP, as they do in the production worker: what
they share (sessions, clients, locks) belongs to that loop. Synchronous ones run in a pool.
"""

from __future__ import annotations

import asyncio
import threading
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import Any

import azure.functions as func

from .functions_app import Registered


class Caller:
    """Calls functions with the durable client's JSON for each client binding."""

    def __init__(self, client_json: str, *, threads: int) -> None:
        self._client_json = client_json
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="function")

    async def call(self, function: Registered, value: Any) -> Any:
        """Run *function* for the trigger value *value*; raises whatever the function raises."""
        arguments: dict[str, Any] = dict.fromkeys(function.clients, self._client_json)
        arguments[function.input_name] = value
        if function.wants_context:
            arguments["context"] = Invocation(function.name)
        if function.is_async:
            return await function.run(**arguments)
        call: Callable[[], Any] = partial(copy_context().run, function.run, **arguments)
        return await asyncio.get_running_loop().run_in_executor(self._pool, call)

    def close(self) -> None:
        """Take no more calls; one that is running is left to end by itself."""
        self._pool.shutdown(wait=False, cancel_futures=True)


class Invocation(func.Context):
    """The invocation context of a function that asks for one."""

    def __init__(self, function_name: str) -> None:
        self._function_name = function_name
        self._invocation_id = str(uuid.uuid4())
        self._storage = threading.local()

    @property
    def invocation_id(self) -> str:
        return self._invocation_id

    @property
    def thread_local_storage(self) -> threading.local:  # type: ignore[override]
        return self._storage

    @property
    def function_name(self) -> str:
        return self._function_name

    @property
    def function_directory(self) -> str:
        return ""

    @property
    def trace_context(self) -> None:  # type: ignore[override]
        """None: nothing traces an invocation here."""

    @property
    def retry_context(self) -> None:  # type: ignore[override]
        """None: this host retries no function."""
