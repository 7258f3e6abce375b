"""A ready step: which command it becomes, or what else becomes of it."""

from __future__ import annotations

from ..errors import HistoryMismatchError, TemplateError
from ..plan.model import AgentTask, ToolTask
from ..plan.templates import render
from . import progress
from .book import Book
from .messages import CallTool, Command, Failure, RunAgent
from .questions import Questions
from .reuse import Reuse
from .state import Step, TaskState


class Starter:
    """Starts the steps of one run; *scope* is an id that their keys are made from."""

    def __init__(self, book: Book, questions: Questions, reuse: Reuse, *, scope: str) -> None:
        self._book = book
        self._questions = questions
        self._reuse = reuse
        self._key_scope = scope

    def start(self, state: TaskState, step: Step) -> Command | None:
        """Return what the host has to do; None where the step ended, waits or the run stops."""
        try:
            command = self._command(state, step)
        except TemplateError as error:
            self._book.fail(state, step, Failure(code=error.code, message=str(error)))
            return None
        if command is not None:
            self._book.start(state, step, attempt=command.attempt)
        return command

    def _command(self, state: TaskState, step: Step) -> Command | None:
        match state.task:
            case ToolTask() as task:
                return self._call(state, step, task)
            case AgentTask() as task:
                return self._run(state, step, task)
        message = f"task {state.id!r} holds no slot"
        raise HistoryMismatchError(message)

    def _call(self, state: TaskState, step: Step, task: ToolTask) -> CallTool | None:
        args = render(task.args, self._book.scope.of(step))
        step.identity = (task.tool, args)
        if self._reuse.closes(self._book, state, step):
            return None
        if self._questions.asks_for_tool(state, step, task.tool, args):
            return None
        self._book.usage.tool_calls += 1
        return CallTool(
            step=step.id,
            attempt=step.attempts + 1,
            tool=task.tool,
            args=args,
            scope=self._key_scope,
            identity=step.identity,
            timeout=_timeout(state, task),
        )

    def _run(self, state: TaskState, step: Step, task: AgentTask) -> RunAgent | None:
        text = progress.as_text(render(task.task, self._book.scope.of(step)))
        step.identity = (task.agent, text, self._book.plan.context)
        goes_on = step.decision is not None  # not another attempt, but the rest of this one
        if self._reuse.closes(self._book, state, step) or not self._may(state, run=not goes_on):
            return None
        self._book.usage.agent_runs += not goes_on
        return RunAgent(
            step=step.id,
            attempt=step.attempts if goes_on else step.attempts + 1,
            agent=task.agent,
            task=text,
            scope=self._key_scope,
            identity=step.identity,
            timeout=_timeout(state, task),
            decision=step.decision,
        )

    def _may(self, state: TaskState, *, run: bool = False) -> bool:
        """Whether ``max_agent_runs`` allows it; *run*: it is one more run of a sub-agent."""
        limit = self._book.limits.max_agent_runs
        if not run or self._book.usage.agent_runs < limit:
            return True
        message = f"the run may run sub-agents {limit} times (max_agent_runs)"
        failure = Failure(code="agent_runs_exhausted", message=message, task=state.id)
        self._book.stop_with("Failed", failure)
        return False


def _timeout(state: TaskState, task: ToolTask | AgentTask) -> float | None:
    length = task.timeout or state.policy.timeout
    return length.total_seconds() if length is not None else None
