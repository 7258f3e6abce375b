"""The page in a real browser: a run is followed, shown, stopped and run again."""

from tests.web.fakes import FakeChat, FakeWorkflows, app, skill
from tests.web.page import ask, asking, ended, expect, opened, run, running, starting
from workflow_runtime.agents.events import TurnDone, WorkflowChanged

REPORT = """<!doctype html><title>Portfolio</title><style>h1 {color: rgb(1, 2, 3)}</style>
<h1>Seven pull requests</h1><script>document.title = "ran"</script>
<img src="x" onerror="document.title = 'ran'">"""


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


async def two_runs(asked):
    for name in ("o1-w1", "o1-w2"):
        envelope = run(workflow_id=name)
        asked.workflows.put(asked.owner, envelope)
        yield WorkflowChanged(envelope=envelope)
    yield TurnDone(response="Both are going.")


async def test_each_of_two_runs_gets_its_answer():
    chat, workflows = FakeChat(two_runs), FakeWorkflows()
    async with opened(app([skill()], chat=chat, workflows=workflows)) as page:
        await ask(page)
        await expect(page.locator(".card .pill")).to_have_text(["Running", "Running"])
        owner = chat.asked[0].owner
        for name in ("o1-w1", "o1-w2"):
            workflows.put(owner, ended(workflows.runs[owner][name]))
        await expect(page.locator(".card .pill")).to_have_text(["Completed", "Completed"])
        for text in ("The first is over.", "The second is over."):
            await expect(page.locator("#activity")).to_contain_text("its answer is coming")
            chat.say(owner, "assistant", text)
            await expect(page.locator(".message.assistant").last).to_contain_text(text)
        await expect(page.locator("#activity")).to_be_hidden()


async def test_a_run_that_ended_is_shown_whole_when_its_page_comes_to_the_front():
    chat, workflows = FakeChat(starting), FakeWorkflows()
    listed = workflows.list

    async def in_short(owner, **options):
        kept = [dict(one) for one in await listed(owner, **options)]
        return [{k: v for k, v in one.items() if k not in ("tasks", "output")} for one in kept]

    workflows.list = in_short  # type: ignore[method-assign]
    hidden = "Object.defineProperty(Document.prototype, 'hidden', {get: () => !window.front})"
    async with opened(app([skill()], chat=chat, workflows=workflows)) as page:
        owner = await running(page, chat)
        workflows.put(owner, ended(workflows.runs[owner]["o1-w1"], output={"cause": "deploy 42"}))
        chat.say(owner, "assistant", "It is over.")
        await page.add_init_script(hidden)
        await page.reload()
        await expect(page.locator(".card .pill")).to_have_text("Completed")
        await expect(page.locator(".card .output")).to_have_count(0)
        await page.evaluate(
            "window.front = true; document.dispatchEvent(new Event('visibilitychange'))"
        )
        await expect(page.locator(".card .output")).to_have_count(1)


async def test_a_result_of_many_comments_does_not_stop_the_page():
    chat, workflows = FakeChat(starting), FakeWorkflows()
    async with opened(app([skill()], chat=chat, workflows=workflows)) as page:
        owner = await running(page, chat)
        text = "<!-- file -->\n" * 500 + "# Report"
        workflows.put(owner, ended(workflows.runs[owner]["o1-w1"], output={"text": text}))
        await expect(page.locator(".card .output")).to_have_count(1)


async def test_the_answer_to_a_run_that_was_run_again_stands_below_its_card():
    chat, workflows = FakeChat(starting), FakeWorkflows()
    async with opened(app([skill()], chat=chat, workflows=workflows)) as page:
        owner = await running(page, chat)
        failed = ended(workflows.runs[owner]["o1-w1"], "Failed")
        workflows.put(owner, failed)
        chat.say(owner, "assistant", "It failed.")
        await page.get_by_role("button", name="Run again").click()
        await expect(page.locator(".card")).to_have_count(2)
        again = run("Running", workflow_id="o1-w1-again", name="Again")
        workflows.put(owner, ended(again))
        await expect(page.locator(".card .pill").last).to_have_text("Completed")
        chat.say(owner, "assistant", "Now it is done.")
        await expect(page.locator(".message.assistant").last).to_contain_text("Now it is done.")
        order = await page.locator("#timeline > article").evaluate_all(
            "all => all.map(one => one.className)"
        )
        assert order[-2:] == ["card", "message assistant"]
