"""The grammar that most plans do not need, read by a model when it asks."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

TOPICS = ("expressions", "failures", "approvals", "waiting")


@cache
def help_text(topic: str) -> str:
    """Return the text of one of TOPICS."""
    return (files(__package__) / "help" / f"{topic}.md").read_text(encoding="utf-8").strip()
