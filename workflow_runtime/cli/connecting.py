"""How a command gets at the runs of a data directory: from the host that serves it, or alone."""

from __future__ import annotations

import argparse
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from ..app import build
from ..hosts.local.host import client_json
from ..hosts.local.hub import SqliteTaskHub, read_holder
from ..hosts.local.serve import working
from ..service import WorkflowService
from ..settings import Settings, prepare_local_environment
from .serving import data_directory, load_app


@asynccontextmanager
async def connected(options: argparse.Namespace, *, work: bool) -> AsyncIterator[WorkflowService]:
    """Give the service of the data directory that the options name.

    Where a host serves the directory it is asked; otherwise the hub is opened here, and with
    *work* the app's own work is done here as well.
    """
    root, data = options.app_root.resolve(), data_directory(options)
    prepare_local_environment(root, data)
    parts = build(root, Settings.read(root))
    holder = read_holder(data)
    if holder is not None and holder.address is not None:
        yield parts.services(client_json(holder.address))
    elif work:
        async with working(load_app(options), app_root=root, data=data) as client:
            yield parts.services(client)
    else:
        async with await SqliteTaskHub.open(data) as hub:
            yield parts.services(client_json(hub.address))
