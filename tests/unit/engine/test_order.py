"""What runs when: dependencies, slots, concurrency, the longest way first, waits beside."""

import pytest

from tests.unit.engine.driving import Driven, agent, tool
from workflow_runtime.plan.policies import WorkPolicy


def test_a_step_starts_as_soon_as_its_own_dependencies_are_done():
    driven = Driven(tool("a"), tool("c"), tool("b", depends_on=["a"]))
    assert list(driven.open) == ["a", "c"]
    assert driven.done("a") == ["b"]


def test_a_reference_is_a_dependency():
    driven = Driven(tool("b", args={"x": "${a.result}"}), tool("a"))
    assert list(driven.open) == ["a"]
    driven.done("a", 7)
    assert driven.open["b"].args == {"x": 7}


def test_the_longest_way_starts_first():
    driven = Driven(
        tool("short"), tool("long"), tool("next", depends_on=["long"]), max_parallelism=1
    )
    assert list(driven.open) == ["long"]
    assert driven.done("long") == ["short"]


def test_a_wait_takes_no_slot():
    wait = {"id": "w", "type": "wait", "duration": "PT1H"}
    driven = Driven(wait, tool("a", depends_on=["w"]), tool("b"), max_parallelism=1)
    assert list(driven.open) == ["b"]


def test_a_pause_before_another_attempt_takes_no_slot():
    driven = Driven(tool("a", retry={"max_attempts": 2}), tool("b"), max_parallelism=1)
    assert driven.failed("a", kind="retryable") == ["b"]


def test_a_task_keeps_to_its_own_concurrency():
    driven = Driven(tool("a", for_each=[1, 2, 3, 4], concurrency=2), tool("b"), tool("c"))
    assert list(driven.open) == ["a[0]", "a[1]", "b", "c"]
    assert driven.done("a[1]") == ["a[2]"]


def test_all_tasks_of_a_tool_keep_to_its_concurrency():
    driven = Driven(
        *(tool(f"a{n}") for n in range(4)), tool("b", "other"), policy=WorkPolicy(concurrency=2)
    )
    assert list(driven.open) == ["a0", "a1", "b"]
    assert driven.done("b") == []
    assert driven.done("a1") == ["a2"]
    assert driven.done("a0") == ["a3"]
    assert driven.finish().outcome.status == "Completed"


def test_a_task_given_up_does_not_keep_others_of_its_tool_waiting():
    driven = Driven(
        tool("a", for_each=list(range(9)), on_error="continue"),
        tool("b"),
        policy=WorkPolicy(concurrency=1),
    )
    for n in range(5):
        driven.failed(f"a[{n}]")
    assert driven.status_of("a") == "failed"
    assert list(driven.open) == ["b"]


def test_an_agent_and_a_tool_of_one_name_have_limits_of_their_own():
    driven = Driven(
        tool("a"),
        tool("b"),
        agent("c") | {"agent": "work"},
        policy=WorkPolicy(concurrency=1),
    )
    assert list(driven.open) == ["a", "c"]


@pytest.mark.parametrize("width", [1, 3])
def test_no_more_run_at_once_than_the_limit(width):
    driven = Driven(tool("a", for_each=list(range(6))), max_parallelism=width)
    assert len(driven.open) == width
    driven.done("a[0]")
    assert len(driven.open) == width
