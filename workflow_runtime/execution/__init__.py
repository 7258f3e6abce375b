"""How one attempt is carried out: the only layer that runs what tool authors wrote."""

from .arguments import InvalidArgumentsError
from .attempts import call_tool, carry_out, refuse
from .calls import StepCalls
from .context import TaskContext, task_context
from .failures import AgentMissingError, OutcomeUnknownError
from .markers import FileMarkers, Markers
from .pool import ToolPool
from .redaction import redact
from .requests import AgentAnswer, AgentAsk, AgentRequest, AttemptRequest, SubAgents
from .results import MAX_RESULT_BYTES, ResultNotJsonError, to_json
from .signals import CancelSignals, Signal
from .tools import Tool, ToolBox

__all__ = [
    "MAX_RESULT_BYTES",
    "AgentAnswer",
    "AgentAsk",
    "AgentMissingError",
    "AgentRequest",
    "AttemptRequest",
    "CancelSignals",
    "FileMarkers",
    "InvalidArgumentsError",
    "Markers",
    "OutcomeUnknownError",
    "ResultNotJsonError",
    "Signal",
    "StepCalls",
    "SubAgents",
    "TaskContext",
    "Tool",
    "ToolBox",
    "ToolPool",
    "call_tool",
    "carry_out",
    "redact",
    "refuse",
    "task_context",
    "to_json",
]
