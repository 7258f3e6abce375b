"""
A host in this process with a clock of its own: the engine, driven through virtual time.

Nothing sleeps. An attempt is carried out when it is commanded, and its result arrives when the
carrier says so; then the clock jumps to whatever comes next. Thirty days of waiting take no time.
"""

from __future__ import annotations

import heapq
from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime, timedelta

from ..engine import Command, Event, Run, Started

type Carrier = Callable[[Command, datetime], Awaitable[tuple[Event, timedelta]]]
"""Carries a command out; returns the event it ends with, and how long after the command."""


async def simulate_run(
    run: Run,
    carry: Carrier,
    *,
    start: datetime,
    script: Iterable[tuple[timedelta, Event]] = (),
    respond: Callable[[datetime], Iterable[tuple[timedelta, Event]]] = lambda _: (),
    observe: Callable[[datetime, tuple[Event, ...], tuple[Command, ...]], None] | None = None,
) -> datetime:
    """Drive *run* to its end and return the virtual time of it.

    *script* brings events from outside at times after the start: cancels, answers, events.
    *respond* is asked after every turn for events that follow from it, each after a pause.
    *observe* sees every turn: its time, its events, and what was commanded.
    """
    queue: list[tuple[datetime, int, Event]] = []
    added = 0

    def put(at: datetime, event: Event) -> None:
        nonlocal added
        heapq.heappush(queue, (at, added, event))
        added += 1

    for after, event in script:
        put(start + after, event)
    now = start
    events: tuple[Event, ...] = (Started(),)
    while True:
        commands = run.handle(events, now)
        if observe is not None:
            observe(now, events, commands)
        if run.outcome is not None:
            return now
        for command in commands:
            event, takes = await carry(command, now)
            put(now + takes, event)
        for pause, event in respond(now):
            put(now + pause, event)
        times = [queue[0][0]] if queue else []
        times += [run.deadline] if run.deadline is not None else []
        now = max(now, min(times))
        due: list[Event] = []
        while queue and queue[0][0] <= now:
            due.append(heapq.heappop(queue)[2])
        events = tuple(due)
