"""
What workflows cost in tokens, and what they save: `python -m bench.tokens`, in the repository.

First what every request of a skill carries: the five tools, the addendum, and the skill's own chat
tools. Then the two bundled jobs, done by a plan and done by direct tool calls, each through the
real loop: a real client of a model talks to a server on this machine whose answers are those of
the built-in demo model, and what it is sent is counted. By plan the whole app runs, with its hub
and its specialists. Directly the same tools are the model's own, either all calls of a kind in one
answer, which is the best that a model can do, or one call after the other.

Tokens are o200k_base, of the text of the messages and of the tools' JSON; what a provider adds for
each message is left out.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from pathlib import Path
from typing import Any

from bench.jobs import INCIDENT, NOW, REVIEW, ROOT, Spent, app_with, by_plan, directly, tokens
from tests.agents.fakes import FakeWorkflows
from tests.agents.typical import GRANTS
from workflow_runtime.agents.addendum import addendum
from workflow_runtime.agents.chat_tools import chat_tools
from workflow_runtime.agents.maf.tools import RawTool
from workflow_runtime.agents.management_tools import ManagementTools
from workflow_runtime.agents.tool_calls import Answer, ModelTool
from workflow_runtime.execution import ToolPool
from workflow_runtime.plan.encoding import dumps
from workflow_runtime.service import Owner
from workflow_runtime.skills import load_catalog

TARGET = 1_000

# -- what every request carries ------------------------------------------------------------------


def cost(tools: tuple[ModelTool, ...]) -> int:
    specs = [RawTool(tool).to_json_schema_spec()["function"] for tool in tools]
    return sum(tokens(dumps(spec)) for spec in specs)


async def _unasked(*_: Any) -> Answer:
    return Answer(text="")


def overhead(pool: ToolPool) -> list[tuple[str, int, int, int]]:
    """Return (skill, five tools, addendum, own chat tools) in tokens."""
    owner = Owner(principal="", skill="s", session="1")
    five = cost(ManagementTools(FakeWorkflows(), owner).tools())
    rows = [("typical: 4 tools, 2 sub-agents", five, tokens(addendum(GRANTS, NOW)), 0)]
    catalog = load_catalog(ROOT)
    for skill in catalog.fronts():
        own = chat_tools(catalog.chat_tools_of(skill.slug).values(), pool, ask=_unasked)
        added = tokens(addendum(catalog.grants(skill.slug), NOW))
        rows.append((skill.slug, five, added, cost(own)))
    return rows


# -- the tables -----------------------------------------------------------------------------------

HEADS = ("requests", "sent", "written", "total", "largest", "of front")


async def jobs(items: list[int]) -> None:
    print(f"{'job':<42}" + "".join(f"{head:>10}" for head in HEADS))
    with tempfile.TemporaryDirectory() as directory:
        scenes = [("incident", ROOT, "incident_triage", INCIDENT)]
        for count in items:
            root = app_with(count, Path(directory) / str(count))
            scenes.append((f"portfolio of {count}", root, "pr_portfolio", REVIEW))
        for name, root, skill, message in scenes:
            ways = {
                "by plan": by_plan(root, skill, message),
                "direct, calls at once": directly(root, skill, message, at_once=True),
                "direct, one by one": directly(root, skill, message, at_once=False),
            }
            for way, work in ways.items():
                print(f"{f'{name}, {way}':<42}{_line(await work)}")


def _line(spent: Spent | None) -> str:
    if spent is None:
        return "  not done: more requests than a turn may make"
    shown = (spent.requests, spent.sent, spent.written, spent.total, spent.largest, spent.of_front)
    return "".join(f"{number:>10}" for number in shown)


def main() -> None:
    parser = argparse.ArgumentParser(description="What workflows cost and save in tokens.")
    parser.add_argument("--items", type=int, nargs="*", default=[6, 60])
    options = parser.parse_args()
    pool = ToolPool(1)
    heads = ("5 tools", "addendum", "sum", "own tools")
    print(f"{'every request of a skill':<34}" + "".join(f"{head:>10}" for head in heads))
    for name, five, added, own in overhead(pool):
        over = "" if five + added <= TARGET else f"  over the target of {TARGET}"
        print(f"{name:<34}{five:>10}{added:>10}{five + added:>10}{own:>10}{over}")
    pool.close()
    print()
    asyncio.run(jobs(options.items))


if __name__ == "__main__":
    main()
