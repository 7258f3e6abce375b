"""All MCP servers asked for their tools at the same time, in a thread with a loop of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence

from .config import Server
from .session import NotOpenError, Session
from .tools import Offer

type Answer = tuple[Offer, ...] | str
"""The tools of a server, or why it has none."""


def ask_all(servers: Sequence[Server]) -> Mapping[str, Answer]:
    """Return each server's answer by its name; each has a few seconds for it.

    Their sessions are closed behind the caller's back: a server that hangs takes longer to end
    than anybody should wait. The thread is no daemon, so that a process that ends at once ends
    its servers first.
    """
    asking = _Asking(servers)
    thread = threading.Thread(target=asking.run, name="mcp-servers")
    thread.start()
    try:
        asking.answered.wait()
    except BaseException:
        asking.stop()
        raise
    return asking.answers


class _Asking:
    def __init__(self, servers: Sequence[Server]) -> None:
        self.answers: dict[str, Answer] = {each.name: "it was not asked" for each in servers}
        self.answered = threading.Event()
        self._servers = servers
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None

    def run(self) -> None:
        try:
            asyncio.run(self._main())
        except asyncio.CancelledError:
            pass
        finally:
            self.answered.set()

    def stop(self) -> None:
        """Close all sessions at once; from any thread."""
        loop, task = self._loop, self._task
        if loop is not None and task is not None:
            loop.call_soon_threadsafe(task.cancel)

    async def _main(self) -> None:
        self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        sessions = [Session(server) for server in self._servers]
        try:
            await asyncio.gather(*map(self._note, self._servers, sessions))
        finally:
            self.answered.set()
            await asyncio.gather(*(session.close() for session in sessions))

    async def _note(self, server: Server, session: Session) -> None:
        try:
            await session.opened()
        except NotOpenError as error:
            self.answers[server.name] = str(error)
        else:
            self.answers[server.name] = session.offers
