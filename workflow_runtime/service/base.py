"""What every part of the service has: the hub, the catalog, the owner keys and a clock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime

from ..engine import Failure, Run
from ..errors import HistoryMismatchError, WorkflowNotFoundError
from ..hub import InstanceState, TaskHub
from ..logs import get_logger
from ..skills import Catalog
from .fold import fold
from .locks import KeyedLocks
from .owners import Owner, OwnerKeys
from .run_input import RunInput

_log = get_logger(__name__)
_LONG = 2_000
"""Histories of more entries are folded in a thread: that takes a tenth of a second and more."""
_ENDS_FROM_OUTSIDE = {
    "TERMINATED": Failure(code="terminated", message="the run was terminated"),
    "FAILED": Failure(code="orchestration_failed", message="the orchestration failed"),
}


class ServiceBase:
    """Finds runs and reads them."""

    def __init__(
        self,
        *,
        hub: TaskHub,
        catalog: Catalog,
        owner_keys: OwnerKeys,
        clock: Callable[[], datetime],
    ) -> None:
        self._hub = hub
        self._catalog = catalog
        self._keys = owner_keys
        self._clock = clock
        self._starts = KeyedLocks[Owner]()

    async def find(self, workflow_id: str) -> InstanceState:
        """Return any run of the hub, for an operator; raises WorkflowNotFoundError."""
        found = await self._hub.state(workflow_id, payloads=False)
        if found is None:
            message = f"no workflow has the id {workflow_id[:100]!r}"
            raise WorkflowNotFoundError(message)
        return found

    async def _owned(self, owner: Owner, workflow_id: str) -> InstanceState:
        found = None
        if self._keys.owns(owner, workflow_id):
            found = await self._hub.state(workflow_id, payloads=False)
        if found is None:
            message = f"no workflow of this session has the id {workflow_id[:100]!r}"
            raise WorkflowNotFoundError(message)
        return found

    async def _folded(self, state: InstanceState) -> tuple[RunInput, Run] | None:
        """Return the run as its history tells it; None where it has not begun or is unreadable."""
        try:
            history = await self._hub.history(state.instance_id)
            is_long = len(history) > _LONG
            folded = await asyncio.to_thread(fold, history) if is_long else fold(history)
        except HistoryMismatchError as error:
            _log.warning("%s", error, extra={"workflow_id": state.instance_id})
            return None
        if folded is not None and state.native_status in _ENDS_FROM_OUTSIDE:
            folded[1].abandon(_ENDS_FROM_OUTSIDE[state.native_status])
        return folded
