"""
What the hub answers when it will not do what a caller asks.

A refusal is decided before anything is written; the gRPC service turns ``reason`` into a status
code, callers in the same process see the exception.
"""

from __future__ import annotations

from enum import Enum

from workflow_runtime.errors import HubUnavailableError


class Reason(Enum):
    """Why a call was refused."""

    ALREADY_EXISTS = "already_exists"
    NOT_FOUND = "not_found"
    LEASE_LOST = "lease_lost"
    NOT_BUILT = "not_built"
    INVALID = "invalid"


class RefusedError(HubUnavailableError):
    """The hub is well, and declines this one call."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason
