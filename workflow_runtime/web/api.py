"""
The calls of one skill: chat, history and its workflows.

A handler reads the request, asks the chat or the workflow service, and shapes the answer; it
decides nothing about turns or runs.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import wraps

from starlette.requests import Request
from starlette.responses import Response

from ..agents.chat import Chat
from ..errors import InvalidRequestError
from ..plan.types import Json
from ..service import STATUSES, Owner, WorkflowService
from ..skills import Skill
from .bodies import (
    ChatBody,
    read_approval,
    read_chat_body,
    read_choice,
    read_event,
    read_integer,
    read_plan_body,
    read_reason,
)
from .encoding import json_response
from .principals import name_of, principal_of
from .problems import Problem, problem_of
from .sessions import (
    chosen_session,
    required_session,
    session_headers,
    session_in_header,
)
from .sse import answer, stream_response
from .turns import Turn, Turns

# A person's browser takes more than a model's context does: an HTML report is to arrive whole.
ENVELOPE_BYTES = 256 * 1024


type Handler = Callable[[Request, WorkflowService | None], Awaitable[Response]]
type WorkflowHandler = Callable[[Request, WorkflowService], Awaitable[Response]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timings:
    """How long a caller is kept waiting, in seconds.

    Azure's front end cuts a silent connection after 230 s: ``chat_answer`` stays below it.
    """

    chat_answer: float = 200.0
    heartbeat: float = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillApi:
    """The handlers of one skill."""

    skill: Skill
    chat: Chat
    turns: Turns
    timings: Timings
    easy_auth: bool

    async def post_chat(self, request: Request, workflows: WorkflowService) -> Response:
        """Answer in one piece, or with 202 when the turn takes too long."""
        session_id, turn = await self._begin(request, workflows, listened=False)
        headers = session_headers(session_id)
        ended = await turn.outcome(seconds=self.timings.chat_answer)
        if isinstance(ended, Problem):
            return ended.to_response(headers)
        if ended is not None:
            return json_response(answer(session_id, ended), headers=headers)
        still_running: Json = {
            "session_id": session_id,
            "status": "running",
            "retry_after": 5,
            "next": "The turn goes on; GET …/history with this session has its answer.",
        }
        return json_response(still_running, status=202, headers={**headers, "retry-after": "5"})

    async def post_chat_stream(self, request: Request, workflows: WorkflowService) -> Response:
        """Answer with server-sent events."""
        session_id, turn = await self._begin(request, workflows, listened=True)
        return stream_response(session_id, turn, heartbeat=self.timings.heartbeat)

    async def get_history(self, request: Request, _: WorkflowService | None) -> Response:
        """Answer with the session's newest messages."""
        owner = self._owner(request)
        history: Json = await self.chat.history(owner)
        return json_response(history, headers=session_headers(owner.session))

    async def get_workflows(self, request: Request, workflows: WorkflowService) -> Response:
        """Answer with the session's runs, newest first (``?limit=``, ``?status=``)."""
        owner = self._owner(request)
        limit = read_integer(request, "limit", default=20, low=1, high=100)
        status = read_choice(request, "status", STATUSES)
        envelopes: list[Json] = [*await workflows.list(owner, limit=limit, status=status)]
        return json_response({"workflows": envelopes}, headers=session_headers(owner.session))

    async def get_workflow(self, request: Request, workflows: WorkflowService) -> Response:
        """Answer with one run's envelope; ``?task_id=`` and ``?path=`` read into a result."""
        owner = self._owner(request)
        envelope: Json = await workflows.status(
            owner,
            request.path_params["id"],
            task_id=request.query_params.get("task_id"),
            path=request.query_params.get("path"),
            max_bytes=ENVELOPE_BYTES,
        )
        return json_response(envelope, headers=session_headers(owner.session))

    async def post_cancel(self, request: Request, workflows: WorkflowService) -> Response:
        """Cancel a run: it settles what is running, then ends."""
        owner = self._owner(request)
        reason = await read_reason(request)
        stopped: Json = await workflows.cancel(owner, request.path_params["id"], reason)
        return json_response(stopped, headers=session_headers(owner.session))

    async def post_terminate(self, request: Request, workflows: WorkflowService) -> Response:
        """Terminate a run at once."""
        owner = self._owner(request)
        reason = await read_reason(request)
        stopped: Json = await workflows.terminate(owner, request.path_params["id"], reason)
        return json_response(stopped, headers=session_headers(owner.session))

    async def post_approval(self, request: Request, workflows: WorkflowService) -> Response:
        """Answer what a task asks; 409 when that is not what was shown."""
        owner = self._owner(request)
        body = await read_approval(request)
        answer: Json = await workflows.approve(
            owner,
            request.path_params["id"],
            request.path_params["task"],
            approved=body.approved,
            digest=body.digest,
            by=name_of(request, owner.principal),
            comment=body.comment,
        )
        return json_response(answer, headers=session_headers(owner.session))

    async def post_event(self, request: Request, workflows: WorkflowService) -> Response:
        """Tell a run of an event."""
        owner = self._owner(request)
        payload, event_id = await read_event(request)
        sent: Json = await workflows.send_event(
            owner,
            request.path_params["id"],
            request.path_params["name"],
            payload,
            event_id=event_id,
        )
        return json_response(sent, headers=session_headers(owner.session))

    async def post_rerun(self, request: Request, workflows: WorkflowService) -> Response:
        """Run an ended one again, with the results that still hold; 400 with all problems."""
        owner = self._owner(request)
        plan = await read_plan_body(request)
        started = await workflows.rerun(owner, request.path_params["id"], plan)
        return json_response(
            started,
            status=400 if "problems" in started else 200,
            headers=session_headers(owner.session),
        )

    async def _begin(
        self, request: Request, workflows: WorkflowService, *, listened: bool
    ) -> tuple[str, Turn]:
        principal = self._principal(request)
        body: ChatBody = await read_chat_body(request)
        session_id = chosen_session(request, body.session_id)
        owner = Owner(principal=principal, skill=self.skill.slug, session=session_id)
        events = self.chat.stream(owner, body.message, context=body.context, workflows=workflows)
        return session_id, self.turns.start(events, listened=listened)

    def _owner(self, request: Request) -> Owner:
        return Owner(
            principal=self._principal(request),
            skill=self.skill.slug,
            session=required_session(request),
        )

    def _principal(self, request: Request) -> str:
        return principal_of(request, self.skill.endpoints.auth, easy_auth=self.easy_auth)


def answering(handler: Handler) -> Handler:
    """Return *handler* that answers every error with a problem, which names the session."""

    @wraps(handler)
    async def answered(request: Request, workflows: WorkflowService | None) -> Response:
        try:
            return await handler(request, workflows)
        except Exception as error:  # noqa: BLE001  # the edge: every error is an answer
            return problem_of(error).to_response(_echoed_session(request))

    return answered


def with_workflows(handler: WorkflowHandler) -> Handler:
    """Return *handler* for a host that hands over the service."""

    @wraps(handler)
    async def served(request: Request, workflows: WorkflowService | None) -> Response:
        if workflows is None:
            message = "a route that uses workflows was called without the workflow service"
            raise RuntimeError(message)
        return await handler(request, workflows)

    return served


def _echoed_session(request: Request) -> dict[str, str]:
    try:
        return session_headers(session_in_header(request))
    except InvalidRequestError:
        return {}
