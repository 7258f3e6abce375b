"""
What one chat turn tells its listener, in the order in which it happens.

A turn ends with exactly one TurnDone or TurnFailed; nothing follows it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ..plan.types import Json

type CallStatus = Literal["ok", "error"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDelta:
    """The next piece of the answer's text."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStarted:
    """The model has begun to call a tool; its arguments may still be coming in."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolEnded:
    """A tool has answered; ``error`` means that the answer tells the model of a problem."""

    name: str
    status: CallStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowChanged:
    """This turn started, looked at or stopped a run; ``envelope`` is its status envelope."""

    envelope: dict[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnDone:
    """The turn has ended with an answer, which is stored.

    ``tool_calls`` are ``{"name", "status"}``, ``workflows`` ``{"workflow_id", "status"}``, and
    ``usage`` ``{"input_tokens", "output_tokens"}``.
    """

    response: str
    tool_calls: tuple[dict[str, Json], ...] = ()
    workflows: tuple[dict[str, Json], ...] = ()
    usage: dict[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFailed:
    """The turn has ended without an answer.

    ``code`` is ``turn_timed_out``, ``turn_failed`` or a code of ModelError; ``status`` is the HTTP
    status that fits; ``message`` is for people and names the setting to look at.
    """

    code: str
    message: str
    status: int


type TurnEvent = TextDelta | ToolStarted | ToolEnded | WorkflowChanged | TurnDone | TurnFailed
