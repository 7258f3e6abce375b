"""Where a command works: the app's folder and its data directory."""

from __future__ import annotations

import argparse
import logging
from dataclasses import dataclass
from pathlib import Path

from ..errors import InvalidRequestError
from ..settings import DATA_FOLDER, prepare_local_environment


@dataclass(frozen=True, slots=True)
class Places:
    """The folders a command was given, absolute."""

    root: Path
    data: Path


def prepare(options: argparse.Namespace, *, log: int = logging.WARNING) -> Places:
    """Set the process up for the app that the options name, and return its places."""
    root: Path = options.app_root.resolve()
    if not root.is_dir():
        message = f"there is no folder {str(root)!r}; name the app's with --app-root"
        raise InvalidRequestError(message)
    given: Path | None = options.data
    places = Places(root, (given if given is not None else root / DATA_FOLDER).resolve())
    prepare_local_environment(places.root, places.data)
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s")
    for handler in logging.getLogger().handlers:
        handler.setLevel(log)
    return places
