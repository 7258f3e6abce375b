"""
Who a run belongs to, and the ids that say so.

A run id is ``<owner>-<time>-<random>``: a keyed hash (HMAC-SHA-256, 80 bits) of principal, skill
and session; the start in milliseconds, counted down, so that the newest id sorts first; and 32
random bits. A run that was started with an idempotency key has ``k-`` and a hash of the key in the
place of time and chance, so that two starts with one key are one id. The hash makes listing a
prefix query, and a foreign id unreadable without the key.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

KEYED = "k-"
_OWNER_HEX = 20
_TIME_HEX = 11
_LATEST_MS = 16**_TIME_HEX - 1
_KEY_HEX = 32
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
        text = _bytes(_SEPARATOR.join((owner.principal, owner.skill, owner.session)))
        return tuple(
            f"{hmac.new(key, text, hashlib.sha256).hexdigest()[:_OWNER_HEX]}-" for key in self._keys
        )

    def owns(self, owner: Owner, workflow_id: str) -> bool:
        """Whether the run is the owner's."""
        return any(
            hmac.compare_digest(_bytes(workflow_id[: len(prefix)]), _bytes(prefix))
            for prefix in self.prefixes(owner)
        )

    def keyed_ids(self, owner: Owner, key: str) -> tuple[str, ...]:
        """Return the ids that a run started with this idempotency key may have."""
        digest = hashlib.sha256(_bytes(key)).hexdigest()[:_KEY_HEX]
        return tuple(f"{prefix}{KEYED}{digest}" for prefix in self.prefixes(owner))

    def new_id(self, owner: Owner, now: datetime, *, key: str | None = None) -> str:
        """Make the id of a run that starts now, or of the one run that has the key."""
        if key is not None:
            return self.keyed_ids(owner, key)[0]
        countdown = _LATEST_MS - int(now.timestamp() * 1000)
        return f"{self.prefixes(owner)[0]}{countdown:0{_TIME_HEX}x}-{secrets.token_hex(4)}"


def _bytes(text: str) -> bytes:
    """Encode any text: JSON lets a client send halves of characters."""
    return text.encode("utf-8", "surrogatepass")
