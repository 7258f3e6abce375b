"""Say something to a run: stop, an answer to its question, an event it may wait for."""

from __future__ import annotations

import asyncio
import secrets
from contextlib import suppress

from ..engine import Answered
from ..errors import ConflictError, HubUnavailableError, InvalidRequestError
from ..hub import InstanceState
from ..plan.encoding import dumps
from ..plan.times import format_instant
from ..plan.types import Json
from . import envelope
from .base import ServiceBase
from .fold import INBOX, inbox_event
from .owners import Owner

_MAX_TEXT = 500
_MAX_EVENT = 64 * 1024
_MAX_NAME = 100
# Seconds between looks whether a run has taken note of what it was told: one second in all.
_LOOKS = (0.005, 0.01, 0.025, 0.06, 0.1, 0.2, 0.3, 0.3)


class Controlling(ServiceBase):
    """The half of the service that changes where a run goes."""

    async def cancel(self, owner: Owner, workflow_id: str, reason: str = "") -> dict[str, Json]:
        """Ask a run to stop: no step starts any more, running ones are awaited for a while."""
        return await self.cancel_instance(await self._owned(owner, workflow_id), reason)

    async def cancel_instance(self, state: InstanceState, reason: str) -> dict[str, Json]:
        """Cancel an instance that was found already.

        Returns when the run has taken note, so that nothing of it begins any more; or after a
        second, when it takes note later.
        """
        if ended := _already(state):
            return ended
        await self._send(state, {"kind": "cancel", "reason": reason[:_MAX_TEXT] or "canceled"})
        await self._noted(state)
        return {"workflow_id": state.instance_id, "status": "Canceling"}

    async def terminate(self, owner: Owner, workflow_id: str, reason: str = "") -> dict[str, Json]:
        """End a run at once; what is running has no effect on it any more."""
        return await self.terminate_instance(await self._owned(owner, workflow_id), reason)

    async def terminate_instance(self, state: InstanceState, reason: str) -> dict[str, Json]:
        """Terminate an instance that was found already."""
        if ended := _already(state):
            return ended
        await self._hub.terminate(state.instance_id, reason[:_MAX_TEXT] or "terminated")
        return {"workflow_id": state.instance_id, "status": "Terminated"}

    async def approve(  # noqa: PLR0913 - all that is recorded of an answer
        self,
        owner: Owner,
        workflow_id: str,
        task: str,
        *,
        approved: bool,
        digest: str,
        by: str,
        comment: str = "",
    ) -> dict[str, Json]:
        """Answer a question of a run; *digest* is that of what the person was shown.

        Raises ConflictError when that is not (or no longer) what the task asks, or somebody has
        said the opposite a moment before.
        """
        state = await self._owned(owner, workflow_id)
        return await self.approve_instance(
            state, task, approved=approved, digest=digest, by=by, comment=comment
        )

    async def approve_instance(
        self,
        state: InstanceState,
        task: str,
        *,
        approved: bool,
        digest: str | None,
        by: str,
        comment: str = "",
    ) -> dict[str, Json]:
        """Answer for an instance that was found already; without *digest* what is asked now."""
        folded = await self._folded(state)
        waiting = folded[1].waiting if folded is not None else ()
        question = next((step.question for step in waiting if step.id == task), None)
        if question is None or state.is_final:
            message = f"task {task[:100]!r} does not wait for an approval; ask for the status again"
            raise ConflictError(message)
        if digest is not None and digest != question.digest:
            message = f"what task {task!r} asks has changed; ask for the status and look again"
            raise ConflictError(message)
        answer_id = secrets.token_hex(8)
        await self._send(
            state,
            {
                "kind": "approval",
                "id": answer_id,
                "step": task,
                "digest": question.digest,
                "approved": approved,
                "by": by[:_MAX_TEXT],
                "comment": comment[:_MAX_TEXT],
                "at": format_instant(self._clock()),
            },
        )
        first = await self._first_answer(state, task, question.digest, sent=answer_id)
        if first is not None and first.approved is not approved:
            done = "approved" if first.approved else "rejected"
            message = f"task {task!r} was {done} by {first.by or 'somebody'} a moment before"
            raise ConflictError(message)
        return {"workflow_id": state.instance_id, "task": task, "approved": approved}

    async def _first_answer(
        self, state: InstanceState, step: str, digest: str, *, sent: str
    ) -> Answered | None:
        """Return the answer that counts, once the one that was *sent* has arrived; None before."""
        with suppress(HubUnavailableError):
            for pause in _LOOKS:
                await asyncio.sleep(pause)
                history = await self._hub.history(state.instance_id)
                arrived = [inbox_event(e.payload or "") for e in history if e.kind == "event"]
                answers = [e for e in arrived if isinstance(e, Answered)]
                answers = [e for e in answers if (e.step, e.digest) == (step, digest)]
                if any(answer.id == sent for answer in answers):
                    return answers[0]
        return None

    async def send_event(
        self,
        owner: Owner,
        workflow_id: str,
        name: str,
        payload: Json = None,
        *,
        event_id: str | None = None,
    ) -> dict[str, Json]:
        """Tell a run of an event; one that comes early is kept for the task that waits for it.

        A second event with the same *event_id* changes nothing.
        """
        state = await self._owned(owner, workflow_id)
        return await self.send_event_to(state, name, payload, event_id=event_id)

    async def send_event_to(
        self, state: InstanceState, name: str, payload: Json, *, event_id: str | None = None
    ) -> dict[str, Json]:
        """Tell an instance that was found already."""
        if not name or len(name) > _MAX_NAME:
            message = f"the name of an event has 1 to {_MAX_NAME} characters"
            raise InvalidRequestError(message)
        if len(dumps(payload).encode()) > _MAX_EVENT:
            message = f"an event may carry {_MAX_EVENT // 1024} KiB"
            raise InvalidRequestError(message)
        if ended := _already(state):
            message = f"the workflow has ended already: {ended['status']}"
            raise ConflictError(message)
        event_id = event_id or secrets.token_hex(8)
        message_: dict[str, Json] = {"kind": "event", "id": event_id, "name": name}
        await self._send(state, {**message_, "payload": payload})
        return {"workflow_id": state.instance_id, "event": name, "id": event_id}

    async def _noted(self, state: InstanceState) -> None:
        """Wait until the run has taken note of a cancel, which it will: here is only looked."""
        with suppress(HubUnavailableError):
            for pause in _LOOKS:
                await asyncio.sleep(pause)
                found = await self._hub.state(state.instance_id, payloads=False)
                if found is None or envelope.is_stopping(found):
                    return

    async def _send(self, state: InstanceState, message: dict[str, Json]) -> None:
        await self._hub.raise_event(state.instance_id, INBOX, dumps(message))


def _already(state: InstanceState) -> dict[str, Json] | None:
    status = str(envelope.short(state)["status"])
    if not envelope.has_ended(status):
        return None
    return {"workflow_id": state.instance_id, "status": status, "already_finished": True}
