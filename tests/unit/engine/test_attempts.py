"""Attempts: how often, after which pauses, under which key, and when one is enough."""

import pytest

from tests.unit.engine.driving import Driven, agent, tool
from workflow_runtime.engine import reusable
from workflow_runtime.plan.policies import RetryPolicy, WorkPolicy

THREE = {"max_attempts": 3, "initial": "PT1S", "multiplier": 2, "max": "PT3S"}


def pause(driven):
    return (driven.run.deadline - driven.now).total_seconds()


def test_pauses_grow_up_to_the_greatest():
    driven = Driven(tool("a", retry=THREE | {"max_attempts": 5}))
    pauses = []
    for _ in range(4):
        driven.failed("a", kind="retryable")
        pauses.append(pause(driven))
        driven.wait(pauses[-1])
    assert pauses == [1, 2, 3, 3]
    assert driven.open["a"].attempt == 5


def test_a_pause_is_never_shorter_than_the_tool_asked_for():
    driven = Driven(tool("a", retry=THREE))
    driven.failed("a", kind="retryable", retry_after=90.0)
    assert pause(driven) == 90


def test_after_the_last_attempt_the_last_reason_is_told():
    driven = Driven(tool("a", retry=THREE | {"max_attempts": 2}))
    driven.failed("a", "busy", kind="retryable")
    driven.wait(1)
    driven.failed("a", "busy", kind="retryable")
    error = driven.run.outcome.error
    assert error.code == "retries_exhausted"
    assert error.message == "2 attempts failed; the last: busy: it did not work"


@pytest.mark.parametrize(
    ("kind", "retry", "again"),
    [
        ("terminal", THREE, False),
        ("unknown", THREE, True),
        ("unknown", None, False),
        ("retryable", None, True),
    ],
)
def test_what_is_tried_again(kind, retry, again):
    driven = Driven(tool("a", retry=retry))
    driven.failed("a", kind=kind)
    assert (driven.run.outcome is None) is again


def test_what_may_act_once_is_never_tried_again():
    policy = WorkPolicy(side_effects="once", retry=RetryPolicy(max_attempts=5))
    driven = Driven(tool("a", retry=THREE), policy=policy)
    driven.failed("a", kind="retryable")
    assert driven.run.outcome.status == "Failed"


def test_a_task_says_more_than_its_tool():
    policy = WorkPolicy(retry=RetryPolicy(max_attempts=9))
    driven = Driven(tool("a", retry={"max_attempts": 1}), policy=policy)
    driven.failed("a", kind="retryable")
    assert driven.run.outcome.error.code == "failed"


def test_a_result_is_asked_for_again_until_it_will_do():
    driven = Driven(tool("a", retry=THREE | {"until": "result.done"}))
    driven.done("a", {"done": False})
    driven.wait(1)
    driven.done("a", {"done": True})
    assert driven.run.outcome.output == {"a": {"done": True}}


def test_attempts_at_one_step_have_one_key_and_no_other_step_has_it():
    driven = Driven(tool("a", retry=THREE), tool("b"), tool("e", for_each=[1, 1]))
    keys = [command.key for command in driven.open.values()]
    assert len(set(keys)) == 4
    driven.failed("a", kind="retryable")
    driven.wait(1)
    assert driven.open["a"].key == keys[0]


def test_a_timeout_is_the_tasks_or_else_the_tools():
    policy = WorkPolicy(timeout=RetryPolicy().initial)
    driven = Driven(tool("a"), tool("b", timeout="PT9S"), agent("c"), policy=policy)
    assert [driven.open[name].timeout for name in "abc"] == [1, 9, None]


# --- re-runs -------------------------------------------------------------------------------------


def rerun(*tasks, earlier):
    return Driven(*tasks, reuse=reusable(earlier.run.tasks))


def test_a_rerun_calls_what_failed_and_what_comes_after():
    tasks = (tool("a"), tool("b"), tool("c", depends_on=["a"]), tool("d", depends_on=["b", "c"]))
    first = Driven(*tasks)
    first.done("a")
    first.done("c")
    first.failed("b")
    again = rerun(*tasks, earlier=first)
    assert again.run.tasks["a"].steps[0].is_reused
    assert again.run.tasks["c"].steps[0].is_reused
    assert list(again.open) == ["b"]
    assert again.done("b") == ["d"]


def test_a_rerun_calls_what_has_other_inputs():
    first = Driven(tool("a", args={"n": 1}), tool("b", args={"of": "${a.result}"}))
    first.done("a", 1)
    first.done("b")
    tasks = (tool("a", args={"n": 2}), tool("b", args={"of": "${a.result}"}))
    again = rerun(*tasks, earlier=first)
    assert again.done("a", 1) == [], "b has what it had"
    assert again.run.outcome.status == "Completed"
    other = rerun(*tasks, earlier=first)
    assert other.done("a", 2) == ["b"]


def test_a_rerun_takes_items_by_what_they_are_and_not_by_their_place():
    first = Driven(tool("e", for_each=["x", "y", "y"], args={"v": "${item}"}))
    for n, value in enumerate(["X", "Y1", "Y2"]):
        first.done(f"e[{n}]", value)
    again = rerun(tool("e", for_each=["y", "z", "x"], args={"v": "${item}"}), earlier=first)
    assert list(again.open) == ["e[1]"]
    again.done("e[1]", "Z")
    assert again.run.outcome.output == {"e": ["Y1", "Z", "X"]}


def test_a_rerun_waits_no_second_time_and_asks_again():
    wait = {"id": "w", "type": "wait", "duration": "PT1H"}
    ask = {"id": "ask", "type": "approval", "message": "?"}
    first = Driven(wait, ask, tool("a", depends_on=["w", "ask"]))
    first.answer("ask")
    first.wait(3600)
    first.failed("a")
    again = rerun(wait, ask, tool("a", depends_on=["w", "ask"]), earlier=first)
    assert again.status_of("w") == "completed"
    assert again.question("ask")


def test_a_result_that_no_longer_will_do_is_not_taken():
    first = Driven(tool("a"))
    first.done("a", {"done": False})
    again = rerun(tool("a", retry={"until": "result.done"}), earlier=first)
    assert list(again.open) == ["a"]


def test_a_rerun_of_a_run_has_the_keys_of_the_first():
    first = Driven(tool("a"))
    key = first.open["a"].key
    first.failed("a")
    assert rerun(tool("a"), earlier=first).open["a"].key == key


def test_one_that_is_polled_does_not_wait_behind_those_that_are_held_back():
    again = {"max_attempts": 9, "initial": "PT1S", "until": "result.ok"}
    driven = Driven(tool("a", for_each=[0, 1, 2, 3], concurrency=2, retry=again))
    driven.done("a[0]", {"ok": False})
    driven.failed("a[1]", kind="retryable", retry_after=3600)
    if "a[2]" in driven.open:
        driven.failed("a[2]", kind="retryable", retry_after=3600)
    assert driven.wait(1) == ["a[0]"]
