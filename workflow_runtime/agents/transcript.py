"""
What a specialist needs to go on after a person's answer: its conversation, as JSON.

It stands in the history of a run twice, so it is bounded. It holds what was said and called, not
the instructions, which are read anew, and nothing of models and their keys.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

from ..errors import TerminalError
from ..plan.encoding import dumps
from ..plan.types import Json
from .conversation import Entry
from .sessions import ToolCall

MAX_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """A conversation whose last entry holds a call without an answer, the one at ``pending``.

    ``made`` says which calls were made, see :class:`~workflow_runtime.execution.StepCalls`.
    """

    entries: tuple[Entry, ...]
    pending: int
    made: Mapping[str, int]

    @classmethod
    def paused(cls, entries: Sequence[Entry], marker: str, made: Mapping[str, int]) -> Self:
        """Make one of a conversation in which the call that was answered by *marker* is open."""
        *earlier, last = entries
        pending = next(n for n, call in enumerate(last.calls) if call.result == marker)
        entries = (*earlier, _answered(last, pending, ""))
        return cls(entries=entries, pending=pending, made=made)

    def answered(self, text: str) -> tuple[Entry, ...]:
        """Return the conversation with the answer to the open call."""
        *earlier, last = self.entries
        return (*earlier, _answered(last, self.pending, text))

    def to_json(self) -> dict[str, Json]:
        """Write it; raises TerminalError where it is longer than MAX_BYTES."""
        value: dict[str, Json] = {
            "entries": [
                {
                    "role": entry.role,
                    "text": entry.text,
                    "calls": [call.to_json() for call in entry.calls],
                }
                for entry in self.entries
            ],
            "pending": self.pending,
            "made": dict(self.made),
        }
        size = len(dumps(value).encode())
        if size > MAX_BYTES:
            message = (
                f"the sub-agent's conversation has {size // 1024} KiB, and may have "
                f"{MAX_BYTES // 1024} KiB where a person is asked; give it a shorter task, or "
                "tools that answer less"
            )
            raise TerminalError(message)
        return value

    @classmethod
    def from_json(cls, value: Json) -> Self:
        """Read what :meth:`to_json` gave; raises TerminalError for anything else."""
        try:
            return cls._read(value)
        except (KeyError, TypeError, ValueError, IndexError):
            message = "the conversation that the sub-agent was in cannot be read any more"
            raise TerminalError(message) from None

    @classmethod
    def _read(cls, value: Json) -> Self:
        if not isinstance(value, dict) or not isinstance(value["entries"], list):
            raise TypeError
        entries = tuple(_entry(each) for each in value["entries"])
        pending, made = value["pending"], value["made"]
        if not isinstance(pending, int) or not isinstance(made, dict):
            raise TypeError
        entries[-1].calls[pending]
        times = {call: n for call, n in made.items() if isinstance(n, int)}
        return cls(entries=entries, pending=pending, made=times)


def _entry(value: Json) -> Entry:
    if not isinstance(value, dict) or not isinstance(value["calls"], list):
        raise TypeError
    return Entry(
        role="user" if value["role"] == "user" else "assistant",
        text=str(value["text"]),
        calls=tuple(ToolCall.from_json(call) for call in value["calls"]),
    )


def _answered(entry: Entry, number: int, text: str) -> Entry:
    calls = list(entry.calls)
    calls[number] = replace(calls[number], result=text)
    return replace(entry, calls=tuple(calls))
