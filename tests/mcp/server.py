"""A real MCP server for tests: `server.py stdio` or `server.py http PORT`.

Its tools do what a test asks of them, and say in files how far they have come.
"""

import asyncio
import os
import sys
from pathlib import Path

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import BaseModel, ConfigDict

server = MCPServer("lab", log_level="ERROR")
reads = ToolAnnotations(read_only_hint=True)


class Total(BaseModel):
    model_config = ConfigDict(extra="forbid")

    total: int
    parts: list[int]


@server.tool(annotations=reads)
def add(a: int, b: int) -> Total:
    """Add two numbers.

    More about it.
    """
    return Total(total=a + b, parts=[a, b])


@server.tool(structured_output=False)
def shout(text: str) -> str:
    """Say it louder."""
    return text.upper()


@server.tool(structured_output=False)
def fail(why: str) -> str:
    """Fail."""
    raise ToolError(why)


@server.tool()
def pid() -> dict[str, int]:
    """Which process this is."""
    return {"pid": os.getpid()}


@server.tool(structured_output=False)
def variable(name: str) -> str:
    """Read a variable of the server's environment."""
    return os.environ.get(name, "not set")


@server.tool(structured_output=False)
def die() -> str:
    """End the server in the middle of a call."""
    os._exit(3)


@server.tool(structured_output=False, annotations=reads)
def die_reading() -> str:
    """End the server in the middle of a call that changes nothing."""
    os._exit(3)


@server.tool(structured_output=False)
async def hang(folder: str) -> str:
    """Wait until the call is cancelled."""
    mark = Path(folder)
    mark.joinpath("entered").touch()
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        mark.joinpath("cancelled").touch()
        raise
    return "never"


if __name__ == "__main__":
    if sys.argv[1] == "http":
        server.run("streamable-http", port=int(sys.argv[2]))
    else:
        server.run()
