"""Apps with MCP servers, and attempts at their tools."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from textwrap import dedent

import pytest

from tests.unit.execution.support import World, attempt
from workflow_runtime.execution import FileMarkers, ToolPool
from workflow_runtime.skills import load_catalog

SERVER = Path(__file__).with_name("server.py")
LAB = {"command": sys.executable, "args": [str(SERVER), "stdio"]}
SKILL = "---\ndescription: Triage.\nendpoints: {{chat: true}}\n{}\n---\nDo it well.\n"
PLANS = "workflows: {enabled: true}"


def write_app(folder, servers, skills=None):
    """Write `mcp.json` and skills, given by slug as lines of front matter."""
    (folder / "skills").mkdir(parents=True, exist_ok=True)
    (folder / "mcp.json").write_text(json.dumps({"servers": servers}))
    for slug, lines in (skills or {"triage": PLANS}).items():
        path = folder / "skills" / f"{slug}.agent.md"
        path.write_text(SKILL.format(dedent(lines).strip()))
    return folder


def load(folder, servers, skills=None, **options):
    return load_catalog(write_app(folder, servers, skills), **options)


class Attempts:
    """Attempts at the tools of one catalog, as an activity makes them."""

    def __init__(self, catalog, world):
        self.catalog, self.world = catalog, world

    async def __call__(self, tool, payload=None, **fields):
        request = attempt(payload, target=tool, **fields)
        return await self.world.carry_out(request, self.catalog.workflow_tools)

    async def value(self, tool, **payload):
        outcome = await self(tool, payload)
        assert "value" in outcome, outcome
        return outcome["value"]

    async def failure(self, tool, **payload):
        outcome = await self(tool, payload)
        assert "failure" in outcome, outcome
        return outcome["failure"]

    async def begun(self, folder, **fields):
        """Begin a call that hangs, and return its task when the server works on it."""
        folder.mkdir()
        call = asyncio.create_task(self("lab.hang", {"folder": str(folder)}, **fields))
        await until((folder / "entered").exists)
        return call


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    pool = ToolPool(2)
    yield World(pool, FileMarkers(tmp_path_factory.mktemp("markers")))
    pool.close()


async def until(holds, *, seconds=10.0):
    """Return when something holds that only looking can tell."""
    ends = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < ends, "it did not happen"
        await asyncio.sleep(0.01)


def lives(pid):
    """Tell whether a process is there."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
