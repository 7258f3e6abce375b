"""Look at runs: one in full, many in short."""

from __future__ import annotations

import asyncio

from ..hub import InstanceState
from ..plan.types import Json
from . import envelope
from .base import ServiceBase
from .owners import KEYED, Owner

MAX_LISTED = 100
_MAX_KEYED = 1_000
_FIRST_LOOK, _LONGEST_LOOK = 0.1, 1.0

type Envelopes = list[dict[str, Json]]


class Looking(ServiceBase):
    """The reading half of the service."""

    async def status(
        self,
        owner: Owner,
        workflow_id: str,
        *,
        task_id: str | None = None,
        path: str | None = None,
        wait_seconds: float = 0,
        max_bytes: int = envelope.MODEL_BYTES,
    ) -> dict[str, Json]:
        """Return the status envelope, or with *task_id* or *path* one value out of the run.

        With *wait_seconds* it returns early when the run ends. Raises WorkflowNotFoundError for
        unknown and foreign ids alike, InvalidRequestError for a path that leads nowhere.
        """
        state = await self._owned(owner, workflow_id)
        state = await self._wait(state, wait_seconds)
        return await self.read(state, task_id=task_id, path=path, max_bytes=max_bytes)

    async def read(
        self,
        state: InstanceState,
        *,
        task_id: str | None = None,
        path: str | None = None,
        max_bytes: int = envelope.MODEL_BYTES,
    ) -> dict[str, Json]:
        """Return what :meth:`status` does, for an instance that was found already."""
        folded = await self._folded(state)
        run = None if folded is None else folded[1]
        if task_id is not None or path is not None:
            return envelope.task_answer(state, run, task_id, path, max_bytes=max_bytes)
        if state.native_status == "FAILED":
            state = await self._hub.state(state.instance_id, payloads=True) or state
        return envelope.full(state, run, now=self._clock(), max_bytes=max_bytes)

    async def is_stopping(self, workflow_id: str) -> bool:
        """Whether no step of the run is to begin any more: it is being canceled, or has ended."""
        state = await self._hub.state(workflow_id, payloads=False)
        return state is None or envelope.is_stopping(state)

    async def _wait(self, state: InstanceState, seconds: float) -> InstanceState:
        """Look until the run has ended by its own account: a hub only tells of the instance."""
        loop = asyncio.get_running_loop()
        ends = loop.time() + seconds
        pause = _FIRST_LOOK
        while not envelope.has_ended(str(envelope.short(state)["status"])):
            left = ends - loop.time()
            if left <= 0:
                break
            await asyncio.sleep(min(pause, left))
            pause = min(pause * 2, _LONGEST_LOOK)
            state = await self._hub.state(state.instance_id, payloads=False) or state
        return state

    async def list(self, owner: Owner, *, limit: int = 20, status: str | None = None) -> Envelopes:
        """Return the owner's newest runs, without outputs; *status* is one of the envelope's.

        Of the runs that were started with an idempotency key the first 1,000 by id are looked at:
        their ids tell nothing of when they began. Raises InvalidRequestError for another status.
        """
        status = None if status is None else envelope.known_status(status)
        found: Envelopes = []
        for prefix in self._keys.prefixes(owner):
            found += await self.list_prefix(f"{prefix}{KEYED}", limit=_MAX_KEYED, status=status)
            found += await self.list_prefix(prefix, limit=limit, status=status, before=KEYED)
        found.sort(key=lambda one: str(one["created_at"]), reverse=True)
        return found[:limit]

    async def list_prefix(
        self, prefix: str, *, limit: int, status: str | None = None, before: str | None = None
    ) -> Envelopes:
        """Return the first runs by id whose id starts with *prefix*; an empty one names every run.

        *before* ends the list where the rest of an id begins with it.
        """
        found: Envelopes = []
        after: str | None = None
        while len(found) < limit:
            # With a status most of a page may be of no use: a small one is asked for in vain.
            size = MAX_LISTED if status is not None else min(limit, MAX_LISTED)
            page = await self._hub.query(prefix, limit=size, after=after)
            for one in page.instances:
                if before is not None and one.instance_id.startswith(before, len(prefix)):
                    return found[:limit]
                shown = envelope.short(one)
                found += [shown] if status in (None, shown["status"]) else []
            after = page.after
            if after is None:
                break
        return found[:limit]
