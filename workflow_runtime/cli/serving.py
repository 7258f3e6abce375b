"""``serve``: the function app on this machine."""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import logging
import sys
from pathlib import Path
from typing import Any

from azure.functions import FunctionRegister

from ..errors import ConfigurationError
from ..hosts.local import listing, server
from ..hosts.local import serve as local
from ..settings import DATA_FOLDER, prepare_local_environment
from .output import Output


def data_directory(options: argparse.Namespace) -> Path:
    """Return the data directory that the options mean."""
    given: Path | None = options.data
    return (given if given is not None else options.app_root / DATA_FOLDER).resolve()


def load_app(options: argparse.Namespace) -> FunctionRegister:
    """Import ``function_app.py`` as the Functions host does, and return its ``app``."""
    root = options.app_root.resolve()
    path = root / "function_app.py"
    if not path.is_file():
        message = f"there is no function_app.py in {str(root)!r}; name the app with --app-root"
        raise ConfigurationError(message)
    prepare_local_environment(root, data_directory(options))
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    spec = importlib.util.spec_from_file_location("function_app", path)
    if spec is None or spec.loader is None:
        message = f"{path.name} cannot be imported"
        raise ConfigurationError(message)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    app = getattr(module, "app", None)
    if not isinstance(app, FunctionRegister):
        message = f"{path.name} must define 'app', a function app"
        raise ConfigurationError(message)
    return app


def serve(options: argparse.Namespace, out: Output) -> int:
    """Serve until Ctrl-C."""
    app = load_app(options)

    def ready(rows: list[dict[str, Any]]) -> None:
        if out.as_json:
            out.answer({"functions": list(rows)})
            return
        out.text(listing.text(rows))
        pages = [row["url"] for row in rows if row["name"].startswith("page_")]
        for url in pages:
            out.text(f"Chat page: {url}")
        out.text("Press Ctrl-C to stop; what runs goes on at the next start.")

    code = asyncio.run(
        local.serve(
            app,
            app_root=options.app_root.resolve(),
            data=data_directory(options),
            port=options.port,
            ready=ready,
            say=out.say,
        )
    )
    server.leave(code)
