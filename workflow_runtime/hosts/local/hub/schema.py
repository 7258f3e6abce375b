"""
The one SQLite file: its tables, its version, and what is said when it cannot be used.

What is the truth about a run stands here and nowhere else; leases do not, they live and die with
the process. Sequence numbers and keys are given out by the writer, so no table needs
AUTOINCREMENT.

- instances   one row per orchestration; no payloads, so listing never reads one
- payloads    its input and output
- history     its committed events, one encoded event per row, in order
- inbox       events that no committed turn has seen; ``generation`` is None for events from
              outside, which survive a continue-as-new
- ready       instances whose inbox is worth a turn, first come first served
- tasks       activities that have no committed result, first come first served
- timers      what is to be put into an inbox, and when; ``timer_id`` -1 starts the instance
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path

from workflow_runtime.errors import DataDirectoryError

DATABASE_FILE = "hub.sqlite3"
SCHEMA_VERSION = 1
APPLICATION_ID = 0x57465254
START_TIMER = -1


class Durability(StrEnum):
    """SQLite's ``synchronous`` for the writer; see docs/decisions/0002-sqlite-hub.md."""

    FULL = "FULL"
    NORMAL = "NORMAL"


_TABLES = """
CREATE TABLE instances (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    execution TEXT NOT NULL,
    generation INTEGER NOT NULL,
    name TEXT NOT NULL,
    version TEXT,
    status INTEGER NOT NULL,
    created_us INTEGER NOT NULL,
    updated_us INTEGER NOT NULL,
    completed_us INTEGER,
    scheduled_us INTEGER,
    history_count INTEGER NOT NULL,
    parent_id TEXT,
    parent_generation INTEGER,
    parent_task INTEGER,
    tags TEXT,
    custom_status TEXT,
    failure BLOB,
    trace BLOB
);
CREATE INDEX instances_by_parent ON instances (parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX instances_by_completion ON instances (completed_us, id)
    WHERE completed_us IS NOT NULL;
CREATE TABLE payloads (key INTEGER PRIMARY KEY, input TEXT, output TEXT);
CREATE TABLE history (
    key INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    event BLOB NOT NULL,
    PRIMARY KEY (key, seq)
) WITHOUT ROWID;
CREATE TABLE inbox (
    seq INTEGER PRIMARY KEY,
    key INTEGER NOT NULL,
    generation INTEGER,
    event BLOB NOT NULL
);
CREATE INDEX inbox_by_key ON inbox (key);
CREATE TABLE ready (seq INTEGER PRIMARY KEY, key INTEGER NOT NULL UNIQUE);
CREATE TABLE tasks (
    seq INTEGER PRIMARY KEY,
    key INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    task_id INTEGER NOT NULL,
    name TEXT NOT NULL,
    version TEXT,
    request BLOB NOT NULL
);
CREATE INDEX tasks_by_key ON tasks (key);
CREATE TABLE timers (
    seq INTEGER PRIMARY KEY,
    key INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    timer_id INTEGER NOT NULL,
    fire_us INTEGER NOT NULL
);
CREATE INDEX timers_by_time ON timers (fire_us);
CREATE INDEX timers_by_key ON timers (key);
"""


def open_writer(path: Path, durability: Durability) -> sqlite3.Connection:
    """Open the file for its one writer, laying the tables into a new one.

    Raises DataDirectoryError if the file is damaged, foreign, newer or cannot be written.
    """
    with sqlite_faults(path):
        connection = _connect(path)
        try:
            _check(connection, path)
            # Says so now, and not at the first step, if the file cannot be written.
            connection.execute("PRAGMA journal_mode = WAL").fetchone()
            connection.execute(f"PRAGMA synchronous = {durability.value}")
            _lay_tables(connection)
        except BaseException:
            connection.close()
            raise
        return connection


def open_reader(path: Path) -> sqlite3.Connection:
    """Open the file for reading only."""
    with sqlite_faults(path):
        connection = _connect(path)
        connection.execute("PRAGMA query_only = ON")
        return connection


@contextmanager
def sqlite_faults(path: Path) -> Iterator[None]:
    """Turn what SQLite says about the file into one line that says what to do."""
    try:
        yield
    except sqlite3.Error as error:
        raise fault(path, error) from error


def fault(path: Path, error: sqlite3.Error) -> DataDirectoryError:
    """The DataDirectoryError for something SQLite said."""
    code = getattr(error, "sqlite_errorname", "") or ""
    where = repr(str(path))
    if code.startswith("SQLITE_FULL"):
        text = f"the disk is full: {where} could not grow; free some space, nothing is lost"
    elif code.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
        text = f"cannot write {where} ({error}): make its directory writable or use another --data"
    elif code.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
        text = (
            f"{where} is damaged ({error}): nothing was changed; restore it from a copy, or move"
            " it away to start with an empty hub"
        )
    elif code.startswith("SQLITE_IOERR"):
        text = f"{where} could not be read or written ({error}): look at the disk"
    else:
        text = f"{where} could not be used ({error})"
    return DataDirectoryError(text)


def _connect(path: Path) -> sqlite3.Connection:
    # Transactions are opened and closed by the writer, never by the driver.
    return sqlite3.connect(
        path, isolation_level=None, check_same_thread=False, cached_statements=256, timeout=5.0
    )


def _check(connection: sqlite3.Connection, path: Path) -> None:
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    application = int(connection.execute("PRAGMA application_id").fetchone()[0])
    tables = int(connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0])
    if tables and application != APPLICATION_ID:
        raise DataDirectoryError(
            f"{str(path)!r} is a database of some other program: choose another --data"
        )
    if version > SCHEMA_VERSION:
        raise DataDirectoryError(
            f"{str(path)!r} was written by a newer version (schema {version}, this one knows"
            f" {SCHEMA_VERSION}): update workflow-runtime, or choose another --data"
        )


def _lay_tables(connection: sqlite3.Connection) -> None:
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if version == SCHEMA_VERSION:
        return
    connection.executescript(
        f"BEGIN IMMEDIATE; {_TABLES}"
        f" PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {SCHEMA_VERSION};"
        " COMMIT;"
    )
