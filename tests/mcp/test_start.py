"""How an app starts with MCP servers, with those that do not answer, and with none."""

import asyncio
import subprocess
import sys
import time
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from tests.mcp.conftest import LAB, PLANS, load, write_app
from workflow_runtime.errors import ConfigurationError
from workflow_runtime.plan.check import check
from workflow_runtime.skills.mcp.session import Session

ROOT = Path(__file__).parents[2]
SILENT = {"command": "sleep", "args": ["60"]}
NOW = datetime(2026, 6, 1, tzinfo=UTC)


@pytest.fixture
def impatient(monkeypatch):
    session = partial(Session, seconds=0.3)
    monkeypatch.setattr("workflow_runtime.skills.mcp.asking.Session", session)


def first_problem(catalog, tool, skill="triage"):
    plan = {"tasks": [{"id": "a", "tool": tool}]}
    [problem] = check(plan, catalog.grants(skill), NOW).problems
    return problem


@pytest.mark.usefixtures("impatient")
def test_servers_that_do_not_answer_hold_up_the_start_only_so_long_and_all_at_once(tmp_path):
    began = time.monotonic()
    names = ["two", *(f"other{n}" for n in range(29))]
    catalog = load(tmp_path, dict.fromkeys(names, SILENT))
    one_after_the_other = len(names) * 0.3
    assert time.monotonic() - began < one_after_the_other * 2 / 3
    assert catalog.unloaded["two.*"] == "MCP server 'two': it did not answer within 0.3 s"
    [told] = [one for one in catalog.warnings if "'two'" in one]
    why = "did not load: it did not answer within 0.3 s; the app starts without its tools"
    assert told == f"mcp.json: the server 'two' {why}"


@pytest.mark.parametrize(
    ("server", "why"),
    [
        ({"command": "no-such-command"}, "it cannot be started: No such file or directory"),
        ({"command": "true"}, "it ended before it had answered"),
        ({"url": "http://127.0.0.1:9/mcp"}, "it cannot be connected to"),
    ],
)
def test_a_plan_is_told_why_a_server_has_no_tools(tmp_path, server, why):
    catalog = load(tmp_path, {"docs": server})
    problem = first_problem(catalog, "docs.search")
    assert problem.code == "tool_failed_to_load"
    assert problem.message == f"tool 'docs.search' failed to load: MCP server 'docs': {why}"
    assert first_problem(catalog, "other.search").code == "unknown_tool"


async def test_an_app_is_built_while_a_loop_runs_in_its_thread(tmp_path):
    assert load(tmp_path, {"docs": {"command": "true"}}).servers == {"docs"}
    await asyncio.sleep(0)


def test_without_being_asked_no_server_is_started(tmp_path):
    catalog = load(tmp_path, {"docs": {"command": "touch", "args": ["made"]}}, ask_servers=False)
    assert not (tmp_path / "made").exists()
    assert "was not asked" in first_problem(catalog, "docs.search").message


def test_an_app_without_servers_does_not_import_the_sdk(tmp_path):
    write_app(tmp_path, {})
    (tmp_path / "mcp.json").unlink()
    code = (
        "import sys; from pathlib import Path; from workflow_runtime.app import build, Settings;"
        f" root = Path({str(tmp_path)!r}); build(root, Settings(data=root, provider='demo'));"
        " sys.exit('mcp' in sys.modules)"
    )
    ended = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False, timeout=30)
    assert ended.returncode == 0


SKILLS = {
    "triage": PLANS,
    "none": f"{PLANS}\nmcp: false",
    "one_less": f"{PLANS}\nmcp: {{exclude: [lab.add]}}",
    "no_lab": f"{PLANS}\nmcp: {{exclude: [lab, gone]}}",
    "plans_less": "workflows: {enabled: true, exclude: [lab.add, gone.anything]}",
    "plans_none": "workflows: {enabled: true, exclude: [lab.*]}",
}


@pytest.fixture(scope="module")
def catalog(tmp_path_factory):
    servers = {"lab": LAB, "gone": {"command": "no-such-command"}}
    return load(tmp_path_factory.mktemp("app"), servers, SKILLS)


@pytest.mark.parametrize(
    ("skill", "add", "shout"),
    [
        ("triage", True, True),
        ("none", False, False),
        ("one_less", False, True),
        ("no_lab", False, False),
        ("plans_less", False, True),
        ("plans_none", False, False),
    ],
)
def test_a_skill_says_which_servers_and_tools_its_plans_do_not_get(catalog, skill, add, shout):
    tools = catalog.grants(skill).tools
    assert ("lab.add" in tools, "lab.shout" in tools) == (add, shout)


def test_what_is_withheld_is_unknown_even_where_it_did_not_load(catalog):
    assert first_problem(catalog, "gone.x").code == "tool_failed_to_load"
    assert first_problem(catalog, "gone.x", "no_lab").code == "unknown_tool"
    assert first_problem(catalog, "gone.x", "none").code == "unknown_tool"


def test_no_tool_of_a_server_is_a_chat_tool(catalog):
    assert catalog.chat_tools_of("triage") == {}


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("mcp: {exclude: [labb]}", "'mcp.exclude' names 'labb', which is no"),
        ("mcp: {exclude: [labb]}", "did you mean 'lab'?"),
        ("mcp: 'false'", "'mcp' must be keys and values, not the text 'false'"),
        ("mcp: {only: [lab]}", "'mcp.only' is not a key that is known here"),
        ("workflows: {enabled: true, exclude: [labs.*]}", "did you mean 'lab.*'?"),
    ],
)
def test_a_name_that_is_none_stops_the_start(tmp_path, lines, said):
    with pytest.raises(ConfigurationError) as caught:
        load(tmp_path, {"lab": LAB}, {"triage": lines}, ask_servers=False)
    assert said in str(caught.value)
