"""Tools of MCP servers, for plans. Only modules of this package know the vendor's SDK."""

from .loading import McpTools, all_of, load_mcp_tools

__all__ = ["McpTools", "all_of", "load_mcp_tools"]
