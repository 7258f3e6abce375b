"""
Where sessions are kept: one append-only JSON Lines file per owner.

A line is one record, written whole and flushed to the disk before ``append`` returns. A process
that dies in the middle of a write leaves a torn last line: it is cut off by the next append, and
readers ignore it, so that what was acknowledged stays and nothing else appears. This file knows
records, not models and not turns.
"""

from __future__ import annotations

import asyncio
import os
import sys
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Literal, Self

from ..errors import DataDirectoryError
from ..logs import get_logger
from ..plan.encoding import dumps, loads
from ..plan.types import Json
from ..service import Owner

if sys.platform != "win32":
    import fcntl

logger = get_logger(__name__)

type RecordKind = Literal["user", "assistant", "notification", "failed"]
_KINDS = frozenset({"user", "assistant", "notification", "failed"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One call of a tool: the model's argument text and the tool's answer, as they were."""

    name: str
    arguments: str
    result: str
    status: Literal["ok", "error"] = "ok"

    def to_json(self) -> dict[str, Json]:
        """Write the call."""
        return {
            "name": self.name,
            "arguments": self.arguments,
            "result": self.result,
            "status": self.status,
        }

    @classmethod
    def from_json(cls, value: Json) -> Self:
        """Read the call; raises KeyError, TypeError or ValueError for anything else."""
        if not isinstance(value, dict):
            message = "a tool call is an object"
            raise TypeError(message)
        return cls(
            name=str(value["name"]),
            arguments=str(value["arguments"]),
            result=str(value["result"]),
            status="error" if value.get("status") == "error" else "ok",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One thing that happened in a session.

    ``user`` and ``notification`` begin a turn, ``assistant`` and ``failed`` end it. ``at`` is
    RFC 3339 in UTC. ``workflow_id`` is the run of a notification, and on a record that ends a turn
    the run whose notification it answers; ``context`` is what a caller gave with a message, and
    ``code`` the reason of a turn that failed.
    """

    kind: RecordKind
    text: str
    at: str
    workflow_id: str | None = None
    code: str | None = None
    context: str | None = None
    calls: tuple[ToolCall, ...] = field(default=())

    def to_json(self) -> dict[str, Json]:
        """Write the record without its empty fields."""
        value: dict[str, Json] = {"kind": self.kind, "text": self.text, "at": self.at}
        optional = {"workflow_id": self.workflow_id, "code": self.code, "context": self.context}
        value |= {name: given for name, given in optional.items() if given is not None}
        if self.calls:
            value["calls"] = [call.to_json() for call in self.calls]
        return value

    @classmethod
    def from_json(cls, value: Json) -> Self:
        """Read the record; raises KeyError, TypeError or ValueError for anything else."""
        if not isinstance(value, dict):
            message = "a record is an object"
            raise TypeError(message)
        kind = value["kind"]
        if kind not in _KINDS:
            message = f"unknown kind of record {kind!r}"
            raise ValueError(message)
        calls = value.get("calls", [])
        return cls(
            kind=kind,  # type: ignore[arg-type]  # checked above
            text=str(value["text"]),
            at=str(value["at"]),
            workflow_id=_optional(value, "workflow_id"),
            code=_optional(value, "code"),
            context=_optional(value, "context"),
            calls=tuple(ToolCall.from_json(c) for c in calls) if isinstance(calls, list) else (),
        )


def _optional(value: dict[str, Json], name: str) -> str | None:
    given = value.get(name)
    return None if given is None else str(given)


class SessionStore:
    """The sessions of one data directory, which one process at a time writes to.

    All methods raise DataDirectoryError when the directory cannot be read or written.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    async def read(self, owner: Owner) -> tuple[Record, ...]:
        """Return the owner's records, oldest first; none for a session that is new."""
        return await asyncio.to_thread(self._read, self._path(owner))

    async def append(self, owner: Owner, *records: Record) -> None:
        """Store the records in this order; when this returns, they are on the disk."""
        lines = "".join(dumps(record.to_json()) + "\n" for record in records).encode()
        await asyncio.to_thread(self._append, self._path(owner), lines)

    def _path(self, owner: Owner) -> Path:
        identity = f"{owner.principal}\0{owner.skill}\0{owner.session}"
        return self._directory / f"{sha256(identity.encode()).hexdigest()}.jsonl"

    @staticmethod
    def _read(path: Path) -> tuple[Record, ...]:
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return ()
        except OSError as error:
            message = f"the session file {path} cannot be read: {error.strerror}"
            raise DataDirectoryError(message) from error
        records = []
        for number, line in enumerate(content.split(b"\n")[:-1], start=1):
            try:
                records.append(Record.from_json(loads(line)))
            except (ValueError, KeyError, TypeError):
                logger.warning("line %d of the session file %s is damaged", number, path.name)
        return tuple(records)

    def _append(self, path: Path, lines: bytes) -> None:
        try:
            new = not path.exists()
            self._directory.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                _lock(descriptor)
                os.lseek(descriptor, _end_of_last_line(descriptor), os.SEEK_SET)
                _write_all(descriptor, lines)
                os.truncate(descriptor, os.lseek(descriptor, 0, os.SEEK_CUR))
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            if new:
                _sync_directory(self._directory)
        except OSError as error:
            message = (
                f"the session file {path} cannot be written: {error.strerror}; "
                "look at the data directory's space and permissions"
            )
            raise DataDirectoryError(message) from error


def _lock(descriptor: int) -> None:
    """Wait for other processes that write the file, such as another instance on a shared disk."""
    if sys.platform != "win32":
        fcntl.flock(descriptor, fcntl.LOCK_EX)  # let go of when the descriptor is closed


def _end_of_last_line(descriptor: int) -> int:
    """Return the offset after the last newline: what follows it was never acknowledged."""
    end = os.lseek(descriptor, 0, os.SEEK_END)
    while end > 0:
        start = max(0, end - 4096)
        newline = os.pread(descriptor, end - start, start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        end = start
    return 0


def _write_all(descriptor: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]


def _sync_directory(directory: Path) -> None:
    """Make a new file's name durable, where the platform can."""
    if os.name != "posix":
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
