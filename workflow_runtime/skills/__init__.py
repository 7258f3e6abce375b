"""What may be used: skills from ``.agent.md`` files, tools from Python files, and who gets what."""

from .catalog import MANAGEMENT_TOOLS, Catalog, load_catalog
from .decorators import tool, workflow_tool
from .model import (
    AuthLevel,
    ChatTools,
    Endpoints,
    McpAccess,
    ModelOptions,
    Skill,
    SubAgentLink,
    WorkflowSettings,
)

__all__ = [
    "MANAGEMENT_TOOLS",
    "AuthLevel",
    "Catalog",
    "ChatTools",
    "Endpoints",
    "McpAccess",
    "ModelOptions",
    "Skill",
    "SubAgentLink",
    "WorkflowSettings",
    "load_catalog",
    "tool",
    "workflow_tool",
]
