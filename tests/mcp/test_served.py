"""A plan with tools of an MCP server on the local host, until Ctrl-C."""

import asyncio
import os
import shutil
import signal
import threading
from pathlib import Path
from typing import Any

from tests.fakes import PATIENCE
from tests.mcp.conftest import LAB, lives, write_app
from workflow_runtime import app as composition
from workflow_runtime.hosts.local import serve
from workflow_runtime.hosts.local.host import client_json
from workflow_runtime.hosts.local.hub import read_holder
from workflow_runtime.service import Owner
from workflow_runtime.settings import Settings

ROOT = Path(__file__).parents[2]
PLAN = {
    "tasks": [
        {"id": "sum", "tool": "lab.add", "args": {"a": 1, "b": 2}},
        {"id": "said", "tool": "lab.shout", "args": {"text": "it is ${sum.result.total}"}},
        {"id": "who", "tool": "lab.pid"},
    ],
    "output": {"said": "${said.result}", "pid": "${who.result.pid}"},
}


def test_a_plan_calls_a_servers_tools_and_ctrl_c_ends_the_server(tmp_path, monkeypatch):
    root, data = write_app(tmp_path / "app", {"lab": LAB}), tmp_path / "data"
    shutil.copy(ROOT / "host.json", root)
    built = []
    build = composition.build

    def build_and_keep(*given):
        built.append(build(*given))
        return built[-1]

    monkeypatch.setattr(composition, "build", build_and_keep)
    settings = Settings(data=data, provider="demo", owner_key="k" * 32)
    app = composition.create_function_app(root, settings=settings)
    outputs: list[Any] = []

    async def run_plan():
        holder = read_holder(data)
        assert holder is not None
        # A client of its own: the host's belongs to the host's loop.
        service = built[0].services(client_json(str(holder.address), task_hub="another"))
        owner = Owner(principal="ann", skill="triage", session="s1")
        started = await service.start(owner, PLAN)
        ended = await service.status(owner, str(started["workflow_id"]), wait_seconds=PATIENCE)
        outputs.append(ended["output"])
        hub: Any = service._hub
        await hub.close()

    def drive():
        try:
            asyncio.run(run_plan())
        finally:
            os.kill(os.getpid(), signal.SIGINT)

    driver = threading.Thread(target=drive)
    code = asyncio.run(
        serve.serve(
            app,
            app_root=root,
            data=data,
            port=0,
            ready=lambda rows: driver.start(),
            say=lambda line: None,
        )
    )
    driver.join()
    assert code == 0
    [output] = outputs
    assert output["said"] == "IT IS 3"
    assert not lives(output["pid"])
