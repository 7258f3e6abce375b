"""
A `for_each` of N items through the whole app on the local host: `python -m bench.fanout [N …]`.

Each run is a plan of one task whose tool returns at once, so what is measured is the runtime. The
floor beside it is the least that an orchestration of N activities can cost here: as many turns of
an orchestrator that does nothing but call the next ones, on the same hub in the same process.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import sys
import tempfile
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

from azure.durable_functions import DFApp
from durabletask import task

from workflow_runtime.hosts.client import DurableTaskHub
from workflow_runtime.hosts.durable import orchestrate
from workflow_runtime.hosts.functions import Activity, register
from workflow_runtime.hosts.local.serve import working
from workflow_runtime.plan.grants import Limits
from workflow_runtime.plan.model import read_plan
from workflow_runtime.plan.policies import Policies
from workflow_runtime.service import Owner, RunInput

WIDTH = Limits().max_parallelism
NAME = "fanout"


def floor(context: task.OrchestrationContext, payload: str) -> Generator[Any, Any, str]:
    """Keep WIDTH activities running until there were as many as *payload* says."""
    left = int(payload)
    pending: list[task.Task[Any]] = []
    while left or pending:
        while left and len(pending) < WIDTH:
            pending.append(context.call_activity("workflow_tool", input="{}"))
            left -= 1
        done = yield task.when_any(pending)
        pending.remove(done)
    return payload


async def nothing(_payload: str, _service: object) -> str:
    return '{"value":1}'


def app_of(orchestrator: Any) -> DFApp:
    app = DFApp()
    register(
        app,
        orchestrator_name=NAME,
        orchestrator=orchestrator,
        activities=(Activity(name="workflow_tool", run=nothing),),
        routes=(),
        services=lambda _client: None,
    )
    return app


def payload_of(count: int) -> str:
    work = {"id": "f", "type": "tool", "tool": "t", "for_each": list(range(count)), "args": {}}
    started = RunInput(
        plan=read_plan({"tasks": [work], "output": "done"}),
        limits=Limits(),
        policies=Policies(),
        owner=Owner(principal="p", skill="s", session="s"),
        tells=False,
        root="bench",
    )
    return started.to_text()


async def seconds(orchestrator: Any, payload: str) -> float:
    """Return how long one orchestration takes from its start to its end."""
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        host = {"extensions": {"durableTask": {"maxConcurrentActivityFunctions": WIDTH}}}
        (root / "host.json").write_text(json.dumps(host))
        async with working(app_of(orchestrator), app_root=root, data=root / "data") as client:
            hub = DurableTaskHub(client)
            began = time.perf_counter()
            await hub.start("one", NAME, payload)
            ended = await hub.wait("one", 1800)
            took = time.perf_counter() - began
            await hub.close()
    if ended is None or ended.native_status != "COMPLETED":
        raise SystemExit(f"the orchestration ended as {ended}")
    return took


async def main() -> None:
    """Print one line per size."""
    logging.disable(logging.WARNING)
    parser = argparse.ArgumentParser(description="A for_each of N items on the local host.")
    parser.add_argument("sizes", type=int, nargs="*", default=[100, 500, 1000])
    for count in parser.parse_args().sizes:
        least = await seconds(floor, str(count))
        took = await seconds(orchestrate, payload_of(count))
        rate, ratio = count / took, took / least
        print(f"{count:6} items {took:7.2f} s {rate:6.0f}/s {ratio:6.2f} of the floor", flush=True)


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
