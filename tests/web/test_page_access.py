"""The page in a real browser: function keys, signed-in users, sessions."""

from starlette.responses import Response

from tests.web.fakes import FakeChat, app, skill
from tests.web.page import ask, expect, opened


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


async def test_a_page_stays_in_its_session_though_another_tab_begins_a_new_one():
    chat = FakeChat()
    async with opened(app([skill()], chat=chat)) as page:
        await ask(page, "one")
        await expect(page.get_by_role("button", name="Send")).to_be_enabled()
        await expect(page.locator(".message.assistant")).to_have_count(1)
        await page.evaluate(
            "localStorage.setItem(`workflow-runtime.session.${document.body.dataset.skill}`, 'b')"
        )
        await ask(page, "two")
        await expect(page.locator(".message.assistant")).to_have_count(2)
        assert chat.asked[0].owner == chat.asked[1].owner
