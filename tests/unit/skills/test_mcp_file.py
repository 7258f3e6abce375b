"""`mcp.json`: what it may say, and how it is told what is wrong."""

import json

import pytest

from workflow_runtime.errors import ConfigurationError
from workflow_runtime.settings import Settings, local_environment
from workflow_runtime.skills.mcp.config import HttpServer, StdioServer, read_servers

ENVIRONMENT = {"TOKEN": "s3cret", "NESTED": "${env:TOKEN}", "LINES": "a\nb"}


@pytest.fixture
def read(tmp_path):
    """Read a file of this content, text or JSON."""

    def write(content, environment=ENVIRONMENT):
        text = content if isinstance(content, str) else json.dumps(content)
        (tmp_path / "mcp.json").write_text(text)
        return read_servers(tmp_path, environment)

    return write


def test_there_need_be_no_file(tmp_path):
    assert read_servers(tmp_path, {}) == ()


@pytest.mark.parametrize("root", ["servers", "mcpServers"])
def test_both_forms_of_the_file_say_the_same(read, tmp_path, root):
    (tmp_path / "tools").mkdir()
    local = {"command": "docs", "args": ["-v"], "env": {"A": "b"}, "cwd": "tools"}
    assert read({root: {"docs": local, "far": {"url": "https://x.example/mcp"}}}) == (
        StdioServer(
            name="docs", command="docs", args=("-v",), env={"A": "b"}, cwd=tmp_path / "tools"
        ),
        HttpServer(name="far", url="https://x.example/mcp"),
    )


def test_a_server_works_in_the_apps_folder_unless_it_says_another(read, tmp_path):
    [server] = read({"servers": {"docs": {"type": "stdio", "command": "docs"}}})
    assert server.cwd == tmp_path


def test_variables_are_put_in_once_and_anywhere_in_a_text(read):
    entry = {"url": "http://x/${env:TOKEN}", "headers": {"a": "Bearer ${env:TOKEN}"}}
    [server] = read({"servers": {"docs": entry}})
    assert (server.url, server.headers) == ("http://x/s3cret", {"a": "Bearer s3cret"})
    [server] = read({"servers": {"docs": {"command": "x", "args": ["${env:NESTED}"]}}})
    assert server.args == ("${env:TOKEN}",)


def test_what_may_be_a_secret_does_not_show_in_a_server(read):
    [docs] = read({"servers": {"docs": {"url": "http://x/?key=${env:TOKEN}"}}})
    [far] = read({"servers": {"far": {"command": "x", "env": {"T": "${env:TOKEN}"}}}})
    assert "s3cret" not in repr((docs, far))


WRONG = [
    ("{", "mcp.json, line 1: no JSON: "),
    ("[]", "mcp.json must be an object with 'servers'"),
    ('{"servers": {}, "servers": {}}', "mcp.json: the key 'servers' stands twice"),
    ({}, "mcp.json: 'mcpServers' or 'servers' is missing"),
    ({"servers": {}, "mcpServers": {}}, "mcp.json: 'mcpServers' says the same as 'servers'"),
    ({"server": {}}, "'server' is not a key that is known here; did you mean 'servers'?"),
    ({"servers": []}, "mcp.json: 'servers' must be an object of servers by their names"),
    ({"servers": {}, "inputs": []}, "mcp.json: 'inputs' asks a person"),
    ({"servers": {"a.b": {"command": "x"}}}, "mcp.json: the name 'a.b' under 'servers' must be"),
    ({"servers": {"": {"command": "x"}}}, "mcp.json: the name '' under 'servers' must be"),
]
WRONG_ENTRIES = [
    ("docs", "'servers.docs' must be keys and values, not the text 'docs'"),
    ({}, "'servers.docs.command' or 'url' is missing"),
    ({"comand": "x"}, "'servers.docs.comand' is not a key that is known here; did you mean"),
    ({"command": "x", "url": "http://x"}, "'servers.docs.url' stands beside 'command'"),
    ({"command": "x", "headers": {}}, "'servers.docs.headers' is no key of a server of the type"),
    ({"type": "http", "command": "x"}, "'servers.docs.command' is no key of a server of the type"),
    ({"type": "http"}, "'servers.docs.url' is missing; a server of the type 'http' needs it"),
    ({"type": "sse", "url": "http://x"}, "'servers.docs.type' cannot be 'sse'"),
    ({"type": "htttp", "url": "http://x"}, "must be 'stdio' or 'http'; did you mean 'http'?"),
    ({"type": 1, "url": "http://x"}, "'servers.docs.type' must be 'stdio' or 'http'"),
    ({"command": " "}, "'servers.docs.command' must be text, not left empty"),
    ({"command": "x", "args": "-v"}, "'servers.docs.args' must be a list of texts"),
    ({"command": "x", "args": [1]}, "'servers.docs.args' must be a list of texts"),
    ({"command": "x", "env": ["a"]}, "'servers.docs.env' must be an object of names and texts"),
    ({"command": "x", "env": {"A": 1}}, "'servers.docs.env.A' must be a name and a text"),
    ({"command": "x", "cwd": "nowhere"}, "'servers.docs.cwd' names no folder"),
    ({"url": "ftp://x"}, "'servers.docs.url' must be a URL that begins with http:// or https://"),
    ({"url": "http://x:port"}, "'servers.docs.url' must be a URL"),
    ({"url": "http://x", "headers": {"a b": "c"}}, "'servers.docs.headers.a b' is no HTTP header"),
    ({"command": "${env:NONE}"}, "'servers.docs.command' needs the environment variable 'NONE'"),
    ({"command": "x", "args": ["", "${env:NONE}"]}, "'servers.docs.args[1]' needs the environment"),
    ({"command": "x", "args": ["${HOME}"]}, "'servers.docs.args[0]' holds '${HOME}'; only"),
    ({"command": "${input:key}"}, "'servers.docs.command' holds '${input:key}'; only"),
    ({"url": "http://x", "headers": {"a": "${env:LINES}"}}, "holds a control character"),
]


@pytest.mark.parametrize(
    ("content", "said"),
    [*WRONG, *(({"servers": {"docs": entry}}, said) for entry, said in WRONG_ENTRIES)],
)
def test_what_is_wrong_is_told_in_one_line_with_its_place(read, content, said):
    with pytest.raises(ConfigurationError) as caught:
        read(content)
    message = str(caught.value)
    assert said in message
    assert message.startswith("mcp.json")
    assert "\n" not in message


def test_the_variables_are_those_of_the_process_and_of_local_settings(tmp_path, monkeypatch):
    (tmp_path / "local.settings.json").write_text('{"Values": {"LAB_A": "file", "LAB_B": "file"}}')
    monkeypatch.setenv("LAB_A", "process")
    seen = Settings.read(tmp_path, local_environment(tmp_path)).environment
    assert (seen["LAB_A"], seen["LAB_B"]) == ("process", "file")
    assert "LAB_B" not in Settings.read(tmp_path).environment


def test_settings_do_not_show_the_environment(tmp_path):
    assert "s3cret" not in repr(Settings.read(tmp_path, {"TOKEN": "s3cret"}))
