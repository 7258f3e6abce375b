"""
How running attempts of this process learn that their run is being canceled.

A cancel reaches the orchestration, not the activities that are running; so one watcher per process
asks the hub about the runs that have attempts here, and raises their flags. It looks once a second,
and only while there are any.
"""

from __future__ import annotations

import asyncio

from ..execution import CancelSignals
from ..logs import get_logger
from ..service import WorkflowService

INTERVAL = 1.0

_log = get_logger(__name__)


class CancelWatcher:
    """Watches the runs of one event loop's attempts."""

    def __init__(self, signals: CancelSignals, *, interval: float = INTERVAL) -> None:
        self._signals = signals
        self._interval = interval
        self._task: asyncio.Task[None] | None = None

    def watch(self, service: WorkflowService) -> None:
        """Look after the attempts that are running, until there are none."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run(service))

    async def _run(self, service: WorkflowService) -> None:
        await asyncio.sleep(self._interval)
        while running := self._signals.running():
            for workflow_id in running:
                await self._look(service, workflow_id)
            await asyncio.sleep(self._interval)

    async def _look(self, service: WorkflowService, workflow_id: str) -> None:
        try:
            if await service.is_stopping(workflow_id):
                self._signals.cancel(workflow_id)
        except Exception as error:  # noqa: BLE001 - the others are looked after all the same
            _log.warning("cannot see whether the run is canceled: %s", error)
