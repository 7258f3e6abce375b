"""What the model asked for. Pure: no I/O, no clock, no vendor."""

from .check import Checked, check
from .grants import AgentGrant, Grants, Limits, ToolGrant
from .model import AgentTask, Condition, Plan, Task, ToolTask, WaitTask, read_plan
from .problems import Problem
from .types import Json, JsonSchema

__all__ = [
    "AgentGrant",
    "AgentTask",
    "Checked",
    "Condition",
    "Grants",
    "Json",
    "JsonSchema",
    "Limits",
    "Plan",
    "Problem",
    "Task",
    "ToolGrant",
    "ToolTask",
    "WaitTask",
    "check",
    "read_plan",
]
