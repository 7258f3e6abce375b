"""The page opened in a browser over a fake skill, and the runs it is shown."""

from contextlib import asynccontextmanager
from datetime import UTC, datetime

from tests.web.browser import browsing
from tests.web.fakes import served
from workflow_runtime.agents.events import (
    TextDelta,
    ToolEnded,
    ToolStarted,
    TurnDone,
    WorkflowChanged,
)


def run(status="Running", **fields):
    """Return an envelope."""
    now = datetime.now(UTC).isoformat()
    return {
        "workflow_id": "o1-w1",
        "name": "Triage checkout",
        "status": status,
        "waiting_for": [],
        "progress": {"total": 2, "completed": 1, "running": 1, "failed": 0, "skipped": 0},
        "tasks": [
            {"id": "metrics", "status": "running", "attempts": 2, "started_at": now},
            {
                "id": "logs",
                "status": "completed",
                "attempts": 1,
                "started_at": now,
                "ended_at": now,
            },
        ],
        "created_at": now,
        "updated_at": now,
        "poll_after_seconds": 0.1,
    } | fields


def ended(before, status="Completed", **fields):
    progress = {"total": 2, "completed": 2, "running": 0, "failed": 0, "skipped": 0}
    now = datetime.now(UTC).isoformat()
    tasks = [task | {"status": "completed", "ended_at": now} for task in before["tasks"]]
    return (
        before
        | {"status": status, "updated_at": now, "tasks": tasks, "progress": progress}
        | fields
    )


async def starting(asked):
    """Start a run and end the turn, as a skill does."""
    envelope = run()
    asked.workflows.put(asked.owner, envelope)
    yield ToolStarted(name="start_workflow")
    yield WorkflowChanged(envelope=envelope)
    yield ToolEnded(name="start_workflow", status="ok")
    yield TextDelta(text="I have **started** ")
    yield TextDelta(text="it.")
    yield TurnDone(response="I have **started** it.")


async def asking(asked):
    """Start a run that asks a person."""
    question = {
        "task": "drop",
        "kind": "approval",
        "message": "Drop <b>table</b>?",
        "tool": "drop_table",
        "args": {"name": "users"},
        "digest": "d1",
    }
    tasks = [
        {"id": "drop", "status": "waiting"},
        {"id": "report", "status": "pending", "after": ["drop"]},
    ]
    progress = {"total": 2, "completed": 0, "running": 0, "failed": 0, "skipped": 0}
    envelope = run(waiting_for=[question], tasks=tasks, progress=progress)
    asked.workflows.put(asked.owner, envelope)
    yield WorkflowChanged(envelope=envelope)
    yield TurnDone(response="Asked.")


@asynccontextmanager
async def opened(application, **options):
    async with served(application) as base, browsing(**options) as context:
        page = await context.new_page()
        wrong = []
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda said: wrong.append(said.text) if broke_policy(said) else None)
        await page.goto(f"{base}/skills/triage")
        yield page
        assert wrong == []


def broke_policy(said):
    """Tell whether the page itself did what its policy forbids; a report may try to."""
    return "Content Security" in said.text and "report" not in said.location["url"]


async def ask(page, text="what happened?"):
    await page.get_by_label("Message").fill(text)
    await page.keyboard.press("Enter")


async def running(page, chat):
    """Ask, wait until the run of the turn is shown, and return whose it is."""
    await ask(page)
    await expect(page.locator(".card .pill")).to_have_text("Running")
    return chat.asked[0].owner


def expect(locator):
    from playwright.async_api import expect as expected

    return expected(locator)
