"""How one attempt is carried out: the only layer that runs what tool authors wrote."""

from .arguments import InvalidArgumentsError
from .attempts import (
    AgentAnswer,
    AgentRequest,
    AttemptRequest,
    SubAgents,
    call_tool,
    carry_out,
)
from .context import TaskContext, task_context
from .failures import AgentMissingError
from .pool import ToolPool
from .redaction import redact
from .results import ResultNotJsonError, to_json
from .tools import Tool, ToolBox

__all__ = [
    "AgentAnswer",
    "AgentMissingError",
    "AgentRequest",
    "AttemptRequest",
    "InvalidArgumentsError",
    "ResultNotJsonError",
    "SubAgents",
    "TaskContext",
    "Tool",
    "ToolBox",
    "ToolPool",
    "call_tool",
    "carry_out",
    "redact",
    "task_context",
    "to_json",
]
