"""Start runs: a new one, the same one only once, an earlier one again."""

from __future__ import annotations

from typing import Any

from ..engine import Run, reusable
from ..errors import (
    ConflictError,
    HubUnavailableError,
    InvalidRequestError,
    TooManyActiveError,
)
from ..hub import InstanceState
from ..logs import get_logger
from ..plan.check import MAX_PROBLEMS, check
from ..plan.decoding import unwrapped
from ..plan.encoding import loads
from ..plan.grants import Grants
from ..plan.model import AgentTask, Plan, ToolTask, read_plan
from ..plan.policies import Policies
from ..plan.templates import escaped
from ..plan.types import Json
from . import envelope
from .base import ServiceBase
from .help_topics import TOPICS, help_text
from .owners import Owner
from .preview import preview_plan
from .run_input import RunInput

ORCHESTRATOR = "workflow"
MAX_KEY = 200
_OPTIONS = ("dry_run", "help", "idempotency_key")

_log = get_logger(__name__)


class Starting(ServiceBase):
    """The half of the service that makes runs."""

    async def start(
        self,
        owner: Owner,
        submission: Any,
        *,
        context: str | None = None,
        data: Json = None,
        tells: bool = True,
    ) -> dict[str, Json]:
        """Check a plan and start it.

        *submission* is what a model or a client sent, decoded or not. *context* and *data* are used
        where the plan names no ``context`` or ``input``. *tells*: the session is told when the run
        ends. Answers ``{"workflow_id", "status", …}``, ``{"error", "problems"}``, a preview or a
        help text; raises TooManyActiveError and HubUnavailableError.
        """
        self._catalog.require(owner.skill)
        submission, options = _split(submission)
        if options.get("help") is not None:
            return _help(options["help"])
        grants = self._catalog.grants(owner.skill)
        dry_run = _flag("dry_run", options.get("dry_run"))
        key = _key(options.get("idempotency_key"))
        if key is not None and (earlier := await self._started_with(owner, key)) is not None:
            return earlier
        checked = check(submission, grants, self._clock(), context=context, data=data)
        if checked.plan is None:
            return _rejected([problem.to_json() for problem in checked.problems])
        if dry_run:
            return preview_plan(checked.plan, grants)
        return await self._start(owner, checked.plan, grants, tells=tells, key=key)

    async def start_call(
        self, owner: Owner, tool: str, args: Json, *, tells: bool = True
    ) -> dict[str, Json]:
        """Start a run of one call of a tool for which a person is asked first.

        So a chat turn calls such a tool: the run waits for the answer, and the session is told.
        """
        source: dict[str, Any] = {
            "name": f"Call {tool}",
            "tasks": [{"id": "call", "type": "tool", "tool": tool, "args": escaped(args)}],
            "output": "${call.result}",
        }
        grants = self._catalog.grants(owner.skill)
        return await self._start(owner, read_plan(source), grants, tells=tells)

    async def rerun(
        self, owner: Owner, workflow_id: str, plan: Any = None, *, tells: bool = True
    ) -> dict[str, Json]:
        """Start a new run of one that has ended, with the results that still hold.

        A result holds where the task's resolved inputs are unchanged. *plan* is an edited plan;
        without one it is the same. Raises ConflictError for a run that is going on.
        """
        return await self.rerun_instance(await self._owned(owner, workflow_id), plan, tells=tells)

    async def rerun_instance(
        self, state: InstanceState, plan: Any = None, *, tells: bool = True
    ) -> dict[str, Json]:
        """Start a run again that was found already; the new run is its owner's."""
        folded = await self._folded(state)
        if folded is None or not envelope.has_ended(str(envelope.short(state)["status"])):
            message = "the workflow is still going on; cancel it, or wait until it has ended"
            raise ConflictError(message)
        earlier, run = folded
        grants = self._catalog.grants(earlier.owner.skill)
        edited = earlier.plan
        if plan is not None:
            checked = check(
                plan,
                grants,
                self._clock(),
                context=earlier.plan.context,
                data=earlier.plan.input,
            )
            if checked.plan is None:
                return _rejected([problem.to_json() for problem in checked.problems])
            edited = checked.plan
        started = await self._start(
            earlier.owner, edited, grants, tells=tells, again=(earlier, run)
        )
        return {**started, "rerun_of": state.instance_id}

    async def _start(
        self,
        owner: Owner,
        plan: Plan,
        grants: Grants,
        *,
        tells: bool,
        key: str | None = None,
        again: tuple[RunInput, Run] | None = None,
    ) -> dict[str, Json]:
        workflow_id = self._keys.new_id(owner, self._clock(), key=key)
        started = RunInput(
            plan=plan,
            limits=grants.limits,
            policies=self._policies(owner, plan, grants, again),
            owner=owner,
            tells=tells,
            root=workflow_id if again is None else again[0].root,
            reuse={} if again is None else reusable(again[1].tasks),
        )
        try:
            async with self._starts.alone(owner):  # a model may start many at once
                if key is not None and (earlier := await self._started_with(owner, key)):
                    return earlier
                await self._refuse_too_many(owner, grants.limits.max_active)
                await self._hub.start(workflow_id, ORCHESTRATOR, started.to_text())
        except HubUnavailableError:
            # Another start with the same key may have been quicker.
            if key is not None and (earlier := await self._started_with(owner, key)):
                return earlier
            raise
        _log.info("workflow started", extra={"workflow_id": workflow_id})
        return {
            "workflow_id": workflow_id,
            "status": "Pending",
            "poll_after_seconds": envelope.POLL_SECONDS,
            "next": envelope.END_YOUR_TURN,
        }

    def _policies(
        self, owner: Owner, plan: Plan, grants: Grants, again: tuple[RunInput, Run] | None
    ) -> Policies:
        """Freeze what is said of the attempts of the plan's tools and agents.

        A plan that was not checked anew may name what is not granted to plans: a chat tool that
        asks a person asks here too, and of what is gone the earlier run's policy stays. It may
        be back when the step is run, and must not be less guarded then.
        """
        tools = {task.tool for task in plan.tasks if isinstance(task, ToolTask)}
        agents = {task.agent for task in plan.tasks if isinstance(task, AgentTask)}
        policies = grants.policies(tools, agents)
        chat_tools = self._catalog.chat_tools_of(owner.skill)
        asking = {name: t.policy for name, t in chat_tools.items() if t.policy.approval}
        earlier = Policies() if again is None else again[0].policies
        return Policies(
            tools={
                **earlier.tools,
                **{name: asking[name] for name in sorted(tools & set(asking))},
                **policies.tools,
            },
            agents={**earlier.agents, **policies.agents},
        )

    async def _started_with(self, owner: Owner, key: str) -> dict[str, Json] | None:
        """Return the answer for a key that was used before."""
        for workflow_id in self._keys.keyed_ids(owner, key):
            state = await self._hub.state(workflow_id, payloads=False)
            if state is not None:
                short = envelope.short(state)
                return {
                    "workflow_id": workflow_id,
                    "status": short["status"],
                    "already_started": True,
                    "next": short.get("next", "It has ended: read it with get_workflow_status."),
                }
        return None

    async def _refuse_too_many(self, owner: Owner, limit: int) -> None:
        active = 0
        for prefix in self._keys.prefixes(owner):
            after: str | None = None
            while active < limit:
                page = await self._hub.query(prefix, limit=limit, unfinished=True, after=after)
                # One that has ended by its own account may still be telling its session.
                shown = [str(envelope.short(one)["status"]) for one in page.instances]
                active += sum(not envelope.has_ended(status) for status in shown)
                after = page.after
                if after is None:
                    break
        if active >= limit:
            message = f"this session has {active} unfinished workflows, and may have {limit}"
            raise TooManyActiveError(f"{message}; wait until one ends, or cancel one")


def _split(submission: Any) -> tuple[Any, dict[str, Any]]:
    """Take ``dry_run``, ``help`` and ``idempotency_key`` off a plan."""
    if isinstance(submission, str):
        try:
            decoded = loads(submission)
        except ValueError:
            return submission, {}
        submission = decoded if isinstance(decoded, dict) else submission
    if not isinstance(submission, dict):
        return submission, {}
    submission = unwrapped(submission)
    options = {key: submission[key] for key in _OPTIONS if key in submission}
    return {key: value for key, value in submission.items() if key not in options}, options


def _key(given: object) -> str | None:
    if given is None or given == "":
        return None
    if isinstance(given, str) and len(given) <= MAX_KEY:
        return given
    message = f"idempotency_key is text of at most {MAX_KEY} characters"
    raise InvalidRequestError(message)


def _flag(name: str, given: object) -> bool:
    """Read a flag as models write it; what is neither must not be taken for a no."""
    if isinstance(given, str) and given.lower() in {"true", "false"}:
        return given.lower() == "true"
    if given is None or given == "" or isinstance(given, bool):
        return given is True
    message = f"{name} is true or false"
    raise InvalidRequestError(message)


def _help(topic: object) -> dict[str, Json]:
    if topic not in TOPICS:
        message = f"help has the topics {', '.join(TOPICS)}"
        raise InvalidRequestError(message)
    return {"help": str(topic), "text": help_text(str(topic))}


def _rejected(problems: list[dict[str, Any]]) -> dict[str, Json]:
    these = "all of these" if len(problems) < MAX_PROBLEMS else "these, and there may be more"
    return {
        "error": "invalid_plan",
        "problems": list(problems),
        "next": f"Nothing was started. Fix {these}, then call start_workflow again.",
    }
