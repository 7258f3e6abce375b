"""
One process owns a data directory.

The owner holds a lock on ``host.lock`` for as long as it lives; the kernel lets go of it when the
process ends, however it ends. The file also says who holds it, so that a second start can name
the first and a command line can talk to the host that runs. What the file says counts only while
the lock is held.
"""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from workflow_runtime.errors import DataDirectoryError

LOCK_FILE = "host.lock"
_PATIENCE = 5.0
_LOOK = 0.05

if sys.platform == "win32":
    import msvcrt

    # A locked byte cannot be read by others there, so the lock lies far behind the text.
    _LOCK_OFFSET = 1 << 30

    def _try_lock(descriptor: int) -> bool:
        os.lseek(descriptor, _LOCK_OFFSET, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
else:
    import fcntl

    def _try_lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Who holds a data directory: a process, and where its hub answers (``host:port``).

    Without an address it answers nobody: it starts, or is there for a moment only.
    """

    pid: int
    address: str | None
    started_at: str


class Ownership:
    """The lock on one data directory; ``release`` gives it back."""

    def __init__(self, descriptor: int, started_at: str) -> None:
        self._descriptor = descriptor
        self._started_at = started_at

    @classmethod
    def take(cls, directory: Path, *, now: datetime) -> Self:
        """Lock ``directory``, making it if it is missing; may block for a few seconds.

        A holder without an address only looks at what is there, or is about to answer: it is
        waited for. Raises DataDirectoryError if it cannot be written, or says who holds it.
        """
        try:
            directory.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(directory / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise DataDirectoryError(
                f"cannot write to the data directory {str(directory)!r} ({error.strerror}):"
                " make it writable or choose another one with --data"
            ) from error
        ends = time.monotonic() + _PATIENCE
        while not _try_lock(descriptor):
            holder = _parse(descriptor)
            if time.monotonic() > ends or (holder is not None and holder.address is not None):
                os.close(descriptor)
                raise DataDirectoryError(_held(directory, holder))
            time.sleep(_LOOK)
        ownership = cls(descriptor, now.astimezone(UTC).isoformat(timespec="seconds"))
        try:
            ownership.announce(None)
        except OSError as error:
            os.close(descriptor)
            raise DataDirectoryError(
                f"cannot write to the data directory {str(directory)!r} ({error.strerror})"
            ) from error
        return ownership

    def announce(self, address: str | None) -> None:
        """Write down who holds the directory and where it answers."""
        text = json.dumps({"pid": os.getpid(), "address": address, "started_at": self._started_at})
        os.ftruncate(self._descriptor, 0)
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        os.write(self._descriptor, text.encode())

    def release(self) -> None:
        """Give the directory back."""
        os.ftruncate(self._descriptor, 0)
        os.close(self._descriptor)


def read_holder(directory: Path) -> Holder | None:
    """The process that holds ``directory`` now, or None if nobody does."""
    try:
        descriptor = os.open(directory / LOCK_FILE, os.O_RDWR)
    except OSError:
        return None
    try:
        return None if _try_lock(descriptor) else _parse(descriptor)
    finally:
        os.close(descriptor)


def _parse(descriptor: int) -> Holder | None:
    os.lseek(descriptor, 0, os.SEEK_SET)
    try:
        value = json.loads(os.read(descriptor, 4096))
        return Holder(
            pid=int(value["pid"]), address=value["address"], started_at=str(value["started_at"])
        )
    except (ValueError, KeyError, TypeError):
        return None


def _held(directory: Path, holder: Holder | None) -> str:
    if holder is None:
        return f"the data directory {str(directory)!r} is held by another process"
    where = f" at {holder.address}" if holder.address else ""
    return (
        f"the data directory {str(directory)!r} is held by process {holder.pid}{where} since"
        f" {holder.started_at}: stop it, or choose another directory with --data"
    )
