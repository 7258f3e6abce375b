"""Who answers: chat turns, sub-agents, sessions and the models behind them."""

from .chat import Chat
from .events import (
    TextDelta,
    ToolEnded,
    ToolStarted,
    TurnDone,
    TurnEvent,
    TurnFailed,
    WorkflowChanged,
)
from .models import Models, ModelSettings, make_models
from .sessions import SessionStore
from .sub_agents import AgentExecutor

__all__ = [
    "AgentExecutor",
    "Chat",
    "ModelSettings",
    "Models",
    "SessionStore",
    "TextDelta",
    "ToolEnded",
    "ToolStarted",
    "TurnDone",
    "TurnEvent",
    "TurnFailed",
    "WorkflowChanged",
    "make_models",
]
