"""
The threads that sync tools run in.

Own threads, because the event loop's default pool has six threads on two cores and is shared with
the hosts' own work: a few slow tools would hold up everything.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context


class ToolPool:
    """A bounded pool; at most *threads* sync tools run at once, the others queue."""

    def __init__(self, threads: int) -> None:
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="workflow-tool")

    async def run[T](self, call: Callable[[], T]) -> T:
        """Run *call* in a thread that sees the caller's context variables.

        When the caller is cancelled, a call that has not begun never does; one that has begun
        runs to its end, for nothing can stop a thread.
        """
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executor, copy_context().run, call)

    def close(self) -> None:
        """Take no more calls and drop the queued ones; returns without waiting."""
        self._executor.shutdown(wait=False, cancel_futures=True)
