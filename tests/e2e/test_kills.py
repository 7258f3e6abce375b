"""A host that is killed in every kind of step, and its runs that end right all the same."""

import asyncio
import json
import os
import random
import shutil
from datetime import timedelta
from pathlib import Path

import pytest

from tests.e2e.served import ROOT, serving, until
from workflow_runtime.app import build
from workflow_runtime.hosts.local.host import client_json
from workflow_runtime.hosts.local.hub import read_holder
from workflow_runtime.service import Owner, has_ended
from workflow_runtime.settings import Settings

KILLS = int(os.environ.get("TEST_APP_KILLS", "6"))
OWNER = Owner(principal="p", skill="desk", session="s")
SKILL = """---
name: Desk
description: Acts.
endpoints: {{chat: true}}
workflows: {{enabled: true, subagents: [{{agent: writer}}], limits: {{max_active: 50}}}}
---
{text}
"""
PLAN = {
    "tasks": [
        {"id": "one", "tool": "charge", "args": {"amount": 1}},
        {"id": "pause", "type": "wait", "duration": "PT0.5S", "depends_on": ["one"]},
        {
            "id": "many",
            "tool": "send",
            "for_each": [1, 2, 3, 4, 5, 6],
            "args": {"amount": "${item}"},
        },
        {"id": "again", "tool": "shaky", "args": {"amount": 3}, "depends_on": ["pause"]},
        {"id": "said", "type": "sub_agent", "agent": "writer", "task": "Say ${many.result}."},
        {"id": "last", "tool": "charge", "args": {"amount": 9}, "depends_on": ["again", "said"]},
    ],
    "output": {"many": "${many.result}", "again": "${again.result}", "last": "${last.result}"},
}


@pytest.fixture
def app(tmp_path):
    (tmp_path / "skills" / "tools").mkdir(parents=True)
    (tmp_path / "skills" / "desk.agent.md").write_text(SKILL.format(text="You act."))
    writer = "---\nname: Writer\ndescription: Writes.\n---\nYou write.\n"
    (tmp_path / "skills" / "writer.agent.md").write_text(writer)
    tools = Path(__file__).with_name("kill_tools.py")
    shutil.copy(tools, tmp_path / "skills" / "tools" / "tools.py")
    for name in ("function_app.py", "host.json"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


class Runs:
    """The runs of a served app, over its hub's own protocol."""

    def __init__(self, app, data):
        self._parts = build(app, Settings.read(app, {"WORKFLOW_RUNTIME_DATA": str(data)}))
        self._data = data

    def service(self):
        holder = read_holder(self._data)
        assert holder is not None
        assert holder.address is not None
        return self._parts.services(client_json(holder.address))

    async def start(self, plan):
        answer = await self.service().start(OWNER, plan, tells=False)
        return answer["workflow_id"]

    async def ended(self, workflow_id):
        async with asyncio.timeout(30):
            while True:
                envelope = await self.service().status(OWNER, workflow_id)
                if has_ended(envelope["status"]):
                    return envelope
                await asyncio.sleep(0.05)


def lines(app):
    return [json.loads(line) for line in (app / "book" / "calls.jsonl").read_text().splitlines()]


@pytest.mark.timeout(60 + 4 * KILLS)
async def test_runs_end_right_though_the_host_is_killed_and_no_key_acts_twice(app):
    data = app / "data"
    chance = random.Random(KILLS)
    runs = Runs(app, data)
    started = []
    for _ in range(KILLS):
        with serving(data, root=app) as host:
            started.append(await runs.start(PLAN))
            await asyncio.sleep(chance.uniform(0.05, 0.9))
            host.kill()
    with serving(data, root=app):
        for workflow_id in started:
            envelope = await runs.ended(workflow_id)
            assert envelope["status"] == "Completed", envelope
            assert envelope["output"] == {"many": [1, 2, 3, 4, 5, 6], "again": 3, "last": 9}
    calls = [line for line in lines(app) if "step" in line]
    effects = [line["effect"] for line in lines(app) if "effect" in line]
    keys = {(call["run"], call["step"]): call["key"] for call in calls}
    assert all(keys[call["run"], call["step"]] == call["key"] for call in calls)
    assert len(set(keys.values())) == len(keys) == KILLS * 9
    assert sorted(effects) == sorted(set(effects)) == sorted(keys.values())


async def test_a_tool_that_acts_once_is_not_called_again_after_a_kill(app):
    data = app / "data"
    runs = Runs(app, data)
    with serving(data, root=app) as host:
        workflow_id = await runs.start({"tasks": [{"id": "go", "tool": "launch"}]})
        await asyncio.to_thread(until, (app / "book" / "calls.jsonl").exists)
        host.kill()
    with serving(data, root=app):
        envelope = await runs.ended(workflow_id)
    assert envelope["status"] == "Failed"
    assert envelope["error"]["code"] == "outcome_unknown"
    assert len([line for line in lines(app) if "step" in line]) == 1


async def test_a_wait_that_came_due_while_nobody_ran_is_done_at_the_next_start(app):
    data = app / "data"
    runs = Runs(app, data)
    with serving(data, root=app) as host:
        wait = {"id": "w", "type": "wait", "duration": "PT1S"}
        workflow_id = await runs.start({"tasks": [wait]})
        host.kill()
    await asyncio.sleep(timedelta(seconds=1).total_seconds())
    with serving(data, root=app):
        assert (await runs.ended(workflow_id))["status"] == "Completed"
