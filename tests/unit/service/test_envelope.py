"""The envelope: bounded whatever is in it, what needs attention first, counts that are honest."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.unit.engine.driving import NOW, Driven, tool
from workflow_runtime.errors import InvalidRequestError
from workflow_runtime.hub import InstanceState
from workflow_runtime.plan.encoding import dumps, loads
from workflow_runtime.plan.policies import WorkPolicy
from workflow_runtime.service import Summary, envelope

LATER = datetime(2026, 1, 1, 0, 5, tzinfo=UTC)
BYTES = envelope.MODEL_BYTES


def state(native="RUNNING", run=None, **rest):
    return InstanceState(
        instance_id="run-1",
        native_status=native,
        created_at=NOW,
        updated_at=NOW,
        custom_status=None if run is None else Summary.of(run).to_text(),
        **rest,
    )


def full(driven, native="RUNNING", now=NOW):
    return envelope.full(state(native, driven.run), driven.run, now=now, max_bytes=BYTES)


@pytest.mark.parametrize("value", ["ü" * 90_000, ["\n" * 50] * 900, {"k" * 70: "\x00" * 9_000}])
def test_an_output_of_any_size_leaves_the_envelope_small_and_says_how_to_read_it(value):
    driven = Driven(tool("a"))
    driven.done("a", value)
    shown = full(driven, "COMPLETED")
    assert len(dumps(shown).encode()) <= BYTES
    assert shown["output"]["truncated"] is True
    assert shown["output"]["bytes"] == len(dumps(driven.run.outcome.output).encode())
    assert "task_id and path" in shown["output"]["read_with"]


def test_of_many_steps_the_failed_and_the_running_are_shown():
    driven = Driven(tool("a", for_each=list(range(500)), on_error="continue"))
    for n in range(200):
        driven.failed(f"a[{n}]") if n % 50 == 49 else driven.done(f"a[{n}]")
    shown = full(driven)
    assert len(dumps(shown).encode()) <= BYTES
    ids = [line["id"] for line in shown["tasks"]]
    assert ids[:4] == ["a[49]", "a[99]", "a[149]", "a[199]"]
    assert ids[4] == "a[200]"
    assert shown["tasks_omitted"] + len(ids) == shown["progress"]["total"] == 500


def test_what_a_person_is_asked_comes_before_other_waits():
    driven = Driven(
        {"id": "soon", "type": "wait", "duration": "PT1S"},
        {"id": "paid", "type": "wait", "event": "paid"},
        tool("ask", args={"id": 7}),
        policy=WorkPolicy(approval=True),
    )
    shown = full(driven)["waiting_for"]
    assert [(one["task"], one["kind"]) for one in shown] == [
        ("ask", "approval"), ("soon", "timer"), ("paid", "event"),
    ]  # fmt: skip
    assert shown[0]["args"] == {"id": 7}
    assert shown[0]["digest"] == driven.question("ask").digest


@pytest.mark.parametrize("asked", [1, 12])
def test_long_questions_leave_room_for_the_tasks_and_say_that_they_are_cut(asked):
    tasks = ({"id": f"ask{n}", "type": "approval", "message": "é" * 1_000} for n in range(asked))
    shown: Any = full(Driven(*tasks))
    assert len(dumps(shown).encode()) <= BYTES
    assert shown["waiting_for"][0]["message"].endswith("…")
    assert shown["tasks"]


def test_a_person_is_shown_the_whole_question():
    driven = Driven({"id": "ask", "type": "approval", "message": "é" * 2_000})
    shown: Any = envelope.full(state(run=driven.run), driven.run, now=NOW, max_bytes=64 * 1024)
    assert shown["waiting_for"][0]["message"] == "é" * 2_000


@pytest.mark.parametrize("name", ["result", "error", "status", "items", "logs"])
def test_a_path_may_begin_with_the_tasks_own_name_whatever_that_is(name):
    driven = Driven(tool(name))
    driven.done(name, {name: {"items": [1]}, "n": 2})
    for path, value in ((f"result.{name}.items[0]", 1), (f"{name}.result.n", 2), ("result.n", 2)):
        answer = envelope.task_answer(
            state("COMPLETED", driven.run), driven.run, name, path, max_bytes=BYTES
        )
        assert answer["value"] == value


def test_a_pause_before_another_attempt_is_not_a_wait():
    driven = Driven(tool("a"))
    driven.failed("a", kind="retryable")
    assert full(driven)["waiting_for"] == []
    assert Summary.of(driven.run).waiting_for == ()


def test_a_run_that_stands_still_says_since_when():
    driven = Driven(tool("a"))
    assert full(driven, now=LATER)["no_progress_for"] == "PT5M"
    assert "no_progress_for" not in full(driven, now=NOW + timedelta(seconds=9))


def test_a_run_no_worker_took_says_so():
    shown = envelope.full(state("PENDING"), None, now=LATER, max_bytes=BYTES)
    assert (shown["status"], shown["pending_since"]) == ("Pending", "2026-01-01T00:00:00Z")
    assert "worker" in str(shown["hint"])


@pytest.mark.parametrize("native", ["TERMINATED", "FAILED", "SUSPENDED"])
def test_what_the_hub_knows_wins(native):
    driven = Driven(tool("a"))
    assert full(driven, native)["status"] == native.title()


def test_a_value_is_read_by_task_and_path():
    driven = Driven(tool("a"), tool("e", for_each=["x"]))
    driven.done("a", {"rows": [{"name": "Zoë"}]})
    driven.done("e[0]", {"ok": True})

    def read(task, path):
        return envelope.task_answer(state(), driven.run, task, path, max_bytes=BYTES)["value"]

    assert read("a", "result.rows[0].name") == "Zoë"
    assert read("a", "status") == "completed"
    assert read("e", "items[0].item") == "x"
    assert read("e[0]", "result.ok") is True
    assert read(None, "output.a.rows") == [{"name": "Zoë"}]
    for task, path in (("nope", None), ("a", "result.rows[9]"), ("a", "result | length(@)")):
        with pytest.raises(InvalidRequestError):
            read(task, path)


def test_the_custom_status_is_small_whatever_the_plan_is_called():
    waits = [{"id": "w" * 60 + str(n), "type": "wait", "duration": "P1D"} for n in range(50)]
    driven = Driven(*waits, plan={"name": "東" * 120})
    text = Summary.of(driven.run).to_text()
    assert len(text.encode()) <= 512
    summary = Summary.from_text(text)
    assert summary is not None
    assert summary.counts["total"] == 50
    assert loads(text)["status"] == "Running"


@pytest.mark.parametrize("text", [None, "", "{", "[]", "3", '{"name": "x"}', '"status"'])
def test_a_custom_status_that_is_not_ours_is_none(text):
    assert Summary.from_text(text) is None
