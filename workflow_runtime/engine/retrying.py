"""What follows a failed attempt: another one after a pause, or the end of the step."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from ..errors import TemplateError
from ..plan.model import AgentTask, ToolTask
from ..plan.policies import RetryPolicy
from ..plan.types import Json
from .messages import Failure
from .scope import ResultScope
from .state import Step, TaskState

# A tool that says that trying again may help is tried again, whether or not a policy is given.
DEFAULT_RETRY = RetryPolicy()
_ONLY_BY_POLICY = frozenset({"timed_out", "outcome_unknown"})


def policy_of(state: TaskState) -> RetryPolicy | None:
    """Return the retry policy of the task, or of its tool or agent."""
    task = state.task
    own = task.retry if isinstance(task, ToolTask | AgentTask) else None
    return own or state.policy.retry


def pause_before_next(state: TaskState, step: Step, failure: Failure) -> timedelta | None:
    """Return how long to wait before the next attempt, or None where there is none."""
    policy = policy_of(state)
    if policy is None and failure.code in _ONLY_BY_POLICY:
        return None
    may_help = failure.kind == "retryable" or (failure.kind == "unknown" and policy is not None)
    policy = policy or DEFAULT_RETRY
    if not may_help or state.policy.side_effects == "once" or step.attempts >= policy.max_attempts:
        return None
    return policy.delay_after(step.attempts, failure.retry_after)


def final_failure(step: Step, failure: Failure) -> Failure:
    """Say how a step failed in the end: with the last failure, or with all retries used."""
    if step.attempts <= 1:
        return failure
    message = f"{step.attempts} attempts failed; the last: {failure.code}: {failure.message}"
    return replace(failure, code="retries_exhausted", message=message)


def unmet_condition(state: TaskState, value: Json) -> Failure | None:
    """Return the failure that a result means which does not meet its ``until``."""
    policy = policy_of(state)
    if policy is None or policy.until is None:
        return None
    source = policy.until.source
    try:
        met = policy.until.evaluate(ResultScope(value), strict=False)
    except TemplateError as error:
        return Failure(code=error.code, message=str(error))
    if met is True:
        return None
    message = f"the result does not meet {source!r}"
    return Failure(code="condition_not_met", message=message, kind="retryable")
