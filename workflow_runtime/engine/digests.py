"""Short names for JSON values, equal for equal values."""

from __future__ import annotations

import hashlib

from ..plan.encoding import canonical
from ..plan.types import Json


def digest(*parts: Json) -> str:
    """Return 128 bits of SHA-256 over the parts' canonical JSON, in hexadecimal."""
    return hashlib.sha256(canonical(list(parts)).encode()).hexdigest()[:32]
