"""
What people decide: approval tasks, tools that ask, specialists' tools that ask, a large run.

A question is bound to a digest of exactly what was shown. An answer is taken once, while that very
thing is asked; a rejection, and a deadline that passes, fail the task.
"""

from __future__ import annotations

from datetime import timedelta

from ..plan.model import ApprovalTask
from ..plan.templates import render
from ..plan.times import format_instant
from ..plan.types import Json
from . import opening, progress
from .book import Book
from .digests import digest
from .messages import Answered, Asked, Failure
from .state import Question, Status, Step, TaskState, Wait

APPROVAL_TIMEOUT = timedelta(days=7)
START = "$start"


class Questions:
    """Asks and takes answers for one run."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._gate: Step | None = None

    def asks_before_start(self) -> bool:
        """Ask a person before a run that would run very many sub-agents, if limits say so."""
        limit = self._book.limits.ask_above_agent_runs
        projected = opening.projected_agent_runs(self._book.plan)
        if limit is None or projected <= limit:
            return False
        message = f"The plan runs sub-agents at least {projected} times (more than {limit})."
        self._gate = Step(START, started_at=self._book.now)
        self._ask(None, self._gate, Question(message=message, digest=digest(START, message)))
        return True

    def open_approval(self, state: TaskState, task: ApprovalTask) -> None:
        """Ask what an approval task says; raises TemplateError."""
        message = progress.as_text(render(task.message, self._book.scope))
        step = Step(task.id, started_at=self._book.now)
        self._book.add_steps(state, [step])
        question = Question(message=message, digest=digest(task.id, message))
        self._ask(state, step, question, task.timeout)

    def asks_for_tool(self, state: TaskState, step: Step, tool: str, args: Json) -> bool:
        """Ask before a tool is called that wants it, unless that was approved already."""
        if not state.policy.approval or step.is_approved:
            return False
        asked = digest(step.id, tool, args)
        question = Question(message=f"Call {tool}?", digest=asked, tool=tool, args=args)
        self._ask(state, step, question)
        return True

    def agent_asks(self, state: TaskState, step: Step, event: Asked) -> None:
        """Ask for a sub-agent; each of its questions is another one, even for the same call."""
        if state.failure is not None:  # nothing more of the task is to be run
            self._book.fail(state, step, state.failure)
            return
        step.asked += 1
        question = Question(
            message=f"Sub-agent of {step.id!r} wants to call {event.tool}.",
            digest=digest(step.id, step.asked, event.tool, event.args),
            tool=event.tool,
            args=event.args,
            transcript=event.transcript,
            is_agents=True,
        )
        self._ask(state, step, question)

    def _ask(
        self,
        state: TaskState | None,
        step: Step,
        question: Question,
        length: timedelta | None = None,
    ) -> None:
        book = self._book
        if book.stop is not None and state is not None:
            book.close(state, step, Status.CANCELED, None)
            return
        step.question = question
        until = book.now + min(length or APPROVAL_TIMEOUT, book.limits.max_wait)
        book.wait(step, Wait.APPROVAL, until)

    def answer(self, event: Answered) -> None:
        """Take an answer; one to something that is not (or no longer) asked changes nothing."""
        state, step = self._book.steps.get(event.step, (None, self._gate))
        if step is None or step.id != event.step or step.status is not Status.WAITING:
            return
        question = step.question
        if question is None or question.digest != event.digest:
            return
        step.question = None
        self._book.deadlines.drop(step)
        answer: dict[str, Json] = {
            "approved": event.approved,
            "by": event.by,
            "comment": event.comment,
            "at": event.at,
        }
        if event.approved:
            self._approved(state, step, question, answer)
            return
        by = f"by {event.by}" if event.by else "by a person"
        said = f": {event.comment}" if event.comment else ""
        self._refuse(state, step, Failure(code="rejected", message=f"rejected {by}{said}"), answer)

    def _approved(
        self, state: TaskState | None, step: Step, question: Question, answer: dict[str, Json]
    ) -> None:
        if state is None:
            self._gate = None
            self._book.open_roots()
        elif isinstance(state.task, ApprovalTask):
            self._book.close(state, step, Status.COMPLETED, answer)
        else:
            step.is_approved = True
            if question.is_agents:
                asked: dict[str, Json] = {"tool": question.tool, "args": question.args}
                step.decision = {**answer, **asked, "transcript": question.transcript}
            self._book.queue_again(state, step)

    def nobody_answered(self, state: TaskState | None, step: Step) -> None:
        """Take note that the deadline of a question has passed."""
        message = f"nobody answered until {format_instant(step.until or self._book.now)}"
        step.question = None
        answer: Json = {"approved": False, "by": None, "comment": None, "at": None}
        self._refuse(state, step, Failure(code="approval_timed_out", message=message), answer)

    def _refuse(self, state: TaskState | None, step: Step, failure: Failure, answer: Json) -> None:
        """End what a person did not approve: the task, or the run that was not to begin."""
        if state is None:
            self._gate = None
            self._book.stop_with("Failed", failure)
        else:
            is_asked_for = isinstance(state.task, ApprovalTask)  # a tool has returned nothing
            self._book.fail(state, step, failure, result=answer if is_asked_for else None)
