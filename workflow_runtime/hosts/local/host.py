"""
The local host: runs a function app object exactly as it is registered, on this machine.

One process, one loop: HTTP on 127.0.0.1, work from the task hub, and the app's functions between
them. The task hub itself (and its gRPC address in the client's JSON) is the caller's to open and
to close.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable
from typing import Any

from azure.functions import FunctionRegister
from starlette.types import ASGIApp

from ...errors import ConfigurationError, WorkflowRuntimeError
from ...logs import get_logger
from ..host_json import HostSettings
from . import listing
from .calls import Caller
from .dispatch import Dispatcher, WorkSource
from .functions_app import read_app
from .http import HttpSide
from .server import Interrupts, Server, settled

DRAIN_SECONDS = 5.0
HTTP_SECONDS = 3.0
MESSAGE_BYTES = 64 * 1024 * 1024
_LOG = get_logger(__name__)


class LocalHost:
    """Carries one app: ``asgi`` answers HTTP, ``start`` and ``stop`` bound the work."""

    def __init__(
        self,
        app: FunctionRegister,
        work: WorkSource,
        client_json: str,
        *,
        settings: HostSettings,
        threads: int = 32,
    ) -> None:
        self.functions = read_app(app)
        self._settings = settings
        self._caller = Caller(client_json, threads=threads)
        self._http = HttpSide(self.functions.http, self._caller, prefix=settings.route_prefix)
        self._dispatcher = Dispatcher(work, self.functions, self._caller)
        self._work: asyncio.Task[None] | None = None

    @property
    def asgi(self) -> ASGIApp:
        """The Starlette application; it needs no lifespan."""
        return self._http.app

    def rows(self, base_url: str) -> list[dict[str, Any]]:
        """Return the functions and their URLs; see :mod:`.listing`."""
        return listing.rows(self.functions, base_url, self._settings.route_prefix)

    def start(self) -> asyncio.Task[None]:
        """Begin to take work; the task that is returned ends only when the hub fails."""
        run = self._dispatcher.run(
            orchestrators=self._settings.orchestrators, activities=self._settings.activities
        )
        self._work = asyncio.create_task(run, name="the task hub")
        return self._work

    async def stop(self, *, drain: float = DRAIN_SECONDS) -> None:
        """Take no more work, wait *drain* seconds for what runs, and give back the rest."""
        if self._work is not None:
            self._work.cancel()
            await settled(self._work)
        await self._dispatcher.drain(drain)
        self._caller.close()

    async def serve(
        self, listener: socket.socket, *, ready: Callable[[], None], say: Callable[[str], None]
    ) -> int:
        """Serve until Ctrl-C (or SIGTERM) and return the exit code; a second one exits at once.

        *ready* is called when requests are answered; *say* gets a line for a person.
        """
        server = Server(self.asgi, ready=ready, close_seconds=HTTP_SECONDS)
        with Interrupts(say) as interrupts:
            work = self.start()
            serving = asyncio.create_task(server.serve(sockets=[listener]), name="the HTTP server")
            asked = asyncio.create_task(interrupts.first())
            await asyncio.wait((work, serving, asked), return_when=asyncio.FIRST_COMPLETED)
            failed = not asked.done()
            asked.cancel()
            for task in (work, serving):
                if task.done():
                    _tell(task, say)
            server.should_exit = True
            await asyncio.gather(self.stop(), settled(serving), settled(asked))
        return 1 if failed else 0


def _tell(task: asyncio.Task[None], say: Callable[[str], None]) -> None:
    what, error = task.get_name(), task.exception()
    if error is not None and not isinstance(error, WorkflowRuntimeError):
        _LOG.error("%s failed", what, exc_info=error)
    say(f"{what} failed, so the host stops: {error or 'it ended'}")


def listen(port: int) -> socket.socket:
    """Bind 127.0.0.1:*port* (0 picks a free one); raises ConfigurationError when it cannot."""
    # asyncio turns Nagle's algorithm off only for sockets that name their protocol; left on, every
    # answer waits 40 ms for the other side's delayed acknowledgement.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(2048)
    except (OSError, OverflowError) as error:
        listener.close()
        message = f"cannot listen on 127.0.0.1:{port}: {_reason(error)}; choose another --port"
        raise ConfigurationError(message) from error
    listener.settimeout(0)
    return listener


def _reason(error: Exception) -> str:
    text = getattr(error, "strerror", None) or str(error)
    return str(text).lower()


def client_json(address: str, *, task_hub: str = "local") -> str:
    """Return what a durable-client binding gets: the hub's gRPC *address* ("127.0.0.1:port")."""
    return json.dumps(
        {
            "taskHubName": task_hub,
            "connectionName": "",
            "creationUrls": {},
            "managementUrls": {},
            "baseUrl": "",
            "requiredQueryStringParameters": "",
            "rpcBaseUrl": f"http://{address}",
            "httpBaseUrl": "",
            "maxGrpcMessageSizeInBytes": MESSAGE_BYTES,
        }
    )
