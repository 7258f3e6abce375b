"""Tools of a real MCP server that is a process of ours."""

import asyncio
import os
import signal
from datetime import UTC, datetime

import pytest

from tests.mcp.conftest import LAB, Attempts, lives, load, until
from workflow_runtime.plan.check import check
from workflow_runtime.plan.shown import signature

pytestmark = pytest.mark.asyncio(loop_scope="module")
NOW = datetime(2026, 6, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def catalog(tmp_path_factory):
    servers = {"lab": {**LAB, "env": {"REGION": "${env:HOME_REGION}"}}}
    environment = {"HOME_REGION": "west", "UNSAID": "secret"}
    return load(tmp_path_factory.mktemp("app"), servers, environment=environment)


@pytest.fixture(scope="module")
def attempts(catalog, world):
    return Attempts(catalog, world)


def problems(catalog, *tasks, output=None):
    plan = {"tasks": list(tasks)} | ({} if output is None else {"output": output})
    found = check(plan, catalog.grants("triage"), NOW).problems
    return [problem.to_json() for problem in found]


ADD = {"id": "sum", "tool": "lab.add", "args": {"a": 1, "b": 2}}


async def test_a_plan_may_call_what_a_server_offers_with_its_schemas_and_first_line(catalog):
    grant = catalog.grants("triage").tools["lab.add"]
    assert grant.description == "Add two numbers."
    assert signature(grant) == "lab.add(a: int, b: int) -> {total: int, parts: [int]}"
    assert problems(catalog, ADD, output="${sum.result.parts[0]}") == []


async def test_a_wrong_literal_argument_is_refused_before_the_run(catalog):
    [found] = problems(catalog, {**ADD, "args": {"a": "one", "b": 2}})
    assert (found["code"], found["path"]) == ("invalid_argument", "/tasks/0/args/a")


async def test_a_field_that_a_result_cannot_have_is_refused_before_the_run(catalog):
    [found] = problems(catalog, ADD, output="${sum.result.totl}")
    assert found["code"] == "impossible_reference"
    assert found["fix"][0]["value"] == "${sum.result.total}"


@pytest.mark.parametrize("written", ["add", "lab_add", "lab/add", "mcp__lab__add", "Lab.Add"])
async def test_a_name_written_otherwise_is_put_right(catalog, written):
    [found] = problems(catalog, {**ADD, "tool": written})
    assert found["fix"] == [{"op": "replace", "path": "/tasks/0/tool", "value": "lab.add"}]


async def test_structured_content_is_the_result(attempts):
    assert await attempts.value("lab.add", a=1, b=2) == {"total": 3, "parts": [1, 2]}


async def test_without_structured_content_the_text_is_the_result(attempts):
    assert await attempts.value("lab.shout", text='{"a": 1}') == '{"A": 1}'


async def test_resolved_arguments_are_checked_before_the_server_is_called(attempts):
    assert (await attempts.failure("lab.add", a="x", b=2))["code"] == "invalid_arguments"


async def test_a_failure_that_the_server_tells_is_terminal_with_its_text_and_no_secrets(attempts):
    failure = await attempts.failure("lab.fail", why="no entry: password=hunter2")
    assert (failure["code"], failure["kind"]) == ("failed", "terminal")
    assert "no entry" in failure["message"]
    assert "hunter2" not in failure["message"]


async def test_a_server_sees_the_variables_it_is_given_and_not_those_of_the_app(
    attempts, monkeypatch
):
    monkeypatch.setenv("UNSAID", "secret")
    assert await attempts.value("lab.variable", name="REGION") == "west"
    assert await attempts.value("lab.variable", name="UNSAID") == "not set"


async def test_calls_share_one_process_and_go_on_at_the_same_time(attempts, tmp_path):
    pid = await attempts.value("lab.pid")
    hanging = await attempts.begun(tmp_path / "one", timeout=20.0)
    assert await attempts.value("lab.pid") == pid
    hanging.cancel()
    with pytest.raises(asyncio.CancelledError):
        await hanging


async def test_a_cancel_is_told_to_the_server_and_leaves_the_session_for_others(
    attempts, world, tmp_path
):
    pid = await attempts.value("lab.pid")
    call = await attempts.begun(tmp_path / "one", workflow_id="stopped")
    world.signals.cancel("stopped")
    assert (await call)["failure"]["code"] == "canceled"
    await until((tmp_path / "one" / "cancelled").exists)
    assert await attempts.value("lab.pid") == pid


async def test_a_timeout_is_told_to_the_server_and_leaves_the_session_for_others(
    attempts, tmp_path
):
    pid = await attempts.value("lab.pid")
    call = await attempts.begun(tmp_path / "one", timeout=0.5)
    assert (await call)["failure"]["code"] == "timed_out"
    await until((tmp_path / "one" / "cancelled").exists)
    assert await attempts.value("lab.pid") == pid


async def test_a_server_that_was_killed_between_calls_is_started_again(attempts):
    before = await attempts.value("lab.pid")
    os.kill(before["pid"], signal.SIGKILL)
    await until(lambda: not lives(before["pid"]))
    after = await attempts.value("lab.pid")
    assert after != before


async def test_a_server_that_ends_in_a_call_leaves_its_outcome_unknown_and_is_started_again(
    attempts,
):
    failure = await attempts.failure("lab.die")
    assert (failure["code"], failure["kind"]) == ("outcome_unknown", "unknown")
    assert (await attempts.value("lab.add", a=1, b=1))["total"] == 2


async def test_a_server_that_ends_in_a_call_that_only_reads_may_be_called_again(attempts):
    failure = await attempts.failure("lab.die_reading")
    assert (failure["code"], failure["kind"]) == ("failed", "retryable")


async def test_the_end_of_the_loop_ends_the_servers_process(catalog, world):
    pid = await asyncio.to_thread(
        lambda: asyncio.run(catalog.workflow_tools["lab.pid"].call({}))["pid"]
    )
    assert not lives(pid)


async def test_an_old_loops_session_is_no_hindrance(attempts):
    assert (await attempts.value("lab.add", a=1, b=1))["total"] == 2
