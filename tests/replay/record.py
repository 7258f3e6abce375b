"""
Record a history of each plan feature from the SQLite hub: ``python -m tests.replay.record [NAME]``.

Record a new feature when it is built. Do not record an old one again because its test fails: runs
with that history are going on somewhere.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from durabletask.internal import orchestrator_service_pb2 as pb

from tests.contract.conftest import Durable, durable
from tests.fakes import OWNER, PATIENCE
from tests.replay.histories import FOLDER, folded, seen, write
from workflow_runtime.errors import DataDirectoryError, RetryableError, TerminalError


def tool(name: str, target: str = "give", /, **rest: Any) -> dict[str, Any]:
    return {"id": name, "type": "tool", "tool": target, **rest}


def gives(name: str, prepared: str, **rest: Any) -> dict[str, Any]:
    return tool(name, args={"name": prepared}, **rest)


async def tools(host: Durable) -> str:
    host.cast.returns["a"] = {"rows": [1, {"name": "Zoë"}]}
    read = tool("b", "echo", args={"text": "got ${a.result.rows}", "raw": "${a.result.rows[1]}"})
    return await host.start(gives("a", "a"), read, tool("c"), output="${b.result}")


async def wait(host: Durable) -> str:
    waits = [{"id": f"w{n}", "type": "wait", "duration": f"PT0.{n}S"} for n in (4, 2, 3)]
    until = {"id": "u", "type": "wait", "until": "${input}"}
    past = "2026-01-01T00:00:00Z"
    return await host.start(*waits, tool("a", depends_on=["w2"]), until, input=past)


async def sub_agent(host: Durable) -> str:
    write_it = {"id": "a", "type": "sub_agent", "agent": "writer", "task": "the ${input}"}
    return await host.start(write_it, tool("b", "echo", args={"t": "${a.text}"}), input="sea")


async def for_each(host: Durable) -> str:
    each = tool("each", "echo", for_each="${input}", args={"n": "${item}", "i": "${index}"})
    each |= {"concurrency": 2, "when": "item != `3`"}
    return await host.start(each, tool("none", for_each=[]), input=[1, 2, 3, 4, 5])


async def when(host: Durable) -> str:
    host.cast.returns["a"] = {"on": False}
    chosen = tool("b", when="a.result.on")
    return await host.start(
        gives("a", "a"),
        chosen,
        tool("c", "echo", args={"x": "${b.result}"}),
        tool("d", when={"ref": "${a.result.on}", "operator": "equals", "value": False}),
    )


async def on_error(host: Durable) -> str:
    host.cast.fails["a"] = [TerminalError("no")]
    host.cast.fails["2"] = [TerminalError("bad")]
    return await host.start(
        gives("a", "a", on_error="continue"),
        tool("b", when="a.status == 'failed'"),
        tool("e", for_each=[1, 2, 3], args={"name": "${item}"}, on_error="continue"),
    )


async def failure(host: Durable) -> str:
    host.cast.fails["b"] = [TerminalError("no")]
    ask = {"id": "w", "type": "wait", "duration": "PT1H"}
    return await host.start(
        tool("a"), gives("b", "b", depends_on=["a"]), ask, tool("c", depends_on=["w"])
    )


async def retry(host: Durable) -> str:
    host.cast.fails["a"] = [RetryableError("busy"), RetryableError("busy", retry_after=0.3)]
    host.cast.fails["b"] = [RetryableError("busy") for _ in range(5)]
    again = {"max_attempts": 3, "initial": "PT0.1S", "multiplier": 2}
    polls = tool("p", "give", retry={"max_attempts": 2, "initial": "PT0.1S", "until": "result.ok"})
    return await host.start(
        gives("a", "a", retry=again),
        gives("b", "b", retry=again, on_error="continue"),
        polls | {"on_error": "continue"},
    )


async def event(host: Durable) -> str:
    paid = {"id": "one", "type": "wait", "event": "paid"}
    second = {"id": "two", "type": "wait", "event": "paid", "depends_on": ["late"]}
    never = {"id": "late", "type": "wait", "event": "never", "timeout": "PT0.5S"}
    workflow_id = await host.start(paid, second, never | {"on_timeout": "continue"})
    await host.waits(workflow_id, 2)
    for name in ("a", "a", "b"):
        await host.service.send_event(OWNER, workflow_id, "paid", {"n": name}, event_id=name)
    return workflow_id


async def approval(host: Durable) -> str:
    ask = {"id": "ask", "type": "approval", "message": "Send it?"}
    workflow_id = await host.start(
        ask,
        tool("yes", "delete", args={"id": 1}),
        tool("no", "delete", args={"id": 2}, on_error="continue"),
        {"id": "late", "type": "approval", "message": "?", "timeout": "PT0.5S"}
        | {"on_error": "continue"},
    )
    for shown in await host.waits(workflow_id, 4):
        if shown["task"] != "late":
            await host.service.approve(
                OWNER,
                workflow_id,
                shown["task"],
                approved=shown["task"] != "no",
                digest=shown["digest"],
                by="ann",
            )
    return workflow_id


async def cancel(host: Durable) -> str:
    workflow_id = await host.start(
        tool("done"),
        tool("told", "gate", args={"name": "told"}, depends_on=["done"]),
        tool("next", depends_on=["told"]),
        {"id": "w", "type": "wait", "duration": "PT1H"},
    )
    await host.cast.gates.entered("told")
    await host.service.cancel(OWNER, workflow_id, "enough")
    return workflow_id


async def cancel_grace(host: Durable) -> str:
    workflow_id = await host.start(tool("deaf", "deaf"), tool("next", depends_on=["deaf"]))
    await host.cast.gates.entered("deaf")
    await host.service.cancel(OWNER, workflow_id, "enough")
    await host.ended(workflow_id)
    host.cast.gates.open("deaf")
    return workflow_id


async def breaker(host: Durable) -> str:
    each: dict[str, Any] = {"id": "each", "type": "sub_agent", "agent": "writer"}
    each |= {"task": "fail ${item}", "for_each": list(range(40))}
    each |= {"concurrency": 3, "on_error": "continue"}
    return await host.start(each, tool("after", depends_on=["each"]))


async def rerun(host: Durable) -> str:
    host.cast.fails["b"] = [TerminalError("the first time")]
    each = tool("e", "echo", for_each=[1, 2], args={"n": "${item}"})
    first = await host.start(each, gives("b", "b", depends_on=["e"]))
    await host.ended(first)
    return str((await host.service.rerun(OWNER, first))["workflow_id"])


async def told_again(host: Durable) -> str:
    host.lab.told.fails = [DataDirectoryError("the share is away")]
    return await host.start(tool("a"))


async def told_when_free(host: Durable) -> str:
    host.lab.told.busy = 1
    return await host.start(tool("a"))


SCENES: dict[str, Callable[[Durable], Awaitable[str]]] = {
    scene.__name__: scene
    for scene in (
        tools, wait, sub_agent, for_each, when, on_error, failure, retry, event, approval, cancel,
        cancel_grace, breaker, rerun, told_again,
        told_when_free,
    )
}  # fmt: skip


async def record(name: str) -> None:
    """Play a scene, and keep its history where there is none yet."""
    path = FOLDER / f"{name}.json"
    if path.exists():
        return
    with tempfile.TemporaryDirectory() as data:
        async with durable("sqlite", Path(data)) as host:
            workflow_id = await SCENES[name](host)
            await host.ended(workflow_id)
            await host.hub.wait(workflow_id, PATIENCE)
            request = pb.StreamInstanceHistoryRequest(instanceId=workflow_id)
            chunks = host.hub._client._get_stub().StreamInstanceHistory(request)
            events = [event async for chunk in chunks for event in chunk.events]
            write(path, events, seen(folded(events)))


async def main(names: list[str]) -> None:
    for name in names or SCENES:
        await record(name)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
