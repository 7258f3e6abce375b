"""
Marks that a tool which must act only once was about to be called.

An activity may be delivered again: its worker died, or its answer was lost. For a tool with
``side_effects="once"`` the second delivery must not call it. So a mark is made, and is on the disk,
before the first call; whoever finds it does not call.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Protocol

from ..errors import DataDirectoryError


class Markers(Protocol):
    """Keeps marks for as long as an attempt may be delivered again; shared by all workers."""

    def create(self, key: str) -> bool:
        """Make the mark of *key* and keep it; False where it is there already.

        May block. Raises DataDirectoryError when it cannot be kept; the tool is not called then.
        """
        ...

    def exists(self, key: str) -> bool:
        """Tell whether *key* has a mark; may block."""
        ...


class FileMarkers:
    """One empty file for each key, named by the key's SHA-256, in one directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def create(self, key: str) -> bool:
        """See :class:`Markers`; the file and its name are on the disk when this returns."""
        path = self._path(key)
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            try:
                made = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            except FileExistsError:
                return False
            _flush(made)
            # Where a directory can be opened its new entry is flushed as well.
            if directory_flag := getattr(os, "O_DIRECTORY", 0):
                _flush(os.open(self._directory, directory_flag))
        except OSError as error:
            raise DataDirectoryError(
                f"no mark can be kept in {str(self._directory)!r}: {error.strerror}; a tool with"
                " side_effects='once' is not called without one"
            ) from error
        return True

    def exists(self, key: str) -> bool:
        """See :class:`Markers`."""
        return self._path(key).exists()

    def _path(self, key: str) -> Path:
        return self._directory / hashlib.sha256(key.encode()).hexdigest()


def _flush(descriptor: int) -> None:
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
