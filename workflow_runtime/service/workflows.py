"""Start, look at and stop runs: the only way to a workflow, for models, HTTP and the CLI."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime
from typing import Any

from ..engine import Run
from ..errors import (
    HistoryMismatchError,
    InvalidRequestError,
    TooManyActiveError,
    WorkflowNotFoundError,
)
from ..hub import InstanceState, TaskHub
from ..plan.check import check
from ..plan.encoding import dumps, loads
from ..plan.grants import Grants
from ..plan.model import Plan, read_plan
from ..plan.types import Json
from ..skills import Catalog
from . import envelope
from .fold import INBOX, fold
from .help_topics import TOPICS, help_text
from .owners import Owner, OwnerKeys
from .preview import preview_plan
from .run_input import RunInput

ORCHESTRATOR = "workflow"
MAX_LISTED = 100
_MAX_REASON = 500
_FIRST_LOOK, _LONGEST_LOOK = 0.1, 1.0
_OPTIONS = ("dry_run", "help")

_log = logging.getLogger(__name__)

type Envelopes = list[dict[str, Json]]


class WorkflowService:
    """The runs of one task hub. Every answer is JSON-ready, in the contract's shapes."""

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

    async def start(
        self,
        owner: Owner,
        submission: Any,
        *,
        context: str | None = None,
        data: Json = None,
        tells: bool = True,
    ) -> dict[str, Json]:
        """Check a plan and start it.

        *submission* is what a model or a client sent, decoded or not. *context* and *data* are used
        where the plan names no ``context`` or ``input``. *tells*: the session is told when the run
        ends. Answers ``{"workflow_id", "status", …}``, ``{"error", "problems"}``, a preview or a
        help text; raises TooManyActiveError and HubUnavailableError.
        """
        submission, options = _split(submission)
        if options.get("help") is not None:
            return _help(options["help"])
        grants = self._catalog.grants(owner.skill)
        checked = check(submission, grants, self._clock())
        if checked.plan is None:
            return _rejected([problem.to_json() for problem in checked.problems])
        if options.get("dry_run") is True:
            return preview_plan(checked.plan, grants)
        return await self._start(owner, _completed(checked.plan, context, data), grants, tells=tells)

    async def _start(
        self, owner: Owner, plan: Plan, grants: Grants, *, tells: bool
    ) -> dict[str, Json]:
        await self._refuse_too_many(owner, grants.limits.max_active)
        workflow_id = self._keys.new_id(owner, self._clock())
        started = RunInput(plan=plan, limits=grants.limits, owner=owner, tells=tells)
        await self._hub.start(workflow_id, ORCHESTRATOR, started.to_text())
        _log.info("workflow started", extra={"workflow_id": workflow_id})
        return {
            "workflow_id": workflow_id,
            "status": "Pending",
            "poll_after_seconds": envelope.POLL_SECONDS,
            "next": envelope.END_YOUR_TURN,
        }

    async def _refuse_too_many(self, owner: Owner, limit: int) -> None:
        active = 0
        for prefix in self._keys.prefixes(owner):
            page = await self._hub.query(prefix, limit=limit, unfinished=True)
            active += sum(
                not envelope.has_ended(str(envelope.short(one)["status"])) for one in page.instances
            )
        if active >= limit:
            message = f"this session has {active} unfinished workflows, and may have {limit}"
            raise TooManyActiveError(f"{message}; wait until one ends, or cancel one")

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
        run = await self.run_of(state)
        if task_id is not None or path is not None:
            return envelope.task_answer(state, run, task_id, path, max_bytes=max_bytes)
        if run is None and state.native_status == "FAILED":
            state = await self._hub.state(state.instance_id, payloads=True) or state
        return envelope.full(state, run, max_bytes=max_bytes)

    async def run_of(self, state: InstanceState) -> Run | None:
        """Return the run as its history tells it; None where it has not begun or cannot be read."""
        try:
            folded = fold(await self._hub.history(state.instance_id))
        except HistoryMismatchError as error:
            _log.warning("%s", error, extra={"workflow_id": state.instance_id})
            return None
        return None if folded is None else folded[1]

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

    async def list(
        self, owner: Owner, *, limit: int = 20, status: str | None = None
    ) -> Envelopes:
        """Return the owner's newest runs, without outputs; *status* is one of the envelope's."""
        found: Envelopes = []
        for prefix in self._keys.prefixes(owner):
            found += await self.list_prefix(prefix, limit=limit - len(found), status=status)
        return found

    async def list_prefix(
        self, prefix: str, *, limit: int, status: str | None = None
    ) -> Envelopes:
        """Return the newest runs whose id starts with *prefix*; an empty one names every run."""
        found: Envelopes = []
        after: str | None = None
        while len(found) < limit:
            page = await self._hub.query(prefix, limit=min(limit, MAX_LISTED), after=after)
            shown = (envelope.short(one) for one in page.instances)
            found += [one for one in shown if status in (None, one["status"])]
            after = page.after
            if after is None:
                break
        return found[:limit]

    async def cancel(self, owner: Owner, workflow_id: str, reason: str = "") -> dict[str, Json]:
        """Ask a run to stop: no step starts any more, running ones are awaited for a while."""
        return await self.cancel_instance(await self._owned(owner, workflow_id), reason)

    async def cancel_instance(self, state: InstanceState, reason: str) -> dict[str, Json]:
        """Cancel an instance that was found already."""
        if ended := _already(state):
            return ended
        message: dict[str, Json] = {"kind": "cancel", "reason": reason[:_MAX_REASON] or "canceled"}
        await self._hub.raise_event(state.instance_id, INBOX, dumps(message))
        return {"workflow_id": state.instance_id, "status": "Canceling"}

    async def terminate(self, owner: Owner, workflow_id: str, reason: str = "") -> dict[str, Json]:
        """End a run at once; what is running has no effect on it any more."""
        return await self.terminate_instance(await self._owned(owner, workflow_id), reason)

    async def terminate_instance(self, state: InstanceState, reason: str) -> dict[str, Json]:
        """Terminate an instance that was found already."""
        if ended := _already(state):
            return ended
        await self._hub.terminate(state.instance_id, reason[:_MAX_REASON] or "terminated")
        return {"workflow_id": state.instance_id, "status": "Terminated"}

    async def _owned(self, owner: Owner, workflow_id: str) -> InstanceState:
        found = None
        if self._keys.owns(owner, workflow_id):
            found = await self._hub.state(workflow_id, payloads=False)
        if found is None:
            message = f"no workflow of this session has the id {workflow_id[:100]!r}"
            raise WorkflowNotFoundError(message)
        return found

    async def find(self, workflow_id: str) -> InstanceState:
        """Return any run of the hub, for an operator; raises WorkflowNotFoundError."""
        found = await self._hub.state(workflow_id, payloads=False)
        if found is None:
            message = f"no workflow has the id {workflow_id[:100]!r}"
            raise WorkflowNotFoundError(message)
        return found


def _already(state: InstanceState) -> dict[str, Json] | None:
    status = str(envelope.short(state)["status"])
    if not envelope.has_ended(status):
        return None
    return {"workflow_id": state.instance_id, "status": status, "already_finished": True}


def _split(submission: Any) -> tuple[Any, dict[str, Any]]:
    """Take ``dry_run`` and ``help`` off a plan."""
    if isinstance(submission, str):
        try:
            decoded = loads(submission)
        except ValueError:
            return submission, {}
        submission = decoded if isinstance(decoded, dict) else submission
    if not isinstance(submission, dict):
        return submission, {}
    options = {key: submission[key] for key in _OPTIONS if key in submission}
    return {key: value for key, value in submission.items() if key not in options}, options


def _help(topic: object) -> dict[str, Json]:
    if topic not in TOPICS:
        message = f"help has the topics {', '.join(TOPICS)}"
        raise InvalidRequestError(message)
    return {"help": str(topic), "text": help_text(str(topic))}


def _rejected(problems: list[dict[str, Any]]) -> dict[str, Json]:
    return {
        "error": "invalid_plan",
        "problems": list(problems),
        "next": "Nothing was started. Fix all of these, then call start_workflow again.",
    }


def _completed(plan: Plan, context: str | None, data: Json) -> Plan:
    """Give the plan what its caller brought and it does not name itself."""
    extra: dict[str, Json] = {}
    if context is not None and plan.context is None:
        extra["context"] = context
    if data is not None and plan.input is None:
        extra["input"] = data
    return read_plan({**plan.to_json(), **extra}) if extra else plan
