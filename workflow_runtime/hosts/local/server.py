"""
uvicorn and signals, as the local host wants them.

uvicorn would take Ctrl-C for itself and leave the work to be cut off; here the host hears it
first, so that HTTP and work stop together and in time.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, NoReturn, Self

import uvicorn
from starlette.types import ASGIApp

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Server(uvicorn.Server):
    """A uvicorn server that leaves signals alone and says when it answers."""

    def __init__(self, app: ASGIApp, *, ready: Callable[[], None], close_seconds: float) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=int(close_seconds),
            )
        )
        self._ready = ready

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()


class Interrupts:
    """Hears SIGINT and SIGTERM: the first is an event, the second the end of the process."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._heard = asyncio.Event()
        self._asked = False
        self._loop = asyncio.get_running_loop()
        self._before: dict[int, Any] = {}

    async def first(self) -> None:
        """Return at the first signal."""
        await self._heard.wait()

    def __enter__(self) -> Self:
        for number in _SIGNALS:
            self._before[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        if self._asked:
            leave(130)  # from here and not from the loop, which may be what hangs
        self._asked = True
        self._loop.call_soon_threadsafe(self._heard.set)
        self._say("stopping; press Ctrl-C again to stop at once")


def leave(code: int) -> NoReturn:
    """End the process now, whatever threads still run a function that does not end."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


async def settled(task: asyncio.Task[Any]) -> None:
    """Wait for *task* and keep what it raised to itself."""
    await asyncio.wait((task,))
    if not task.cancelled():
        task.exception()
