"""The page in a real browser against a real server: what a person sees and can do."""

import asyncio
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import pytest
from starlette.responses import Response

from tests.web.browser import browsing
from tests.web.fakes import FakeChat, FakeWorkflows, app, served, skill
from workflow_runtime.agents.events import (
    TextDelta,
    ToolEnded,
    ToolStarted,
    TurnDone,
    TurnFailed,
    WorkflowChanged,
)
from workflow_runtime.service import Owner

REPORT = """<!doctype html><title>Portfolio</title><style>h1 {color: rgb(1, 2, 3)}</style>
<h1>Seven pull requests</h1><script>document.title = "ran"</script>
<img src="x" onerror="document.title = 'ran'">"""


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


def expect(locator):
    from playwright.async_api import expect as expected

    return expected(locator)


async def test_an_empty_conversation_introduces_the_skill_and_its_examples():
    async with opened(app([skill(examples=["checkout is returning 5xx"])])) as page:
        assert page.url.endswith("/skills/triage/")
        await expect(page.get_by_role("heading", name="Incident triage", level=2)).to_be_visible()
        await page.get_by_role("button", name="checkout is returning 5xx").click()
        await expect(page.get_by_label("Message")).to_have_value("checkout is returning 5xx")
        await expect(page.get_by_label("Message")).to_be_focused()


async def test_an_answer_is_shown_while_it_is_made():
    go_on = asyncio.Event()

    async def turn(_):
        yield TextDelta(text="First, ")
        await go_on.wait()
        yield TurnDone(response="First, **second** and <b>no markup</b>.")

    async with opened(app([skill()], chat=FakeChat(turn))) as page:
        await ask(page)
        await expect(page.locator(".message.user")).to_contain_text("what happened?")
        await expect(page.locator(".message.assistant.streaming")).to_contain_text("First,")
        await expect(page.get_by_role("button", name="Send")).to_be_disabled()
        go_on.set()
        answer = page.locator(".message.assistant .prose")
        await expect(answer).to_have_text("First, second and <b>no markup</b>.")
        await expect(answer.locator("strong")).to_have_text("second")
        await expect(page.locator(".streaming")).to_have_count(0)
        await expect(page.locator("#announcer")).to_contain_text("First, **second**")
        await expect(page.get_by_role("button", name="Send")).to_be_enabled()


async def test_a_run_is_followed_to_its_end_and_the_answer_comes_by_itself():
    chat, workflows = FakeChat(starting), FakeWorkflows()
    async with opened(app([skill()], chat=chat, workflows=workflows)) as page:
        await ask(page)
        card = page.get_by_role("article", name="Workflow Triage checkout: Running")
        await expect(card).to_contain_text("1 of 2 done · 1 running")
        await expect(card.get_by_role("progressbar")).to_have_attribute("aria-valuenow", "1")
        await expect(card.locator("li", has_text="metrics")).to_contain_text("Running")
        await expect(card.locator("li", has_text="metrics")).to_contain_text("attempt 2")

        owner = chat.asked[0].owner
        before = workflows.runs[owner]["o1-w1"]
        waiting = {"task": "settle", "kind": "timer", "message": "late samples"}
        workflows.put(owner, before | {"waiting_for": [waiting]})
        await expect(card.locator(".note.waiting")).to_contain_text("late samples")

        workflows.put(owner, ended(before, output={"cause": "deploy 42"}))
        card = page.get_by_role("article", name="Workflow Triage checkout: Completed")
        await expect(card).to_contain_text("2 of 2 done · took")
        await expect(card.locator(".note.waiting")).to_have_count(0)
        await expect(page.locator("#activity")).to_contain_text("its answer is coming")
        chat.say(owner, "assistant", "Deploy 42 did it.")
        await expect(page.locator(".message.assistant").last).to_contain_text("Deploy 42 did it.")
        await expect(page.locator("#activity")).to_be_hidden()
        await expect(page.locator("#announcer")).to_contain_text("Deploy 42 did it.")

        order = await page.locator("#timeline > article").evaluate_all(
            "all => all.map(one => one.className)"
        )
        assert order == ["message user", "message assistant", "card", "message assistant"]
        asked_before = len(workflows.calls)
        await card.get_by_text("Result as data").click()
        await expect(card.locator(".output pre")).to_contain_text("deploy 42")
        assert len(workflows.calls) == asked_before


async def test_a_reload_brings_back_the_conversation_and_goes_on_following_the_run():
    chat, workflows = FakeChat(starting), FakeWorkflows()
    async with opened(app([skill()], chat=chat, workflows=workflows)) as page:
        await ask(page)
        await expect(page.locator(".message.assistant")).to_contain_text("I have started it.")
        await page.reload()
        await expect(page.locator(".message")).to_have_count(2)
        await expect(page.locator(".card .pill")).to_have_text("Running")
        owner = chat.asked[0].owner
        workflows.put(owner, ended(workflows.runs[owner]["o1-w1"]))
        await expect(page.locator(".card .pill")).to_have_text("Completed")
        chat.say(owner, "assistant", "It is over.")
        await expect(page.locator(".message").last).to_contain_text("It is over.")


async def test_a_run_is_canceled_only_after_a_confirmation():
    chat, workflows = FakeChat(starting), FakeWorkflows()
    async with opened(app([skill()], chat=chat, workflows=workflows)) as page:
        await ask(page)
        cancel = page.get_by_role("button", name="Cancel workflow")
        await cancel.click()
        dialog = page.get_by_role("dialog", name="Cancel Triage checkout?")
        await dialog.get_by_role("button", name="Keep it running").click()
        assert not [call for call in workflows.calls if call[0] == "cancel"]
        await cancel.click()
        await dialog.get_by_role("button", name="Cancel workflow").click()
        await expect(page.locator(".card .pill")).to_have_text("Canceling")
        await expect(page.locator(".card .card-bottom button:visible")).to_have_count(0)
        assert [call for call in workflows.calls if call[0] == "cancel"] == [
            ("cancel", "o1-w1", "")
        ]


async def test_a_failed_run_shows_which_task_failed_and_why():
    async def turn(asked):
        tasks = [{"id": "metrics", "status": "failed", "error": {"message": "Refused."}}]
        error = {
            "code": "failed",
            "task": "metrics",
            "message": "The metrics store is down.",
            "correlation_id": "c0ffee",
        }
        envelope = run("Failed", error=error, tasks=tasks, tasks_omitted=7)
        asked.workflows.put(asked.owner, envelope)
        yield WorkflowChanged(envelope=envelope)
        yield TurnDone(response="It failed.")

    async with opened(app([skill()], chat=FakeChat(turn))) as page:
        await ask(page)
        note = page.locator(".card[data-status=Failed] .note.error")
        await expect(note).to_contain_text("Task metrics failed")
        await expect(note).to_contain_text("The metrics store is down.")
        await expect(note).to_contain_text("c0ffee")
        await page.get_by_text("Tasks", exact=True).click()
        rows = page.locator(".task-list li")
        await expect(rows.first).to_contain_text("Refused.")
        await expect(rows.last).to_have_text("and 7 more")


async def test_an_answer_to_a_question_is_not_taken_for_the_one_that_comes_by_itself():
    async def turn(asked):
        if asked.message == "start":
            async for event in starting(asked):
                yield event
        else:
            yield TurnDone(response="Still going.")

    chat, workflows = FakeChat(turn), FakeWorkflows()
    async with opened(app([skill()], chat=chat, workflows=workflows)) as page:
        await ask(page, "start")
        await expect(page.locator(".message.assistant")).to_contain_text("I have started it.")
        owner = chat.asked[0].owner
        workflows.put(owner, ended(workflows.runs[owner]["o1-w1"]))
        await expect(page.locator("#activity")).to_contain_text("its answer is coming")
        await ask(page, "and?")
        await expect(page.locator(".message.assistant").last).to_contain_text("Still going.")
        chat.say(owner, "assistant", "Deploy 42 did it.")
        await expect(page.locator(".message.assistant").last).to_contain_text("Deploy 42")
        await expect(page.locator("#activity")).to_be_hidden()


async def test_a_run_that_was_terminated_is_not_waited_for():
    chat, workflows = FakeChat(starting), FakeWorkflows()
    async with opened(app([skill()], chat=chat, workflows=workflows)) as page:
        await ask(page)
        await expect(page.locator(".message.assistant")).to_contain_text("I have started it.")
        owner = chat.asked[0].owner
        workflows.put(owner, ended(workflows.runs[owner]["o1-w1"], "Terminated"))
        await expect(page.locator(".card .pill")).to_have_text("Terminated")
        await expect(page.locator("#activity")).to_be_hidden()


async def test_an_html_report_is_shown_in_a_frame_where_nothing_of_it_runs():
    async def turn(asked):
        envelope = ended(run(), output={"report": REPORT})
        asked.workflows.put(asked.owner, envelope)
        yield WorkflowChanged(envelope=envelope)
        yield TurnDone(response="Here it is.")

    async with opened(app([skill()], chat=FakeChat(turn))) as page:
        await ask(page)
        await expect(page.locator(".report-name")).to_have_text("Portfolio")
        await page.get_by_role("button", name="View report").click()
        frame = page.frame_locator("#report-dialog iframe")
        heading = frame.get_by_role("heading", name="Seven pull requests")
        await expect(heading).to_be_visible()
        await expect(heading).to_have_css("color", "rgb(1, 2, 3)")
        inside = page.frames[-1]
        assert await inside.title() == "Portfolio"
        assert await inside.evaluate("origin") == "null"
        assert await page.title() == "Incident triage"
        await page.get_by_role("dialog").get_by_role("button", name="Close").click()
        async with page.expect_download() as saved:
            await page.get_by_role("button", name="Download").click()
        assert (await saved.value).suggested_filename == "Portfolio.html"


async def test_a_failed_turn_says_what_to_look_at():
    async def turn(_):
        yield TurnFailed(code="model_unauthorized", message="Look at OPENAI_API_KEY.", status=502)

    async with opened(app([skill()], chat=FakeChat(turn))) as page:
        await ask(page)
        await expect(page.get_by_role("alert")).to_contain_text("Look at OPENAI_API_KEY.")
        await expect(page.get_by_role("button", name="Send")).to_be_enabled()
        await page.get_by_role("button", name="Dismiss").click()
        await expect(page.locator("#notice")).to_be_hidden()


async def test_a_server_that_is_gone_gives_the_message_back():
    async with opened(app([skill()])) as page:
        await page.route("**/chat/stream", lambda route: route.abort())
        await ask(page, "keep me")
        await expect(page.get_by_role("alert")).to_contain_text("cannot be reached")
        await expect(page.get_by_label("Message")).to_have_value("keep me")
        await expect(page.locator(".message")).to_have_count(0)


async def test_a_connection_that_breaks_in_a_turn_loses_no_answer():
    chat = FakeChat()
    async with opened(app([skill()], chat=chat)) as page:
        broken = (
            b'event: session\ndata: {"session_id":"s"}\n\nevent: delta\ndata: {"text":"Half"}\n\n'
        )

        async def cut_off(route):
            await route.fulfill(body=broken, content_type="text/event-stream")

        await page.route("**/chat/stream", cut_off)
        await ask(page)
        await expect(page.get_by_role("alert")).to_contain_text("The connection was lost")
        owner = Owner(principal="function-key", skill="triage", session="s")
        chat.say(owner, "user", "what happened?")
        chat.say(owner, "assistant", "Half and whole.")
        await expect(page.locator(".message.assistant")).to_have_text(["AnswerHalf and whole."])
        await expect(page.locator("#notice")).to_be_hidden()


def keyed(application, key):
    """Refuse calls without the function key, as the Functions host does."""

    async def guarded(scope, receive, send):
        path = scope.get("path", "")
        public = path.rstrip("/").endswith("/triage") or "/assets/" in path
        given = dict(scope.get("headers", [])).get(b"x-functions-key", b"").decode()
        if public or given == key:
            await application(scope, receive, send)
        else:
            await Response(None, 401)(scope, receive, send)

    return guarded


async def test_a_function_key_is_asked_for_until_it_is_right_and_sent_from_then_on():
    chat = FakeChat()
    async with opened(keyed(app([skill()], chat=chat), "s3cret")) as page:
        await ask(page, "hello")
        dialog = page.get_by_role("dialog", name="Function key")
        await dialog.get_by_label("Key").fill("wrong")
        await page.keyboard.press("Enter")
        await expect(dialog).to_contain_text("refused that key")
        await dialog.get_by_label("Key").fill("s3cret")
        await dialog.get_by_role("button", name="Use this key").click()
        await expect(page.locator(".message.assistant")).to_contain_text("Hello, world")
        await page.reload()
        await expect(page.locator(".message")).to_have_count(2)
        assert [asked.message for asked in chat.asked] == ["hello"]


async def test_whoever_has_no_key_keeps_the_message_and_reads_why():
    async with opened(keyed(app([skill()]), "s3cret")) as page:
        await ask(page, "hello")
        await page.get_by_role("button", name="Not now").click()
        await expect(page.get_by_role("alert")).to_contain_text("Not authorised")
        await expect(page.get_by_label("Message")).to_have_value("hello")


async def test_a_skill_for_signed_in_users_asks_for_no_function_key():
    async with opened(app([skill(auth="entra")], easy_auth=True)) as page:
        await ask(page)
        await expect(page.get_by_role("alert")).to_contain_text("Sign in with Microsoft Entra")
        await expect(page.locator("#key-dialog")).to_be_hidden()


async def test_sessions_are_left_and_resumed_by_id():
    chat = FakeChat()
    async with opened(app([skill()], chat=chat)) as page:
        await ask(page, "first")
        await expect(page.locator(".message")).to_have_count(2)
        first = chat.asked[0].owner.session
        await page.get_by_role("button", name="New session").click()
        await expect(page.locator(".message")).to_have_count(0)
        await expect(page.locator("#empty")).to_be_visible()
        await ask(page, "second")
        await expect(page.locator(".message.user")).to_contain_text("second")
        assert chat.asked[1].owner.session != first

        await page.locator("#session-button").click()
        dialog = page.get_by_role("dialog", name="Session")
        await dialog.get_by_label("Resume another session").fill("not valid!")
        await dialog.get_by_role("button", name="Resume").click()
        await expect(dialog.get_by_role("alert")).to_contain_text("1 to 128 letters")
        await dialog.get_by_label("Resume another session").fill(first)
        await dialog.get_by_role("button", name="Resume").click()
        await expect(page.locator(".message.user")).to_contain_text("first")


MARKDOWN = """# Title

Some *soft* and **strong** text with `code < 1` and a_snake_case_name.
Second line, see https://example.org/a_b. And [docs](https://example.org)
or [bad](javascript:alert(1)).

- one
  - inner
- two

3. three
4. four

> quoted

| a | b |
|---|---|
| 1 | **2** |

```python
<script>alert(1)</script>
```
<img src=x onerror=alert(1)>"""


async def test_markdown_is_shown_and_markup_in_it_stays_text():
    async def turn(_):
        yield TurnDone(response=MARKDOWN)

    async with opened(app([skill()], chat=FakeChat(turn))) as page:
        await ask(page)
        prose = page.locator(".message.assistant .prose")
        await expect(prose.locator("h3")).to_have_text("Title")
        await expect(prose.locator("em")).to_have_text(["soft"])
        await expect(prose.locator("strong")).to_have_text(["strong", "2"])
        await expect(prose.locator("p code")).to_have_text("code < 1")
        await expect(prose.locator("ul ul li")).to_have_text("inner")
        await expect(prose.locator("ol")).to_have_attribute("start", "3")
        await expect(prose.locator("ol > li")).to_have_text(["three", "four"])
        await expect(prose.locator("blockquote")).to_have_text("quoted")
        await expect(prose.locator("td")).to_have_text(["1", "2"])
        await expect(prose.locator("pre")).to_have_text("<script>alert(1)</script>")
        links = await prose.locator("a").evaluate_all("all => all.map(a => a.href)")
        assert links == ["https://example.org/a_b", "https://example.org/"]
        assert await prose.locator("img, script").count() == 0
        await expect(prose).to_contain_text("[bad](javascript:alert(1))")


@pytest.mark.parametrize("width", [320, 375])
async def test_nothing_is_wider_than_a_phone(width):
    async def turn(asked):
        long = {"id": f"inspect_{'x' * 60}[12]", "status": "running", "attempts": 3}
        envelope = run(name="N" * 80, workflow_id="o1-" + "w" * 90, tasks=[long])
        asked.workflows.put(asked.owner, envelope)
        yield WorkflowChanged(envelope=envelope)
        yield TurnDone(response=f"{'y' * 300}\n\n```\n{'z' * 300}\n```")

    size = {"width": width, "height": 700}
    async with opened(app([skill()], chat=FakeChat(turn)), viewport=size) as page:
        await ask(page, "u" * 200)
        await expect(page.locator(".message.assistant pre")).to_be_visible()
        assert await page.evaluate("document.documentElement.scrollWidth") <= width


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
    envelope = run(waiting_for=[question], tasks=tasks)
    asked.workflows.put(asked.owner, envelope)
    yield WorkflowChanged(envelope=envelope)
    yield TurnDone(response="Asked.")


async def test_a_person_approves_what_was_shown_and_the_run_goes_on():
    workflows = FakeWorkflows()
    async with opened(app([skill()], chat=FakeChat(asking), workflows=workflows)) as page:
        await ask(page)
        question = page.get_by_label("Question of task drop", exact=True)
        await expect(question).to_contain_text("Drop <b>table</b>?")
        await expect(question).to_contain_text('"name": "users"')
        await question.get_by_label("Comment on drop").fill("fine")
        await question.get_by_role("button", name="Approve").click()
        await expect(question).to_have_count(0)
        answers = [call for call in workflows.calls if call[0] == "approve"]
        assert answers == [("approve", "o1-w1", "drop", True, "d1", "function-key", "fine")]


async def test_an_answer_to_what_has_changed_is_not_taken_and_says_so():
    workflows = FakeWorkflows()
    async with opened(app([skill()], chat=FakeChat(asking), workflows=workflows)) as page:
        await ask(page)
        question = page.get_by_label("Question of task drop", exact=True)
        await expect(question).to_be_visible()
        ((envelope,),) = [list(runs.values()) for runs in workflows.runs.values()]
        shown = envelope["waiting_for"][0]
        envelope["waiting_for"] = [{**shown, "digest": "d2", "args": {"name": "orders"}}]
        await question.get_by_role("button", name="Approve").click()
        await expect(question).to_have_count(1)
        await expect(question).to_contain_text('"name": "orders"')


async def test_the_graph_shows_who_waits_for_whom():
    async with opened(app([skill()], chat=FakeChat(asking))) as page:
        await ask(page)
        await page.get_by_text("Graph", exact=True).click()
        graph = page.get_by_role("img", name="Graph of 2 tasks")
        await expect(graph.locator(".plan-task")).to_have_count(2)
        await expect(graph.locator(".plan-edge")).to_have_count(1)


async def test_a_run_that_failed_can_be_run_again():
    async def failing(asked):
        envelope = ended(run(), "Failed", error={"code": "failed", "message": "no"})
        asked.workflows.put(asked.owner, envelope)
        yield WorkflowChanged(envelope=envelope)
        yield TurnDone(response="It failed.")

    workflows = FakeWorkflows()
    async with opened(app([skill()], chat=FakeChat(failing), workflows=workflows)) as page:
        await ask(page)
        await page.get_by_role("button", name="Run again").click()
        await expect(page.get_by_role("article", name="Workflow Again: Pending")).to_be_visible()
        assert ("rerun", "o1-w1", None) in workflows.calls


async def test_a_person_sends_the_event_that_a_run_waits_for():
    async def waiting(asked):
        wait = {"task": "w", "kind": "event", "event": "deployed"}
        envelope = run(waiting_for=[wait])
        asked.workflows.put(asked.owner, envelope)
        yield WorkflowChanged(envelope=envelope)
        yield TurnDone(response="It waits.")

    workflows = FakeWorkflows()
    async with opened(app([skill()], chat=FakeChat(waiting), workflows=workflows)) as page:
        await ask(page)
        form = page.get_by_label("Event of task w", exact=True)
        payload = form.get_by_label("Payload of deployed")
        await payload.fill("{not json")
        await form.get_by_role("button", name="Send event").click()
        await expect(form).to_contain_text("The payload is not JSON.")
        await payload.fill('{"version": 7}')
        await form.get_by_role("button", name="Send event").click()
        await expect(form).to_contain_text("Sent.")
        assert ("event", "o1-w1", "deployed", {"version": 7}, None) in workflows.calls
