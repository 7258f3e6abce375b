"""The work of a run grows with what happens in it, and not with what has happened before."""

import sys

import pytest

from tests.unit.engine.driving import NOW, tool
from workflow_runtime.engine import Failed, Failure, Run, Started, Succeeded
from workflow_runtime.plan.grants import Limits
from workflow_runtime.plan.model import read_plan
from workflow_runtime.plan.policies import Policies, RetryPolicy, WorkPolicy

LIMITS = Limits(max_tasks=10_000, max_items=100_000, max_parallelism=16)
NARROW = Policies(tools={"work": WorkPolicy(concurrency=3)})
STUBBORN = Policies(tools={"work": WorkPolicy(retry=RetryPolicy(max_attempts=2))})


def steps_of(work):
    """Return how many calls, of C functions too, and how many branches and loops it took."""
    monitoring, count = sys.monitoring, 0
    kinds = monitoring.events.CALL | monitoring.events.BRANCH | monitoring.events.JUMP

    def note(*_):
        nonlocal count
        count += 1

    monitoring.use_tool_id(monitoring.PROFILER_ID, "cost")
    for kind in (monitoring.events.CALL, monitoring.events.BRANCH, monitoring.events.JUMP):
        monitoring.register_callback(monitoring.PROFILER_ID, kind, note)
    monitoring.set_events(monitoring.PROFILER_ID, kinds)
    try:
        work()
    finally:
        monitoring.set_events(monitoring.PROFILER_ID, 0)
        monitoring.free_tool_id(monitoring.PROFILER_ID)
    return count


def drive(plan, policies, *, fails_first=False):
    """Run a plan to its end, one completion at a time, and look at what a host looks at."""
    run = Run(plan, LIMITS, policies)
    now, queue = NOW, list(run.handle([Started()], NOW))
    place = 0
    while run.outcome is None:
        if place < len(queue):
            command = queue[place]
            place += 1
            fails = fails_first and command.attempt == 1
            busy = Failure(code="busy", message="busy", kind="retryable")
            event = Failed(command.step, busy) if fails else Succeeded(command.step, "ok")
            queue += run.handle([event], now)
        else:
            assert run.deadline is not None
            now = max(now, run.deadline)
            queue += run.handle([], now)
        _ = run.deadline, run.status, run.counts.to_json()
    assert run.outcome.status == "Completed"
    return place


def items(count):
    return {"tasks": [tool("e", for_each=list(range(count)), args={"v": "${item}"})]}


def siblings(count):
    return {"tasks": [tool(f"t{n}") for n in range(count)]}


def waits(count):
    each = [{"id": f"w{n}", "type": "wait", "duration": f"PT{n + 1}S"} for n in range(count)]
    return {"tasks": each}


def readers(count):
    source = tool("source")
    reads = [tool(f"t{n}", args={"v": "${source.result}"}) for n in range(count)]
    return {"tasks": [source, *reads]}


@pytest.mark.parametrize(
    ("shape", "policies", "fails_first"),
    [
        (items, Policies(), False),
        (items, NARROW, False),
        (items, STUBBORN, True),
        (siblings, Policies(), False),
        (siblings, NARROW, False),
        (waits, Policies(), False),
        (readers, Policies(), False),
    ],
    ids=["items", "items, narrow", "items, retried", "tasks", "tasks, narrow", "waits", "readers"],
)
def test_four_times_as_much_takes_about_four_times_the_work(shape, policies, fails_first):
    few, many = (read_plan(shape(count)) for count in (1_000, 4_000))
    small = steps_of(lambda: drive(few, policies, fails_first=fails_first))
    large = steps_of(lambda: drive(many, policies, fails_first=fails_first))
    assert large / small < 4.6
