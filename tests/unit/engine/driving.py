"""Drive a run by hand: one turn at a time, with the results a test wants."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from workflow_runtime.engine import (
    Answered,
    CallTool,
    Event,
    Failed,
    Failure,
    Run,
    Started,
    Succeeded,
)
from workflow_runtime.plan.grants import Limits
from workflow_runtime.plan.model import read_plan
from workflow_runtime.plan.policies import Policies, WorkPolicy

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def tool(name: str, target: str = "work", /, **rest: Any) -> dict[str, Any]:
    return {"id": name, "type": "tool", "tool": target, **rest}


def agent(name: str, **rest: Any) -> dict[str, Any]:
    return {"id": name, "type": "sub_agent", "agent": "writer", "task": "write", **rest}


class Driven:
    """A run, its clock, and what it wants carried out."""

    def __init__(
        self, *tasks: dict[str, Any], policy: WorkPolicy | None = None, **limits: Any
    ) -> None:
        reuse = limits.pop("reuse", None)
        plan = {"tasks": list(tasks), **limits.pop("plan", {})}
        tools = {} if policy is None else {"work": policy}
        self.run: Any = Run(read_plan(plan), Limits(**limits), Policies(tools=tools), reuse=reuse)
        self.now = NOW
        self.open: dict[str, Any] = {}
        self.turn(Started())

    def turn(self, *events: Event) -> list[str]:
        """Hand in *events*; return the steps that were started."""
        commands = self.run.handle(events, self.now)
        self.open |= {command.step: command for command in commands}
        return [command.step for command in commands]

    def done(self, step: str, value: Any = "ok") -> list[str]:
        command = self.open.pop(step)
        is_tool = isinstance(command, CallTool)
        return self.turn(Succeeded(step, value if is_tool else {"agent": "writer", "text": value}))

    def failed(self, step: str, code: str = "failed", **rest: Any) -> list[str]:
        del self.open[step]
        return self.turn(Failed(step, failure(code, **rest)))

    def wait(self, seconds: float = 0, **rest: Any) -> list[str]:
        self.now += timedelta(seconds=seconds, **rest)
        return self.turn()

    def question(self, step: str) -> Any:
        found = next(one.question for one in self.run.waiting if one.id == step)
        assert found is not None
        return found

    def answer(self, step: str, *, approved: bool = True, digest: str | None = None) -> list[str]:
        digest = digest or self.question(step).digest
        return self.turn(answered(step, digest, approved=approved))

    @property
    def status(self) -> str:
        return str(self.run.status)

    def status_of(self, task: str) -> str:
        return str(self.run.tasks[task].status)

    def counts(self) -> dict[str, int]:
        return {name: n for name, n in self.run.counts.to_json().items() if n}

    def finish(self) -> Any:
        """Let everything succeed that there is."""
        while self.run.outcome is None:
            if self.open:
                self.done(next(iter(self.open)))
            else:
                assert self.run.deadline is not None
                self.now = self.run.deadline
                self.turn()
        return self.run


_ids = iter(range(1_000_000))


def answered(step: str, digest: str, *, approved: bool = True) -> Answered:
    return Answered(
        id=f"a{next(_ids)}",
        step=step,
        digest=digest,
        approved=approved,
        by="ann",
        comment="",
        at="2026-01-01T00:00:00Z",
    )


def failure(code: str = "failed", **rest: Any) -> Failure:
    return Failure(code=code, message="it did not work", **rest)
