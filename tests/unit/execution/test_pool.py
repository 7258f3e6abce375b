"""The pool of tool threads, whatever its callers do."""

import threading
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workflow_runtime.execution import ToolPool

STEPS = st.lists(
    st.tuples(
        st.sampled_from(["submit", "submit", "finish", "drop", "give up"]), st.integers(0, 9)
    ),
    max_size=25,
)


class Held:
    """A call that runs until it is let out, and its job."""

    def __init__(self, pool, running):
        self.out, self.begun, self.given_up = threading.Event(), threading.Event(), False
        self._running = running
        self.job = pool.submit(self)

    def __call__(self):
        self._running.add(self)
        self.begun.set()
        assert self.out.wait(30)
        self._running.discard(self)
        return self


@pytest.mark.parametrize("threads", [1, 3])
@settings(max_examples=40, deadline=None)
@given(steps=STEPS)
def test_every_call_runs_and_never_too_many_that_somebody_waits_for(threads, steps):
    pool, running, held, late = ToolPool(threads), set(), [], threading.Semaphore(0)
    for step, number in steps:
        if step == "submit":
            held.append(Held(pool, running))
            continue
        if not held:
            continue
        one = held[number % len(held)]
        if step == "finish":
            one.out.set()
        elif step == "drop":
            one.job.future.cancel()
        elif one.begun.is_set() and not one.given_up:
            one.given_up = pool.abandon(one.job, lambda _: late.release())
        awaited = {each for each in running.copy() if not each.given_up and not each.out.is_set()}
        assert len(awaited) <= threads
        assert len(running) <= 2 * threads
    for one in held:
        one.out.set()
    kept = [one for one in held if not one.job.future.cancelled()]
    assert wait([one.job.future for one in kept], timeout=30).not_done == set()
    assert all(one.job.future.result().result() is one for one in kept)
    assert all(late.acquire(timeout=30) for one in held if one.given_up)
    assert not late.acquire(blocking=False)
    pool.close()


def test_many_short_calls_from_many_threads_all_run():
    pool = ToolPool(3)
    with ThreadPoolExecutor(8) as callers:
        jobs = list(callers.map(lambda n: pool.submit(lambda: n), range(2_000)))
    wait([job.future for job in jobs], timeout=30)
    assert [job.future.result().result() for job in jobs] == list(range(2_000))
    pool.close()


def test_two_calls_at_once_run_side_by_side_where_one_thread_is_idle():
    for _ in range(50):
        pool, meet = ToolPool(2), threading.Barrier(2)
        pool.submit(lambda: None).future.result(30)
        jobs = [pool.submit(partial(meet.wait, 10)) for _ in range(2)]
        assert {job.future.result(30).result() for job in jobs} == {0, 1}
        pool.close()


def test_a_closed_pool_takes_nothing_and_drops_what_waits():
    pool, running = ToolPool(1), set()
    first = Held(pool, running)
    assert first.begun.wait(30)
    second = Held(pool, running)
    pool.close()
    assert second.job.future.cancelled()
    with pytest.raises(RuntimeError, match="closed"):
        pool.submit(lambda: None)
    first.out.set()
    assert first.job.future.result(30).result() is first


def test_a_call_that_has_ended_cannot_be_given_up():
    pool = ToolPool(1)
    job = pool.submit(lambda: 1)
    job.future.result(30)
    assert pool.abandon(job, lambda _: pytest.fail("told twice")) is False
    assert pool.abandoned == 0
    pool.close()
