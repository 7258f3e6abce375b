"""The page's files: what is in them and with which headers they are served."""

import re
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

import workflow_runtime.web
from tests.web.fakes import app, skill

FILES = Path(workflow_runtime.web.__file__).parent / "page"


@pytest.fixture
async def client():
    examples = ["checkout is <down>", "  two\nlines ", 7, "", "x" * 301, "c", "d", "e"]
    shown = replace(
        skill(auth="entra", examples=examples),
        name='Tom & "Jerry"',
        description="<script>alert(1)</script> $name",
    )
    transport = httpx.ASGITransport(app=app([shown]))
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as made:
        yield made


async def test_the_page_is_anonymous_even_for_a_skill_that_is_not(client):
    assert (await client.get("/skills/triage/")).status_code == 200
    assert (await client.get("/skills/triage/assets/chat.js")).status_code == 200


async def test_the_page_is_at_the_address_with_a_slash_so_that_relative_urls_hold(client):
    answer = await client.get("/skills/triage")

    assert answer.status_code == 308
    assert answer.headers["location"] == "triage/"
    assert str(answer.url.join(answer.headers["location"])) == "http://test/skills/triage/"


async def test_what_a_skill_says_of_itself_is_escaped(client):
    text = (await client.get("/skills/triage/")).text

    assert "<title>Tom &amp; &quot;Jerry&quot;</title>" in text
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt; $name" in text


async def test_the_first_four_usable_examples_are_offered(client):
    text = (await client.get("/skills/triage/")).text

    found = re.findall(r'class="example">(.*?)</button>', text)
    assert found == ["checkout is &lt;down&gt;", "two lines", "c", "d"]


async def test_the_policy_allows_the_pages_own_files_and_nothing_else(client):
    for path in ("", "assets/chat.css", "assets/chat.js"):
        policy = (await client.get(f"/skills/triage/{path}")).headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "http" not in policy
    report = (await client.get("/skills/triage/assets/report.html")).headers
    assert "sandbox allow-scripts" in report["content-security-policy"]
    assert re.search(r"script-src 'sha256-[\w+/]{43}='", report["content-security-policy"])
    assert "connect-src" not in report["content-security-policy"]


async def test_the_page_has_no_inline_code_and_loads_nothing_from_elsewhere(client):
    for file in FILES.iterdir():
        text = file.read_text("utf-8")
        inline = r"\son\w+=|style=|<style|<script(?![^>]*src=)(?!>\$script<)"
        assert not re.search(inline, text), file.name
        assert not re.search(r"""(src|href|from|import)\s*[=(]?\s*["'](https?:)?//""", text)
        assert "innerHTML" not in text


async def test_every_file_that_the_page_names_is_served(client):
    page = (await client.get("/skills/triage/")).text
    named = set(re.findall(r'"assets/([\w.]+)"', page)) | {"report.html"}
    for file in FILES.glob("*.js"):
        named |= set(re.findall(r'from "\./([\w.]+)"', file.read_text("utf-8")))

    kinds = {
        ".js": "text/javascript",
        ".css": "text/css",
        ".svg": "image/svg",
        ".html": "text/html",
    }
    for name in named:
        answer = await client.get(f"/skills/triage/assets/{name}")
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith(kinds[Path(name).suffix])
        assert answer.headers["x-content-type-options"] == "nosniff"


async def test_a_file_that_the_browser_has_is_not_sent_again(client):
    first = await client.get("/skills/triage/assets/chat.css")
    tag = first.headers["etag"]

    for known in (tag, f"W/{tag}", f'"other", {tag}'):
        again = await client.get("/skills/triage/assets/chat.css", headers={"if-none-match": known})
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["etag"] == tag
    changed = await client.get("/skills/triage/assets/chat.css", headers={"if-none-match": '"x"'})
    assert changed.status_code == 200
    assert first.headers["cache-control"] == "no-cache"


@pytest.mark.parametrize("name", ["index.html", "page.py", "..%2fpage.py", "none.js", "x" * 500])
async def test_other_files_are_not_served(client, name):
    answer = await client.get(f"/skills/triage/assets/{name}")

    assert answer.status_code == 404
