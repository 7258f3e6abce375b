"""Tools that write down each call, and act once per idempotency key."""

import asyncio
import fcntl
import json
import os
import time
from pathlib import Path

from workflow_runtime import RetryableError, task_context, workflow_tool

BOOK = Path(__file__).parents[2] / "book"


def note(*, once=False, **line):
    """Append one line that no kill can tear; *once*: unless it is there."""
    text = json.dumps(line) + "\n"
    BOOK.mkdir(exist_ok=True)
    path = BOOK / "calls.jsonl"
    book = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    fcntl.flock(book, fcntl.LOCK_EX)
    if not once or text not in path.read_text():
        os.write(book, text.encode())
    os.close(book)


def act():
    """Have the effect of this step, unless it was had before under the same key."""
    context = task_context()
    note(step=context.task_id, run=context.workflow_id, key=context.idempotency_key)
    note(once=True, effect=context.idempotency_key)


@workflow_tool(side_effects="idempotent")
def charge(amount: int) -> int:
    """Charge, slowly."""
    act()
    time.sleep(0.15)
    return amount


@workflow_tool(side_effects="idempotent")
async def send(amount: int) -> int:
    """Send, slowly."""
    act()
    await asyncio.sleep(0.15)
    return amount


@workflow_tool(side_effects="idempotent", retry={"max_attempts": 3, "initial": "PT0.2S"})
def shaky(amount: int) -> int:
    """Fail the first time."""
    act()
    if task_context().attempt == 1:
        message = "not yet"
        raise RetryableError(message)
    return amount


@workflow_tool(side_effects="once")
def launch() -> str:
    """Act once, whatever happens."""
    act()
    time.sleep(0.2)
    return "launched"
