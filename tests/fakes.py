"""One small skill whose tools count, wait and fail as they are told, and the service around it."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

from workflow_runtime.agents.chat import Chat
from workflow_runtime.errors import TerminalError
from workflow_runtime.execution import (
    AgentAnswer,
    AgentRequest,
    CancelSignals,
    FileMarkers,
    Tool,
    ToolPool,
    task_context,
)
from workflow_runtime.hosts.activities import Attempts
from workflow_runtime.hosts.watching import CancelWatcher
from workflow_runtime.hub import TaskHub
from workflow_runtime.plan.grants import Limits
from workflow_runtime.plan.policies import RetryPolicy, WorkPolicy
from workflow_runtime.service import Owner, OwnerKeys, WorkflowService
from workflow_runtime.skills import Catalog, Skill
from workflow_runtime.skills.model import SubAgentLink, WorkflowSettings

PATIENCE = 25
OWNER = Owner(principal="ann", skill="lab", session="s1")
TRICKY = {"__class__": "Money", "__module__": "bank", "__data__": {"amount": "1.10"}, "b": [1]}


def clock() -> datetime:
    """Return the time."""
    return datetime.now(UTC)


class Gates:
    """Tools that wait here end when the test opens their gate."""

    def __init__(self) -> None:
        self._entered: dict[str, threading.Event] = {}
        self._open: dict[str, threading.Event] = {}
        self._lock = threading.Lock()

    def _of(self, kind: dict[str, threading.Event], name: str) -> threading.Event:
        with self._lock:
            return kind.setdefault(name, threading.Event())

    def enter(self, name: str) -> None:
        """Say that a tool has come so far."""
        self._of(self._entered, name).set()

    def open(self, name: str) -> None:
        """Let those through who wait."""
        self._of(self._open, name).set()

    def pass_through(self, name: str, *, listens: bool = True) -> str:
        """Wait until the gate opens, or the run is being canceled."""
        self.enter(name)
        gate, ends = self._of(self._open, name), time.monotonic() + PATIENCE
        while not gate.wait(0.02):
            if listens and task_context().cancelled():
                return "told to stop"
            assert time.monotonic() < ends, f"nobody opened {name!r}"
        return name

    async def entered(self, name: str) -> None:
        """Return when a tool waits at the gate."""
        event = self._of(self._entered, name)
        assert await asyncio.to_thread(event.wait, PATIENCE), f"nobody came to {name!r}"


class Cast:
    """The tools and the one sub-agent; ``calls`` counts them, ``seen`` keeps what they got."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.seen: list[tuple[str, Any]] = []
        self.keys: dict[str, list[str]] = {}
        self.told: list[float] = []
        self.returns: dict[str, Any] = {}
        self.fails: dict[str, list[BaseException]] = {}
        self.gates = Gates()
        self._lock = threading.Lock()

    def tools(self) -> dict[str, Tool]:
        """Return the tools by name."""
        quick = RetryPolicy(max_attempts=3, initial=timedelta(milliseconds=50))
        once, careful = WorkPolicy(side_effects="once"), WorkPolicy(approval=True)
        made = [
            Tool(name="give", call=self._give),
            Tool(name="echo", call=self._echo),
            Tool(name="gate", call=self._gate),
            Tool(name="flaky", call=self._give, policy=WorkPolicy(retry=quick)),
            Tool(name="charge", call=self._give, policy=once),
            Tool(name="delete", call=self._give, policy=careful),
            Tool(name="slowly", call=self._slowly, is_async=True),
            Tool(name="deaf", call=lambda _: self.gates.pass_through("deaf", listens=False)),
        ]
        return {tool.name: tool for tool in made}

    def _note(self, name: str, given: Any) -> None:
        with self._lock:
            self.calls[name] += 1
            self.seen.append((name, given))
            context = task_context()
            self.keys.setdefault(context.task_id, []).append(context.idempotency_key)

    def _echo(self, args: dict[str, Any]) -> Any:
        self._note("echo", args)
        return args

    def _give(self, args: dict[str, Any]) -> Any:
        """Return, or raise, what the test has prepared under ``name``."""
        name = str(args.get("name", "ok"))
        self._note(name, args)
        with self._lock:
            failures = self.fails.get(name)
            failure = failures.pop(0) if failures else None
        if failure is not None:
            raise failure
        return self.returns.get(name, name)

    def _gate(self, args: dict[str, Any]) -> str:
        self._note(str(args["name"]), args)
        return self.gates.pass_through(str(args["name"]))

    async def _slowly(self, args: dict[str, Any]) -> str:
        self._note("slowly", args)
        self.gates.enter("slowly")
        try:
            await asyncio.sleep(PATIENCE)
        except asyncio.CancelledError:
            self.told.append(time.monotonic())
            raise
        return "not told"

    async def run(self, request: AgentRequest) -> AgentAnswer:
        """Answer in a text, or fail where the task says so."""
        text = self.write(request.task)
        return AgentAnswer(agent=request.agent, text=text, input_tokens=5, output_tokens=2)

    def write(self, task: str) -> str:
        """Return the writer's text."""
        with self._lock:
            self.calls["writer"] += 1
        if "fail" in task:
            raise TerminalError("the model refuses")
        return f"about {task}"


@dataclass
class Told:
    """Stands for the chat that is told when a run has ended."""

    ids: list[str] = field(default_factory=list)
    fails: list[Exception] = field(default_factory=list)
    busy: int = 0

    async def notify(self, owner: Owner, workflow_id: str, **_: Any) -> bool:
        """Take note, or fail as long as it shall."""
        if self.fails:
            raise self.fails.pop()
        self.busy -= 1
        if self.busy >= 0:
            return False
        self.ids.append(workflow_id)
        return True


def catalog(cast_: Cast, **limits: Any) -> Catalog:
    """Return the catalog of the skill ``lab`` with the sub-agent ``writer``."""
    links = (SubAgentLink(agent="writer"),)
    settings = WorkflowSettings(subagents=links, limits=Limits(**{"max_active": 50, **limits}))
    lab = Skill(
        slug="lab",
        name="Lab",
        description="Tries things out.",
        instructions="Try.",
        path=Path("lab.agent.md"),
        workflows=settings,
    )
    writer = replace(lab, slug="writer", name="Writer", workflows=None)
    return Catalog(skills={"lab": lab, "writer": writer}, workflow_tools=cast_.tools())


class Lab:
    """Everything of one app but its host: build it, give it a hub, start runs."""

    def __init__(self, data: Path, **limits: Any) -> None:
        self.cast = Cast()
        self.catalog = catalog(self.cast, **limits)
        self.told = Told()
        self.pool = ToolPool(32)
        signals = CancelSignals()
        self.attempts = Attempts(
            catalog=self.catalog,
            agents=self.cast,
            pool=self.pool,
            signals=signals,
            markers=FileMarkers(data / "markers"),
            watcher=CancelWatcher(signals, interval=0.2),
        )

    @property
    def chat(self) -> Chat:
        """What is told, in the place of a chat."""
        return cast("Chat", self.told)

    def service(self, hub: TaskHub) -> WorkflowService:
        """Return a service over *hub*."""
        keys = OwnerKeys([b"0123456789abcdef0123456789abcdef"])
        return WorkflowService(hub=hub, catalog=self.catalog, owner_keys=keys, clock=clock)
