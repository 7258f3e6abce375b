"""Durable workflows for hosted skills: plans written by models, run as Durable Functions."""

from .errors import (
    ConfigurationError,
    RetryableError,
    TerminalError,
    ToolError,
    WorkflowRuntimeError,
)
from .execution.context import TaskContext, task_context
from .skills.decorators import tool, workflow_tool

__all__ = [
    "ConfigurationError",
    "RetryableError",
    "TaskContext",
    "TerminalError",
    "ToolError",
    "WorkflowRuntimeError",
    "create_function_app",
    "task_context",
    "tool",
    "workflow_tool",
]


def __getattr__(name: str) -> object:
    """Import the app only when it is asked for: a tool file needs none of it."""
    if name == "create_function_app":
        from .app import create_function_app  # noqa: PLC0415

        return create_function_app
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)
