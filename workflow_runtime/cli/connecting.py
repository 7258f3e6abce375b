"""How a command gets at the runs of a data directory: from the host that serves it, or alone."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from ..app import build
from ..errors import InvalidRequestError
from ..hosts.local.host import client_json
from ..hosts.local.hub import DATABASE_FILE, Holder, HubOptions, SqliteTaskHub, read_holder
from ..hosts.local.loading import load_function_app
from ..hosts.local.serve import working
from ..service import WorkflowService
from ..settings import Settings
from .places import prepare

_LOOKS, _PAUSE = 100, 0.05


def is_served(options: argparse.Namespace) -> bool:
    """Whether a host works on the data directory that the options name."""
    holder = read_holder(prepare(options).data)
    return holder is not None and holder.address is not None


async def _settled(data: Path) -> Holder | None:
    """Return who holds the directory; one that starts has a few seconds to say where it answers."""
    for _ in range(_LOOKS):
        holder = read_holder(data)
        if holder is None or holder.address is not None:
            return holder
        await asyncio.sleep(_PAUSE)
    return None


@asynccontextmanager
async def connected(
    options: argparse.Namespace, *, work: bool, plans: bool = False
) -> AsyncIterator[WorkflowService]:
    """Give the service of the data directory that the options name.

    Where a host serves the directory it is asked; otherwise the hub is opened here, and with
    *work* the app's own work is done here as well. Where *plans* are checked, or run, the app's MCP
    servers are asked for their tools.
    """
    places = prepare(options)
    if not work and not (places.data / DATABASE_FILE).exists():
        message = f"no runs are kept in {str(places.data)!r}; name their directory with --data"
        raise InvalidRequestError(message)
    parts = build(places.root, Settings.read(places.root), ask_servers=work or plans)
    holder = await _settled(places.data)
    if holder is not None and holder.address is not None:
        yield parts.services(client_json(holder.address))
    elif work:
        app = load_function_app(places.root)
        async with working(app, app_root=places.root, data=places.data) as client:
            yield parts.services(client)
    else:
        looking = HubOptions(is_announced=False)
        async with await SqliteTaskHub.open(places.data, options=looking) as hub:
            yield parts.services(client_json(hub.address))
