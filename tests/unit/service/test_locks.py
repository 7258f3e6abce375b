"""One at a time for a key, and nothing kept for a key that nobody uses."""

import asyncio

import pytest

from workflow_runtime.service import InUseError, KeyedLocks


async def test_one_key_is_used_by_one_at_a_time_in_the_order_they_came():
    locks, order = KeyedLocks[str](), []

    async def use(name):
        async with locks.alone("k"):
            order.append(f"{name} in")
            await asyncio.sleep(0)
            order.append(f"{name} out")

    await asyncio.gather(use("a"), use("b"), use("c"))
    assert order == [f"{name} {where}" for name in "abc" for where in ("in", "out")]


async def test_two_keys_do_not_wait_for_each_other():
    locks = KeyedLocks[int]()
    async with locks.alone(1), locks.alone(2):
        pass


async def test_who_has_no_patience_is_told_that_the_key_is_in_use():
    locks = KeyedLocks[str]()
    async with locks.alone("k"):
        with pytest.raises(InUseError):
            async with locks.alone("k", patience=0.01):
                pass
    async with locks.alone("k", patience=0.01):
        pass


async def test_nothing_is_kept_of_a_key_when_nobody_uses_it_any_more():
    locks = KeyedLocks[str]()

    async def fail():
        async with locks.alone("k"):
            await asyncio.sleep(0)
            raise ValueError

    waiting = [asyncio.create_task(fail()) for _ in range(3)]
    await asyncio.sleep(0)
    waiting[1].cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert locks._locks == {}
