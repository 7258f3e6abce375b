"""
A chat turn runs in a task of its own: it goes on, and its answer is stored, when nobody listens.

What a listener has not taken yet waits in a bounded buffer. A turn never waits for its listener:
one that lags too far behind loses the events and is told so at the end.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator

from ..agents.events import TextDelta, TurnDone, TurnEvent, TurnFailed, WorkflowChanged
from ..logs import get_logger
from .problems import Problem, model_problem, problem_of

logger = get_logger(__name__)

MAX_PENDING_EVENTS = 256

type Outcome = TurnDone | Problem

_LAGGING = Problem(
    status=503,
    code="reader_too_slow",
    detail="Events came faster than they were read, and some are lost.",
    fix="GET …/history has the whole answer.",
)
_NO_ANSWER = Problem(
    status=500,
    code="turn_failed",
    detail="The turn ended without an answer.",
    fix="Send the message again.",
)


class Turn:
    """One turn that is under way."""

    def __init__(self, *, listened: bool) -> None:
        self._listened = listened
        self._lost = False
        self._pending: deque[TurnEvent] = deque()
        self._changed = asyncio.Event()
        self._outcome: Outcome | None = None

    async def outcome(self, *, seconds: float) -> Outcome | None:
        """Return how the turn ended, or None when it has not after *seconds*."""
        try:
            async with asyncio.timeout(seconds):
                while self._outcome is None:
                    await self._wait()
        except TimeoutError:
            return None
        return self._outcome

    async def events(self, *, heartbeat: float) -> AsyncIterator[TurnEvent | Problem | None]:
        """Give the events as they come, then the outcome; None after each quiet *heartbeat*.

        When the caller stops before the end, the rest of the turn goes on unheard.
        """
        try:
            while True:
                while self._pending:
                    yield self._pending.popleft()
                if self._outcome is not None:
                    yield _LAGGING if self._lost else self._outcome
                    return
                try:
                    async with asyncio.timeout(heartbeat):
                        await self._wait()
                except TimeoutError:
                    yield None
        finally:
            self._listened = False
            self._pending.clear()

    async def run(self, events: AsyncIterator[TurnEvent]) -> None:
        """Take the turn's events to its end; never raises but CancelledError."""
        ended: Outcome = _NO_ANSWER
        try:
            async for event in events:
                match event:
                    case TurnDone():
                        ended = event
                    case TurnFailed():
                        ended = model_problem(event.code, event.message, event.status)
                    case _:
                        self._offer(event)
        except Exception as error:  # noqa: BLE001  # however it ends, the listener is told
            ended = problem_of(error)
        finally:
            self._outcome = ended
            self._changed.set()

    async def _wait(self) -> None:
        self._changed.clear()
        await self._changed.wait()

    def _offer(self, event: TurnEvent) -> None:
        if not self._listened:
            return
        pending = self._pending
        last = pending[-1] if pending else None
        if isinstance(event, TextDelta) and isinstance(last, TextDelta):
            pending.pop()
            event = TextDelta(text=last.text + event.text)
        elif isinstance(event, WorkflowChanged):
            self._drop_older(event)
        if len(pending) >= MAX_PENDING_EVENTS:
            logger.warning("The listener of a turn lags behind: its events are dropped")
            self._lost, self._listened = True, False
            pending.clear()
        else:
            pending.append(event)
        self._changed.set()

    def _drop_older(self, event: WorkflowChanged) -> None:
        """Forget pending envelopes of the same run: the newest one says it all."""
        run = event.envelope.get("workflow_id")
        kept = [
            other
            for other in self._pending
            if not (isinstance(other, WorkflowChanged) and other.envelope.get("workflow_id") == run)
        ]
        self._pending.clear()
        self._pending.extend(kept)


class Turns:
    """The turns under way in this process: a task that nobody holds could be collected."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, events: AsyncIterator[TurnEvent], *, listened: bool) -> Turn:
        """Start the turn that *events* come from; *listened* when its events will be read."""
        turn = Turn(listened=listened)
        task = asyncio.create_task(turn.run(events), name="chat-turn")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return turn
