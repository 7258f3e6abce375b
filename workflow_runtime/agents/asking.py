"""
What is done in place of a call for which a person is asked first: nothing here calls a tool.

In a chat turn the call becomes a workflow of one task, which waits for the person while the turn
ends. In a specialist the exchange pauses, and the step it works for waits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from secrets import token_hex

from ..execution import Tool
from ..plan.encoding import canonical
from ..plan.types import Json
from ..service import Owner, WorkflowService
from .tool_calls import Answer, answer, problem, refusal

_NEXT = "A person is asked. End your turn; you will be told."

type Changed = Callable[[dict[str, Json]], None]


class WorkflowCalls:
    """Makes workflows of the calls of one turn; *changed* is told of each.

    The same call twice in one turn is one workflow: a person is asked once.
    """

    def __init__(self, workflows: WorkflowService, owner: Owner, *, changed: Changed) -> None:
        self._workflows = workflows
        self._owner = owner
        self._changed = changed
        self._one_at_a_time = asyncio.Lock()
        self._waiting: dict[str, Answer] = {}

    async def __call__(self, tool: Tool, args: Json) -> Answer:
        """Start the workflow; answers with its id, or with the reason why there is none."""
        key = canonical([tool.name, args])
        async with self._one_at_a_time:
            if key in self._waiting:
                return self._waiting[key]
            try:
                started = await self._workflows.start_call(self._owner, tool.name, args)
            except Exception as error:  # noqa: BLE001 - a turn never ends by what a model sent
                return problem(tool.name, error)
            self._changed({**started, "name": f"Call {tool.name}"})
            self._waiting[key] = answer(
                {
                    "status": "waiting_for_approval",
                    "workflow_id": started["workflow_id"],
                    "next": _NEXT,
                }
            )
            return self._waiting[key]


@dataclass(slots=True)
class Question:
    """The question of one exchange of a specialist: that of the first call, the others wait.

    ``marker`` is what the call is answered with until the person has answered; no model sees it.
    """

    tool: str | None = None
    args: Json = None
    marker: str = field(default_factory=lambda: f"pending {token_hex(16)}")

    def is_asked(self) -> bool:
        """Tell whether the exchange is to end here, with no other request to the model."""
        return self.tool is not None

    async def __call__(self, tool: Tool, args: Json) -> Answer:
        """Ask about this call, or put it off where one is asked about already."""
        if self.tool is not None:
            message = (
                f"Not called: a person was asked about {self.tool!r} first. Call it again if it is "
                "still needed."
            )
            return refusal("not_called", message)
        self.tool, self.args = tool.name, args
        return Answer(text=self.marker)
