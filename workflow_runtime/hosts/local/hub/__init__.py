"""
A Durable Task hub in one SQLite file, for one process and those who call it.

Direction inside: hub -> service, calls -> dispatch, timers, retention, waiters -> writer, leases
-> completing, starting, ending, queries -> transaction, turn -> events, wire, schema, clock.
"""

from .hub import HubOptions, SqliteTaskHub
from .ownership import Holder, read_holder
from .refusal import Reason, RefusedError
from .schema import DATABASE_FILE, Durability

__all__ = [
    "DATABASE_FILE",
    "Durability",
    "Holder",
    "HubOptions",
    "Reason",
    "RefusedError",
    "SqliteTaskHub",
    "read_holder",
]
