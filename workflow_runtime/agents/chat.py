"""
The chat of a skill: turns, one at a time per session, and what is kept of them.

A turn runs in a task of its own, so that it goes on, and its answer is stored, when the one who
asked has gone. A user's message is stored before the model is asked; the answer, the calls of tools
or the failure are stored as one record at the end, so that a session never holds half a turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from secrets import token_hex
from typing import Any

from ..errors import DataDirectoryError, WorkflowNotFoundError
from ..execution import ToolPool
from ..logs import bound, get_logger
from ..plan.encoding import scrub
from ..plan.types import Json
from ..service import InUseError, KeyedLocks, Owner, WorkflowService
from ..skills import Catalog, Skill
from .addendum import addendum
from .asking import WorkflowCalls
from .chat_tools import chat_tools
from .conversation import entries
from .events import TurnDone, TurnEvent, TurnFailed, WorkflowChanged
from .management_tools import ManagementTools
from .models import Models
from .notifications import notification
from .prompts import prompt
from .sessions import Record, SessionStore
from .tool_calls import ModelTool
from .turn import Emit, TurnLog, TurnRequest, run_turn, unexpected

logger = get_logger(__name__)

MAX_HISTORY = 200
_PATIENCE = 3.0

type Clock = Callable[[], datetime]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Turn:
    owner: Owner
    skill: Skill
    workflows: WorkflowService
    correlation_id: str
    context: str | None = None
    answers: str | None = None


class Chat:
    """The chats of one process; use it from one event loop.

    *clock* gives aware times; sync chat tools run in *pool*.
    """

    def __init__(
        self,
        *,
        catalog: Catalog,
        models: Models,
        sessions: SessionStore,
        pool: ToolPool,
        clock: Clock,
    ) -> None:
        self._catalog = catalog
        self._models = models
        self._sessions = sessions
        self._pool = pool
        self._clock = clock
        self._turns = KeyedLocks[Owner]()
        self._running: set[asyncio.Task[None]] = set()

    async def stream(
        self, owner: Owner, message: str, *, context: str | None, workflows: WorkflowService
    ) -> AsyncIterator[TurnEvent]:
        """Run one turn and give its events; the last is a TurnDone or a TurnFailed.

        Raises nothing of the turn's. A caller that stops listening does not stop the turn.
        """
        events: asyncio.Queue[TurnEvent] = asyncio.Queue()
        correlation_id = token_hex(8)
        turn = self._user_turn(
            owner,
            scrub(message),
            context=context,
            workflows=workflows,
            correlation_id=correlation_id,
            emit=events.put_nowait,
        )
        task = asyncio.create_task(_reported(turn, correlation_id, events.put_nowait))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        while True:
            event = await events.get()
            yield event
            if isinstance(event, TurnDone | TurnFailed):
                return

    async def notify(self, owner: Owner, workflow_id: str, *, workflows: WorkflowService) -> bool:
        """Tell the session that a run has ended, and store one answer to that.

        False where another turn of the session goes on for longer than is waited here: who calls
        this holds a place among the app's activities. The notification is appended once per run
        and answered once, however often this is called. A turn that fails is answered by one plain
        sentence. Does nothing, but log, where the skill or the run is gone; raises
        DataDirectoryError when the session cannot be stored.
        """
        correlation_id = token_hex(8)
        with bound(workflow_id=workflow_id, correlation_id=correlation_id):
            try:
                async with self._turns.alone(owner, patience=_PATIENCE):
                    await self._notify(owner, workflow_id, workflows, correlation_id)
            except InUseError:
                return False
        return True

    async def _notify(
        self, owner: Owner, workflow_id: str, workflows: WorkflowService, correlation_id: str
    ) -> None:
        skill = self._catalog.skills.get(owner.skill)
        if skill is None:
            logger.warning("a run ended; its skill %r is gone", owner.skill)
            return
        records = await self._sessions.read(owner)
        about = [record for record in records if record.workflow_id == workflow_id]
        if any(record.kind in {"assistant", "failed"} for record in about):
            return
        try:
            envelope = await workflows.status(owner, workflow_id)
        except WorkflowNotFoundError:
            logger.warning("a run ended and cannot be found any more")
            return
        if not about:
            can_look = skill.workflows is not None
            text = notification(workflow_id, envelope, can_look=can_look)
            await self._sessions.append(owner, self._told(workflow_id, text))
        turn = _Turn(
            owner=owner,
            skill=skill,
            workflows=workflows,
            correlation_id=correlation_id,
            answers=workflow_id,
        )
        ended = await self._answer(turn, emit=lambda _event: None, envelope=envelope)
        if isinstance(ended, TurnFailed):
            logger.warning("the summary of a run failed: %s", ended.code)

    async def history(self, owner: Owner) -> dict[str, Json]:
        """Return the newest 200 messages of users and assistants, oldest first.

        ``{"session_id", "messages": [{"role", "text", "at"}], "truncated"}``. A turn that failed is
        an assistant's message with ``error``, its code.
        """
        records = await self._sessions.read(owner)
        shown = [record for record in records if record.kind != "notification"]
        return {
            "session_id": owner.session,
            "messages": [_shown(record) for record in shown[-MAX_HISTORY:]],
            "truncated": len(shown) > MAX_HISTORY,
        }

    async def close(self) -> None:
        """Cancel the turns that are going on and wait until they have stopped."""
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    async def _user_turn(
        self,
        owner: Owner,
        message: str,
        *,
        context: str | None,
        workflows: WorkflowService,
        correlation_id: str,
        emit: Emit,
    ) -> TurnDone | TurnFailed:
        skill = self._catalog.skills.get(owner.skill)
        if skill is None:
            text = f"There is no skill {owner.skill!r}."
            return TurnFailed(code="skill_not_found", message=text, status=404)
        async with self._turns.alone(owner):
            asked = Record(kind="user", text=message, at=self._now(), context=context)
            await self._sessions.append(owner, asked)
            turn = _Turn(
                owner=owner,
                skill=skill,
                workflows=workflows,
                correlation_id=correlation_id,
                context=context,
            )
            return await self._answer(turn, emit=emit)

    async def _answer(
        self, turn: _Turn, *, emit: Emit, envelope: dict[str, Json] | None = None
    ) -> TurnDone | TurnFailed:
        """Ask the model, and store how the turn ended."""
        log = TurnLog()

        def changed(seen: dict[str, Json]) -> None:
            log.note(seen)
            emit(WorkflowChanged(envelope=seen))

        request = TurnRequest(
            skill=turn.skill,
            instructions=self._instructions(turn.skill),
            entries=entries(_asked_last(await self._sessions.read(turn.owner), turn.answers)),
            tools=self._tools(turn, changed),
            timeout=turn.skill.timeout,
            correlation_id=turn.correlation_id,
        )
        ended = await run_turn(request, models=self._models, log=log, emit=emit)
        record = Record(
            kind="assistant" if isinstance(ended, TurnDone) else "failed",
            text=ended.response if isinstance(ended, TurnDone) else _failure(ended, envelope),
            at=self._now(),
            workflow_id=turn.answers,
            code=ended.code if isinstance(ended, TurnFailed) else None,
            calls=tuple(call for call in log.calls if call.result),
        )
        await self._sessions.append(turn.owner, record)
        return ended

    def _instructions(self, skill: Skill) -> str:
        if skill.workflows is None:
            return skill.instructions
        more = addendum(self._catalog.grants(skill.slug), self._clock())
        return f"{skill.instructions}\n\n{more}"

    def _tools(
        self, turn: _Turn, changed: Callable[[dict[str, Json]], None]
    ) -> tuple[ModelTool, ...]:
        tools = self._catalog.chat_tools_of(turn.skill.slug).values()
        ask = WorkflowCalls(turn.workflows, turn.owner, changed=changed)
        own = chat_tools(tools, self._pool, ask=ask)
        if turn.skill.workflows is None:
            return own
        management = ManagementTools(
            turn.workflows, turn.owner, context=turn.context, changed=changed
        )
        return (*management.tools(), *own)

    def _told(self, workflow_id: str, text: str) -> Record:
        return Record(kind="notification", text=text, at=self._now(), workflow_id=workflow_id)

    def _now(self) -> str:
        now = self._clock().astimezone(UTC).isoformat(timespec="milliseconds")
        return now.replace("+00:00", "Z")


async def _reported(
    turn: Coroutine[Any, Any, TurnDone | TurnFailed], correlation_id: str, emit: Emit
) -> None:
    """Emit how the turn ended, whatever happens to it."""
    ended: TurnDone | TurnFailed = TurnFailed(
        code="turn_failed", message="The turn was stopped: the app is shutting down.", status=503
    )
    with bound(correlation_id=correlation_id):
        try:
            ended = await turn
        except DataDirectoryError:
            logger.exception("a turn could not be stored")
            message = "The session cannot be read or stored now; the log of the app says why."
            ended = TurnFailed(code="data_directory_unusable", message=message, status=503)
        except Exception:
            logger.exception("a turn failed")
            ended = unexpected(correlation_id)
        finally:
            emit(ended)


def _asked_last(records: Sequence[Record], workflow_id: str | None) -> list[Record]:
    """Put the notification that is answered at the end: something may have been said after it."""
    asked = [each for each in records if workflow_id and each.workflow_id == workflow_id]
    return [*(each for each in records if each not in asked), *asked]


def _failure(ended: TurnFailed, envelope: dict[str, Json] | None) -> str:
    if envelope is None:
        return ended.message
    return prompt(
        "summary_failed",
        name=str(envelope.get("name") or envelope.get("workflow_id")),
        status=str(envelope.get("status")),
        reason=ended.message,
    )


def _shown(record: Record) -> dict[str, Json]:
    role = "user" if record.kind == "user" else "assistant"
    shown: dict[str, Json] = {"role": role, "text": record.text, "at": record.at}
    if record.code is not None:
        shown["error"] = record.code
    return shown
