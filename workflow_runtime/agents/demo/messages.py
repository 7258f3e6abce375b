"""What the demo model reads and writes: plain values, so that it knows no vendor."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DemoCall:
    """One call of a tool; ``arguments`` is the text a model would send."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoMessage:
    """One message of the conversation, as the model is given it."""

    role: str
    text: str = ""
    calls: tuple[DemoCall, ...] = ()
    results: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoRequest:
    """One request to the model: system text, conversation, names of its tools."""

    instructions: str
    messages: tuple[DemoMessage, ...]
    tools: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoReply:
    """What the model says, and what it calls after that."""

    text: str = ""
    calls: tuple[DemoCall, ...] = ()
