"""The name somebody probably meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(given: str, known: Iterable[str]) -> str | None:
    """Return the known name that *given* looks most like, None where none is near."""
    by_fold = {name.casefold(): name for name in known}
    found = get_close_matches(given[:100].casefold(), by_fold, 1)
    return by_fold[found[0]] if found else None


def known_or_near(given: str, known: Iterable[str]) -> str:
    """Say what may stand there instead of *given*, as the end of an error message."""
    names = sorted(known)
    if near := nearest(given, names):
        return f"did you mean {near!r}?"
    if not names:
        return "there are none"
    more = ", …" if len(names) > 20 else ""
    return f"there are {', '.join(names[:20])}{more}"
