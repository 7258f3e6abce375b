"""
The port to a Durable Task hub: what the service needs of the place where runs live.

It knows instances and payloads (one JSON string each), and nothing of plans. The adapter stands
in ``hosts/client.py``; a simulation runs the engine without any hub.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

FINAL = frozenset({"COMPLETED", "FAILED", "TERMINATED"})


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceState:
    """One orchestration instance as the hub knows it; times are aware and in UTC.

    ``native_status`` is durabletask's name (``PENDING``, ``RUNNING``, ``COMPLETED``, ``FAILED``,
    ``TERMINATED``, ``SUSPENDED``). ``input``, ``output`` and ``failure`` are None where payloads
    were not asked for.
    """

    instance_id: str
    native_status: str
    created_at: datetime
    updated_at: datetime
    custom_status: str | None = None
    input: str | None = None
    output: str | None = None
    failure: str | None = None

    @property
    def is_final(self) -> bool:
        """Whether nothing more happens to this instance."""
        return self.native_status in FINAL


@dataclass(frozen=True, slots=True, kw_only=True)
class InstancePage:
    """Instances in the order of their ids; ``after`` continues, None at the end."""

    instances: tuple[InstanceState, ...]
    after: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEntry:
    """One event of an instance's history, in order.

    ``kind`` is one of ``turn`` (an orchestrator turn began), ``scheduled`` (an activity; ``name``
    and ``payload`` are its name and input), ``completed`` and ``failed`` (``of`` is the ``id`` of
    the scheduled entry; ``payload`` the result), ``timer_created``, ``timer_fired`` (``of``),
    ``event`` (``name``, ``payload``), ``started`` (``payload`` the input). Others are left out.
    """

    kind: str
    at: datetime
    id: int = -1
    of: int = -1
    name: str = ""
    payload: str | None = None


class TaskHub(Protocol):
    """Start, look at and stop instances. Each call raises HubUnavailableError when it cannot."""

    async def start(self, instance_id: str, orchestrator: str, payload: str) -> None: ...

    async def state(self, instance_id: str, *, payloads: bool) -> InstanceState | None:
        """Return the instance, or None when there is none."""

    async def query(
        self,
        prefix: str,
        *,
        limit: int,
        payloads: bool = False,
        after: str | None = None,
        unfinished: bool = False,
    ) -> InstancePage:
        """Return the instances whose id starts with *prefix*, in the order of their ids.

        *unfinished* leaves out those that have ended.
        """
        ...

    async def raise_event(self, instance_id: str, name: str, payload: str) -> None: ...

    async def terminate(self, instance_id: str, reason: str) -> None: ...

    async def history(self, instance_id: str) -> tuple[HistoryEntry, ...]: ...

    async def wait(self, instance_id: str, timeout: float) -> InstanceState | None:  # noqa: ASYNC109
        """Return when the instance has ended or after *timeout* seconds, with its state."""
