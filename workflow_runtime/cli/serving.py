"""``serve``: the function app on this machine."""

from __future__ import annotations

import argparse
import asyncio
import logging
from typing import Any

from ..hosts.local import listing, server
from ..hosts.local import serve as local
from ..hosts.local.loading import load_function_app
from .output import Output
from .places import prepare


def serve(options: argparse.Namespace, out: Output) -> int:
    """Serve until Ctrl-C."""
    places = prepare(options, log=logging.INFO)
    app = load_function_app(places.root)

    def ready(rows: list[dict[str, Any]]) -> None:
        if out.as_json:
            out.answer({"functions": list(rows)})
            return
        out.text(listing.text(rows))
        for row in rows:
            if row["name"].startswith("page_"):
                out.text(f"Chat page: {row['url']}/")
        out.text("Press Ctrl-C to stop; what runs goes on at the next start.")

    code = asyncio.run(
        local.serve(
            app,
            app_root=places.root,
            data=places.data,
            port=options.port,
            ready=ready,
            say=out.say,
            retention=options.retention,
        )
    )
    server.leave(code)
