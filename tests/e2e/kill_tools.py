"""Tools that write down each call, and act once per idempotency key."""

import asyncio
import json
import os
import time
from pathlib import Path

from workflow_runtime import RetryableError, task_context, workflow_tool

BOOK = Path(__file__).parents[2] / "book"


def note(**line):
    """Append one line that no kill can tear."""
    text = json.dumps(line) + "\n"
    BOOK.mkdir(exist_ok=True)
    book = os.open(BOOK / "calls.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(book, text.encode())
    os.close(book)


def act():
    """Have the effect of this step, unless it was had before under the same key."""
    context = task_context()
    note(step=context.task_id, run=context.workflow_id, key=context.idempotency_key)
    try:
        os.close(os.open(BOOK / context.idempotency_key, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    note(effect=context.idempotency_key)


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
