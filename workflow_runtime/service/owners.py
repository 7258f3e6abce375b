"""
Who a run belongs to, and the ids that say so.

A run id is ``<owner>-<time>-<random>``: a keyed hash (HMAC-SHA-256, 80 bits) of principal, skill
and session; the start in milliseconds, counted down, so that the newest id sorts first; and 32
random bits. The hash makes listing a prefix query, and a foreign id unreadable without the key.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

_OWNER_HEX = 20
_TIME_HEX = 11
_LATEST_MS = 16**_TIME_HEX - 1
_SEPARATOR = "\x1f"


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """The principal, skill and session that a run belongs to."""

    principal: str
    skill: str
    session: str

    def to_json(self) -> dict[str, str]:
        """Return the fields."""
        return {"principal": self.principal, "skill": self.skill, "session": self.session}


class OwnerKeys:
    """The keys of the owner hash: the first one makes ids, all of them are read."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        self._keys = tuple(keys)

    def prefixes(self, owner: Owner) -> tuple[str, ...]:
        """Return the id prefixes of an owner, the current key's first."""
        text = _SEPARATOR.join((owner.principal, owner.skill, owner.session)).encode()
        return tuple(
            f"{hmac.new(key, text, hashlib.sha256).hexdigest()[:_OWNER_HEX]}-" for key in self._keys
        )

    def owns(self, owner: Owner, workflow_id: str) -> bool:
        """Whether the run is the owner's."""
        return any(
            hmac.compare_digest(workflow_id[: len(prefix)].encode(), prefix.encode())
            for prefix in self.prefixes(owner)
        )

    def new_id(self, owner: Owner, now: datetime) -> str:
        """Make the id of a run that starts now."""
        countdown = _LATEST_MS - int(now.timestamp() * 1000)
        return f"{self.prefixes(owner)[0]}{countdown:0{_TIME_HEX}x}-{secrets.token_hex(4)}"
