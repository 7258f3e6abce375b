"""The page in a real browser: messages, answers, and what goes wrong with them."""

import asyncio

import pytest

from tests.web.fakes import FakeChat, app, skill
from tests.web.page import ask, expect, opened, run
from workflow_runtime.agents.events import TextDelta, TurnDone, TurnFailed, WorkflowChanged
from workflow_runtime.service import Owner


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
        chat.say(owner, "assistant", "A run ended before.")  # whose turn was first
        await expect(page.locator(".message.assistant").first).to_contain_text("A run ended")
        await expect(page.locator("#notice")).to_be_visible()
        chat.say(owner, "user", "what happened?")
        chat.say(owner, "assistant", "Half and whole.")
        await expect(page.locator(".message.assistant")).to_have_text(
            ["AnswerA run ended before.", "AnswerHalf and whole."]
        )
        await expect(page.locator("#notice")).to_be_hidden()


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
