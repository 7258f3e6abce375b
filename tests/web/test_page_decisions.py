"""The page in a real browser: what a person approves, rejects and sends."""

from tests.web.fakes import FakeChat, FakeWorkflows, app, skill
from tests.web.page import ask, asking, expect, opened, run
from workflow_runtime.agents.events import TurnDone, WorkflowChanged


async def test_a_person_approves_what_was_shown_and_the_run_goes_on():
    workflows = FakeWorkflows()
    application = app([skill()], chat=FakeChat(asking), workflows=workflows)
    async with opened(application, viewport={"width": 375, "height": 720}) as page:
        await ask(page)
        question = page.get_by_label("Question of task drop", exact=True)
        await expect(question).to_contain_text("Drop <b>table</b>?")
        await expect(page.locator(".card .pill")).to_have_text("Waiting for you")
        await expect(question.get_by_role("button", name="Approve")).to_be_in_viewport()
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
