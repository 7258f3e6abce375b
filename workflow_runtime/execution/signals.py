"""
Who is running for which run, and how it learns that the run is being canceled.

One registry per process. The host's watcher asks it which runs have attempts here, and tells it
which of those are being canceled; each attempt holds a flag that its tool may read at any time, in
any thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Signal:
    """A flag of one attempt that is raised once and stays up; any thread may touch it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._raised = threading.Event()
        self._callbacks: list[Callable[[], None]] = []

    def is_set(self) -> bool:
        """Tell whether it is up."""
        return self._raised.is_set()

    def set(self) -> None:
        """Raise it and call, in this thread, what waits for it."""
        with self._lock:
            if self._raised.is_set():
                return
            self._raised.set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    def on_set(self, callback: Callable[[], None]) -> None:
        """Call *callback* once, when it is raised; at once where it is up already."""
        with self._lock:
            if not self._raised.is_set():
                self._callbacks.append(callback)
                return
        callback()


class CancelSignals:
    """The running attempts of this process, by run."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[str, set[Signal]] = {}

    def running(self) -> frozenset[str]:
        """Return the ids of the runs that have an attempt here."""
        with self._lock:
            return frozenset(self._running)

    def cancel(self, workflow_id: str) -> None:
        """Tell every running attempt of the run that the run is being canceled.

        An async tool or a sub-agent gets a CancelledError where it awaits; a sync tool sees it in
        ``task_context().cancelled()``. One that begins afterwards has to be told again.
        """
        with self._lock:
            signals = tuple(self._running.get(workflow_id, ()))
        for signal in signals:
            signal.set()

    @contextmanager
    def attempt(self, workflow_id: str) -> Iterator[Signal]:
        """Have an attempt of the run listed for the block; gives its flag."""
        signal = Signal()
        with self._lock:
            self._running.setdefault(workflow_id, set()).add(signal)
        try:
            yield signal
        finally:
            with self._lock:
                signals = self._running[workflow_id]
                signals.discard(signal)
                if not signals:
                    del self._running[workflow_id]
