"""
The two ways a command uses the local host: to serve an app, and to run its work without HTTP.

Both open the SQLite task hub of a data directory, which one process may hold at a time.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from azure.functions import FunctionRegister

from ..host_json import HostSettings, read_host_json
from .host import LocalHost, client_json, listen
from .hub import HubOptions, SqliteTaskHub

RETENTION = timedelta(days=30)


async def serve(  # noqa: PLR0913 - what a command line says
    app: FunctionRegister,
    *,
    app_root: Path,
    data: Path,
    port: int,
    ready: Callable[[list[dict[str, Any]]], None],
    say: Callable[[str], None],
    retention: timedelta = RETENTION,
) -> int:
    """Serve *app* until Ctrl-C and return the exit code; end the process with ``leave`` then.

    Runs that ended longer than *retention* ago are forgotten.
    *ready* gets the rows of the listing when requests are answered, *say* a line for a person.
    Raises ConfigurationError (the port, ``host.json``, a binding) and DataDirectoryError.
    """
    settings = read_host_json(app_root / "host.json")
    with listen(port) as listener:
        base_url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        options = HubOptions(retention=retention)
        async with _opened(app, settings=settings, data=data, options=options) as (host, _):
            return await host.serve(listener, ready=lambda: ready(host.rows(base_url)), say=say)


@asynccontextmanager
async def working(app: FunctionRegister, *, app_root: Path, data: Path) -> AsyncIterator[str]:
    """Run *app*'s orchestrators and activities, without HTTP; gives the client binding's JSON.

    At the end what still runs is given back to the hub, for the next process.
    """
    settings = read_host_json(app_root / "host.json")
    async with _opened(app, settings=settings, data=data) as (host, client):
        host.start()
        try:
            yield client
        finally:
            await host.stop(drain=0)


@asynccontextmanager
async def _opened(
    app: FunctionRegister,
    *,
    settings: HostSettings,
    data: Path,
    options: HubOptions | None = None,
) -> AsyncIterator[tuple[LocalHost, str]]:
    async with await SqliteTaskHub.open(data, options=options) as hub:
        client = client_json(hub.address)
        yield LocalHost(app, hub, client, settings=settings), client
