"""
The five management tools of one turn: the only way from a model to workflows.

Every answer is JSON of ours. What a model may do too often - poll, send one broken plan after the
other - is bounded here, per turn; what a plan may be is the service's business.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from ..errors import InvalidRequestError
from ..plan.shown import START_DESCRIPTION, start_workflow_schema
from ..plan.types import Json, JsonSchema
from ..service import TOPICS, Owner, WorkflowService, has_ended
from .asking import Changed
from .tool_calls import Answer, ModelTool, answer, decoded, problem

MAX_REJECTED_PLANS = 3
MAX_WAIT_SECONDS = 25
MAX_LISTED = 100

_STOP = (
    f"{MAX_REJECTED_PLANS} plans were rejected in this turn. Stop: send no other plan, tell the "
    "user what is wrong, and end your turn."
)
_DO_NOT_POLL = "It is still going. Do not ask again: end your turn, you will be told when it ends."


class ManagementTools:
    """The tools of one turn of one owner; *changed* is told of each run the turn touches."""

    def __init__(
        self,
        workflows: WorkflowService,
        owner: Owner,
        *,
        context: str | None = None,
        changed: Changed = lambda _envelope: None,
    ) -> None:
        self._workflows = workflows
        self._owner = owner
        self._context = context
        self._changed = changed
        self._rejected = 0
        self._waited = False
        self._seen_running: set[str] = set()

    def tools(self) -> tuple[ModelTool, ...]:
        """Return the five tools."""
        run = {"workflow_id": _TEXT}
        stop = {**run, "reason": _TEXT}
        status = {**run, "task_id": _TEXT, "path": _TEXT, "wait_seconds": _NUMBER}
        return (
            self._tool(
                "start_workflow", START_DESCRIPTION, start_workflow_schema(TOPICS), self._start
            ),
            self._tool("get_workflow_status", "", _schema(status, "workflow_id"), self._status),
            self._tool(
                "list_workflows", "", _schema({"limit": _NUMBER, "status": _TEXT}), self._list
            ),
            self._tool(
                "cancel_workflow", "Stop softly", _schema(stop, "workflow_id"), self._cancel
            ),
            self._tool(
                "terminate_workflow", "Stop at once", _schema(stop, "workflow_id"), self._terminate
            ),
        )

    def _tool(
        self,
        name: str,
        description: str,
        schema: JsonSchema,
        call: Callable[[Any], Awaitable[Answer]],
    ) -> ModelTool:
        async def guarded(arguments: Any) -> Answer:
            try:
                return await call(decoded(arguments))
            except Exception as error:  # noqa: BLE001 - a turn never ends by what a model sent
                return problem(name, error)

        return ModelTool(name=name, description=description, schema=schema, call=guarded)

    async def _start(self, submission: Any) -> Answer:
        result = await self._workflows.start(self._owner, submission, context=self._context)
        if "problems" in result:
            self._rejected += 1
            if self._rejected >= MAX_REJECTED_PLANS:
                result = {**result, "next": _STOP}
            return answer(result, ok=False)
        if "workflow_id" in result:
            name = submission.get("name") if isinstance(submission, dict) else None
            self._changed({**result, "name": name} if isinstance(name, str) else result)
        return answer(result, ok="error" not in result)

    async def _status(self, arguments: Any) -> Answer:
        workflow_id = _run_of(arguments)
        seconds = 0.0 if self._waited else _seconds(arguments.get("wait_seconds"))
        self._waited = self._waited or seconds > 0
        envelope = await self._workflows.status(
            self._owner,
            workflow_id,
            task_id=_optional_text(arguments, "task_id"),
            path=_optional_text(arguments, "path"),
            wait_seconds=seconds,
        )
        if "status" in envelope:
            self._changed(envelope)
        going = "status" in envelope and not has_ended(str(envelope["status"]))
        if going and workflow_id in self._seen_running:
            return answer(
                {
                    "workflow_id": workflow_id,
                    "status": envelope["status"],
                    "next": _DO_NOT_POLL,
                }
            )
        if going:
            self._seen_running.add(workflow_id)
        return answer(envelope)

    async def _list(self, arguments: Any) -> Answer:
        given = _object(arguments)
        limit = given.get("limit")
        envelopes = await self._workflows.list(
            self._owner,
            limit=20 if limit is None else max(1, min(MAX_LISTED, int(_number(limit, "limit")))),
            status=_optional_text(given, "status"),
        )
        return answer({"workflows": list(envelopes)})

    async def _cancel(self, arguments: Any) -> Answer:
        return await self._stop(arguments, self._workflows.cancel)

    async def _terminate(self, arguments: Any) -> Answer:
        return await self._stop(arguments, self._workflows.terminate)

    async def _stop(
        self, arguments: Any, stop: Callable[[Owner, str, str], Awaitable[dict[str, Json]]]
    ) -> Answer:
        workflow_id = _run_of(arguments)
        result = await stop(self._owner, workflow_id, _optional_text(arguments, "reason") or "")
        self._changed(result)
        return answer(result)


_TEXT: dict[str, Json] = {"type": "string"}
_NUMBER: dict[str, Json] = {"type": "integer"}


def _schema(properties: dict[str, dict[str, Json]], *required: str) -> JsonSchema:
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    return {**schema, "required": list(required)} if required else schema


def _object(arguments: Any) -> dict[str, Any]:
    if isinstance(arguments, dict):
        return arguments
    message = "the arguments must be one JSON object"
    raise InvalidRequestError(message)


def _run_of(arguments: Any) -> str:
    workflow_id = _object(arguments).get("workflow_id")
    if isinstance(workflow_id, str) and workflow_id.strip():
        return workflow_id.strip()
    message = "workflow_id must be the id that start_workflow answered"
    raise InvalidRequestError(message)


def _optional_text(arguments: dict[str, Any], name: str) -> str | None:
    given = arguments.get(name)
    if given is None or given == "":
        return None
    if isinstance(given, str):
        return given
    message = f"{name} must be a string"
    raise InvalidRequestError(message)


def _number(given: object, name: str) -> float:
    """Read a number, also one that a model put into quotes."""
    try:
        if isinstance(given, int | float | str) and not isinstance(given, bool):
            return max(-1e9, min(1e9, float(given)))
    except (ValueError, OverflowError):
        pass
    message = f"{name} must be a number"
    raise InvalidRequestError(message)


def _seconds(given: object) -> float:
    if given is None:
        return 0.0
    return max(0.0, min(float(MAX_WAIT_SECONDS), _number(given, "wait_seconds")))
