"""One way to run a plan on each of the three hosts, and to see what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

from tests.contract.conftest import Durable
from tests.fakes import OWNER, Cast
from workflow_runtime.engine import Outcome, Run
from workflow_runtime.plan.model import WaitTask
from workflow_runtime.plan.types import Json
from workflow_runtime.testing import Fake, Simulated, simulate_async


@dataclass(frozen=True)
class Went:
    """How a run went: ``order`` are the steps as their ends were recorded, a wait as ``timer``."""

    run: Run
    order: list[str]

    @property
    def outcome(self) -> Outcome:
        assert self.run.outcome is not None
        return self.run.outcome

    @property
    def error(self) -> str | None:
        return None if self.outcome.error is None else self.outcome.error.code

    @property
    def message(self) -> str:
        return "" if self.outcome.error is None else self.outcome.error.message

    @property
    def counts(self) -> dict[str, int]:
        return {key: n for key, n in self.run.counts.to_json().items() if n}

    def status(self, task: str) -> str:
        return str(self.run.tasks[task].status)

    def result(self, task: str) -> Json:
        return self.run.tasks[task].result()


class InSimulation:
    """The engine in this process, in virtual time; a gate takes three seconds."""

    def __init__(self) -> None:
        self.cast = Cast()

    async def go(self, *tasks: dict[str, Any], open_after: Any = (), **rest: Any) -> Went:
        approve = rest.pop("approve", {})
        tools: dict[str, Any] = dict(self.cast.tools())
        tools["gate"] = Fake(returns="opened", takes=timedelta(seconds=3))
        simulated = await simulate_async(
            {"tasks": list(tasks), **rest},
            tools=tools,
            agents={"writer": self.cast.write},
            approve=approve,
        )
        return Went(simulated.run, _ends(simulated))


def _ends(simulated: Simulated) -> list[str]:
    waits = {s.id for s in simulated.run.tasks.values() if isinstance(s.task, WaitTask)}
    ended = [moment.step for moment in simulated.timeline if moment.status != "started"]
    return ["timer" if step in waits else step for step in ended]


class OnDurable:
    """A durable host, in real time; a gate opens when a step has ended."""

    def __init__(self, durable: Durable) -> None:
        self._durable = durable
        self.cast = durable.cast

    async def go(
        self,
        *tasks: dict[str, Any],
        open_after: dict[str, str] | None = None,
        approve: dict[str, bool] | None = None,
        **rest: Any,
    ) -> Went:
        durable = self._durable
        workflow_id = await durable.start(*tasks, **rest)
        for gate, step in (open_after or {}).items():
            await durable.until(workflow_id, partial(_has_done, step))
            self.cast.gates.open(gate)
        for task, approved in (approve or {}).items():
            [shown] = await durable.waits(workflow_id)
            await durable.service.approve(
                OWNER, workflow_id, task, approved=approved, digest=shown["digest"], by="ann"
            )
        await durable.ended(workflow_id)
        return Went(await durable.folded(workflow_id), await durable.order(workflow_id))


def _has_done(step: str, envelope: dict[str, Any]) -> bool:
    lines = envelope.get("tasks", ())
    return any(line["id"] == step and line["status"] == "completed" for line in lines)
