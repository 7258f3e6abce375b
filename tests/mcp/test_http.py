"""Tools of MCP servers behind a URL: the SDK's own, and one of the protocol's earlier revisions."""

import socket
import subprocess
import sys
from contextlib import contextmanager

import pytest

from tests.mcp.conftest import SERVER, Attempts, load, until
from tests.mcp.old_server import old_server
from workflow_runtime.execution import InvalidArgumentsError

KEY = {"headers": {"x-key": "${env:KEY}"}}


@contextmanager
def served(port):
    """Run the lab server on a port of the loopback, until it is killed."""
    process = subprocess.Popen(
        [sys.executable, SERVER, "http", str(port)], stderr=subprocess.DEVNULL
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait(timeout=10)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def answers(port):
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def old(tmp_path, world):
    with old_server() as server:
        catalog = load(tmp_path, {"old": {"url": server.url, **KEY}}, environment={"KEY": "k"})
        server.attempts = Attempts(catalog, world)
        yield server


async def test_a_server_that_comes_back_is_called_again_and_a_call_between_was_not_made(
    tmp_path, world
):
    port = free_port()
    lab = {"lab": {"type": "http", "url": f"http://127.0.0.1:{port}/mcp"}}
    with served(port):
        await until(lambda: answers(port))
        attempts = Attempts(load(tmp_path, lab), world)
        assert await attempts.value("lab.add", a=1, b=2) == {"total": 3, "parts": [1, 2]}
        call = await attempts.begun(tmp_path / "cut")
    cut = (await call)["failure"]
    assert cut["code"] == "outcome_unknown"
    away = await attempts.failure("lab.shout", text="anybody?")
    assert (away["code"], away["kind"]) == ("failed", "retryable")
    assert "'lab'" in away["message"]
    with served(port):
        await until(lambda: answers(port))
        assert (await attempts.value("lab.add", a=1, b=2))["total"] == 3


async def test_a_cancel_over_http_leaves_the_session_for_others(tmp_path, world):
    port = free_port()
    with served(port):
        await until(lambda: answers(port))
        lab = {"lab": {"url": f"http://127.0.0.1:{port}/mcp"}}
        attempts = Attempts(load(tmp_path, lab), world)
        call = await attempts.begun(tmp_path / "one", workflow_id="stopped")
        world.signals.cancel("stopped")
        assert (await call)["failure"]["code"] == "canceled"
        await until((tmp_path / "one" / "cancelled").exists)
        assert await attempts.value("lab.shout", text="a") == "A"


async def test_an_older_server_gets_its_headers_and_has_its_schema_read(old):
    tool = old.attempts.catalog.workflow_tools["old.look_up"]
    assert tool.arguments["properties"] == {"word": {"type": "string", "minLength": 2}}
    with pytest.raises(InvalidArgumentsError):
        tool.check({"word": "a"})
    assert await old.attempts.value("old.look_up", word="tea") == "found"


@pytest.mark.parametrize("status", [400, 404])
async def test_a_call_on_a_session_that_the_server_forgot_is_made_on_another_one(old, status):
    await old.attempts.value("old.look_up", word="one")
    old.sessions.clear()
    old.unknown = status
    assert await old.attempts.value("old.look_up", word="two") == "found"
    assert old.calls == [{"word": "one"}, {"word": "two"}]


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (503, "failed", "retryable"),
        (429, "failed", "retryable"),
        (502, "outcome_unknown", "unknown"),
        (403, "failed", "terminal"),
        (400, "failed", "terminal"),
    ],
)
async def test_a_status_says_whether_the_call_can_have_been_made(old, status, code, kind):
    old.status = status
    failure = await old.attempts.failure("old.look_up", word="one")
    assert (failure["code"], failure["kind"]) == (code, kind)
    assert str(status) in failure["message"]
    old.status = 200
    assert await old.attempts.value("old.look_up", word="two") == "found"


def test_a_server_that_refuses_to_talk_says_so_at_the_start(tmp_path):
    with old_server() as server:
        catalog = load(tmp_path, {"old": {"url": server.url}})
    assert catalog.unloaded == {"old.*": "MCP server 'old': it answered with HTTP 401"}
