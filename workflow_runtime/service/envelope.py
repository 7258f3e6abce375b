"""
The status envelope: one shape for models, HTTP clients and the page, bounded in size.

``tasks`` names failed, waiting and running steps first; what does not fit is counted in
``tasks_omitted``. An output that does not fit is shown as a preview that says how to read the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from ..engine import Run, Status, Step, Wait
from ..errors import InvalidRequestError, TemplateError
from ..hub import InstanceState
from ..plan.encoding import dumps
from ..plan.model import WaitTask
from ..plan.paths import look_up, parse_path
from ..plan.times import format_duration, format_instant
from ..plan.types import Json
from .summary import Summary

MODEL_BYTES = 8 * 1024
END_YOUR_TURN = "End your turn; you will be told when it ends."
POLL_SECONDS = 5

_MAX_WAITS = 10
_MAX_MESSAGE = 10_000
_NOT_OPENED = 9
_QUIET = timedelta(seconds=30)

_NATIVE = {
    "PENDING": "Pending",
    "RUNNING": "Running",
    "CONTINUED_AS_NEW": "Running",
    "COMPLETED": "Completed",
    "FAILED": "Failed",
    "TERMINATED": "Terminated",
    "SUSPENDED": "Suspended",
}
_NATIVE_WINS = frozenset({"TERMINATED", "FAILED", "SUSPENDED"})
STATUSES = (
    "Pending", "Running", "Canceling", "Completed", "CompletedWithErrors", "Failed", "Canceled",
    "Terminated", "Suspended",
)  # fmt: skip
"""What the status of a run may be."""
_ENDED = frozenset({"Completed", "CompletedWithErrors", "Failed", "Canceled", "Terminated"})
_FIRST = {Status.FAILED: 0, Status.OUTCOME_UNKNOWN: 1, Status.WAITING: 2, Status.RUNNING: 3}


def status_of(state: InstanceState, summary: Summary | None) -> str:
    """Return the run's status: ours, unless the hub knows of something we cannot."""
    if state.native_status in _NATIVE_WINS or summary is None:
        return _NATIVE.get(state.native_status, state.native_status.title())
    return summary.status


def has_ended(status: str) -> bool:
    """Whether nothing more happens to a run with this status."""
    return status in _ENDED


def known_status(text: str) -> str:
    """Return the status that *text* means, in any case; raises InvalidRequestError for none."""
    known = {status.lower(): status for status in STATUSES}
    if text.lower() not in known:
        message = f"no run has the status {text[:40]!r}; there are {', '.join(STATUSES)}"
        raise InvalidRequestError(message)
    return known[text.lower()]


def is_stopping(state: InstanceState) -> bool:
    """Whether no step of the run is to begin any more: it is being canceled, or has ended."""
    status = status_of(state, Summary.from_text(state.custom_status))
    return status == "Canceling" or has_ended(status)


def short(state: InstanceState) -> dict[str, Json]:
    """Return the envelope without tasks and outputs, from the custom status alone."""
    summary = Summary.from_text(state.custom_status)
    status = status_of(state, summary)
    return _common(state, status, summary)


def _common(state: InstanceState, status: str, summary: Summary | None) -> dict[str, Json]:
    ended = has_ended(status)
    progress: dict[str, Json] = dict(summary.counts) if summary else {}
    if summary and not ended:
        progress["now"] = list(summary.now)
    envelope: dict[str, Json] = {
        "workflow_id": state.instance_id,
        "name": summary.name if summary else "",
        "status": status,
        "waiting_for": list(summary.waiting_for) if summary and not ended else [],
        "progress": progress,
        "created_at": format_instant(state.created_at),
        "updated_at": format_instant(state.updated_at),
    }
    if summary and summary.error and ended:
        envelope["error"] = {"code": summary.error}
    if not ended:
        envelope |= {"poll_after_seconds": POLL_SECONDS, "next": END_YOUR_TURN}
    return envelope


def full(
    state: InstanceState, run: Run | None, *, now: datetime, max_bytes: int
) -> dict[str, Json]:
    """Return the whole envelope as of *now*, at most *max_bytes* of JSON."""
    if run is None:
        envelope = short(state) | _idle(state, now)
        if state.native_status == "FAILED":
            envelope["error"] = _native_failure(state)
        return envelope
    summary = Summary.of(run)
    status = status_of(state, summary)
    envelope = _common(state, status, summary) | {"name": run.plan.name}
    envelope["usage"] = dict(run.usage.to_json())
    if not has_ended(status):
        envelope["waiting_for"] = _waiting_for(run, max_bytes)
        envelope |= _idle(state, now)
    if run.outcome is not None and run.outcome.error is not None:
        envelope["error"] = run.outcome.error.to_json()
    if state.native_status == "FAILED":
        envelope["error"] = _native_failure(state)
    if run.outcome is not None:
        room = max_bytes // 2
        envelope["output"] = preview(run.outcome.output, room, "task_id and path")
    return _with_tasks(envelope, run, max_bytes)


def _waiting_for(run: Run, max_bytes: int) -> list[Json]:
    """Return a few of the waits, questions to people first and with all that was asked.

    They take a third of *max_bytes*; where there is not room for all that many ask, each is cut.
    """
    waits = [step for step in run.waiting if step.waits_for is not Wait.RETRY]
    waits.sort(key=lambda step: (step.waits_for is not Wait.APPROVAL, step.until, step.id))
    shown = waits[:_MAX_WAITS]
    asking = sum(step.question is not None for step in shown)
    room = min(_MAX_MESSAGE, max_bytes // (6 * max(asking, 1)))
    return [_wait(run, step, room) for step in shown]


def _wait(run: Run, step: Step, room: int) -> dict[str, Json]:
    shown: dict[str, Json] = {"task": step.id, "kind": str(step.waits_for)}
    task = run.tasks[step.id].task if step.id in run.tasks else None
    if step.question is not None:
        shown |= {"message": _cut(step.question.message, room), "digest": step.question.digest}
        if step.question.tool is not None:
            args = preview(step.question.args, room, "task_id and path")
            shown |= {"tool": step.question.tool, "args": args}
    elif isinstance(task, WaitTask) and task.event is not None:
        shown["event"] = task.event
    if step.until is not None:
        shown["until"] = format_instant(step.until)
    return shown


def _idle(state: InstanceState, now: datetime) -> dict[str, Json]:
    """Say since when nothing has happened, and that nobody works on it where that is so."""
    quiet = max(timedelta(0), now - state.updated_at)
    if quiet < _QUIET:
        return {}
    if state.native_status == "PENDING":
        return {
            "pending_since": format_instant(state.created_at),
            "hint": "No worker has taken this run yet: is the app running?",
        }
    return {"no_progress_for": format_duration(timedelta(seconds=int(quiet.total_seconds())))}


def _native_failure(state: InstanceState) -> dict[str, Json]:
    message = "the orchestration failed; the log of the app has the reason"
    if state.failure and "format" in state.failure:
        message = state.failure[:300]
    return {"code": "orchestration_failed", "message": message}


def _with_tasks(envelope: dict[str, Json], run: Run, max_bytes: int) -> dict[str, Json]:
    shown: list[Json] = []
    room = max_bytes - len(dumps(envelope).encode()) - 80
    omitted = 0
    after = _after(run) if max_bytes > MODEL_BYTES else {}
    for line in _lines(run, after):
        size = len(dumps(line).encode()) + 1
        if omitted or size > room:
            omitted += 1
        else:
            shown.append(line)
            room -= size
    envelope["tasks"] = shown
    if omitted:
        envelope["tasks_omitted"] = omitted
    return envelope


def _after(run: Run) -> dict[str, list[Json]]:
    """Return for each task the tasks it waits for, as the page draws them."""
    after: dict[str, list[Json]] = {name: [] for name in run.tasks}
    for state in run.tasks.values():
        for dependent in state.dependents:
            after[dependent.id].append(state.id)
    return after


def _lines(run: Run, after: Mapping[str, list[Json]]) -> Iterator[dict[str, Json]]:
    """Yield a line for each step, what needs attention first; tasks not opened come last.

    The first line of a task has what the task waits for, where *after* says it.
    """
    rows: list[tuple[int, int, dict[str, Json]]] = []
    for place, state in enumerate(run.tasks.values()):
        lines = [_line(step, state.skip_reason) for step in state.steps]
        ranks = [_FIRST.get(step.status, 5) for step in state.steps]
        if not lines:
            lines, ranks = [{"id": state.id, "status": str(state.status)}], [_NOT_OPENED]
        if after.get(state.id):
            lines[0]["after"] = after[state.id]
        rows.extend((rank, place, line) for rank, line in zip(ranks, lines, strict=True))
    yield from (line for _, _, line in sorted(rows, key=lambda row: row[:2]))


def _line(step: Step, skip_reason: str | None) -> dict[str, Json]:
    line: dict[str, Json] = {"id": step.id, "status": str(step.status)}
    if step.attempts:
        line["attempts"] = step.attempts
    if step.started_at is not None:
        line["started_at"] = format_instant(step.started_at)
    if step.ended_at is not None and step.status is not Status.SKIPPED:
        line["ended_at"] = format_instant(step.ended_at)
    if step.until is not None:
        line["until"] = format_instant(step.until)
    if step.is_reused:
        line["reused"] = True
    if step.failure is not None:
        line["error"] = step.failure.to_json()
    if step.status is Status.SKIPPED and skip_reason is not None:
        line["reason"] = skip_reason
    return line


def _cut(text: str, room: int) -> str:
    raw = text.encode()
    return text if len(raw) <= room else raw[: max(0, room - 3)].decode("utf-8", "ignore") + "…"


def preview(value: Json, room: int, how: str) -> Json:
    """Return *value*, or its beginning where it has more than *room* bytes of JSON."""
    text = dumps(value)
    size = len(text.encode())
    if size <= room:
        return value
    shown = value if isinstance(value, str) else text
    cut = shown.encode()[: max(0, room - 200)].decode("utf-8", "ignore")
    while len(dumps(cut).encode()) > room - 120 and cut:
        cut = cut[: len(cut) * 3 // 4]
    return {
        "preview": cut,
        "truncated": True,
        "bytes": size,
        "read_with": f"get_workflow_status with {how}, e.g. path 'result[0].name'",
    }


def task_answer(
    state: InstanceState, run: Run | None, task_id: str | None, path: str | None, *, max_bytes: int
) -> dict[str, Json]:
    """Return one task's record, or what *path* leads to in it (or in the run's output).

    *path* is a plain path inside the task: ``result.items[0]``, ``status``, ``error.message``,
    ``items[2].result``; without a task it starts at ``output``.
    """
    answer: dict[str, Json] = {"workflow_id": state.instance_id}
    value: Any
    if task_id is None:
        name, value = "output", run.outcome.output if run is not None and run.outcome else None
    else:
        name, value = task_id, _record(run, task_id)
        answer["task_id"] = task_id
    if path:
        value = _follow(name, value, path)
        answer["path"] = path
    room = max_bytes - len(dumps(answer).encode()) - 40
    return answer | {"value": preview(value, room, "a longer path")}


def _record(run: Run | None, task_id: str) -> Json:
    if run is None:
        message = "the run has not begun yet, so its tasks have no results"
        raise InvalidRequestError(message)
    if task_id in run.tasks:
        return run.tasks[task_id].view()
    for state in run.tasks.values():
        for step in state.steps:
            if step.id == task_id:
                return step.envelope() if step.index is not None else state.view()
    message = f"the run has no task {task_id!r}; it has {', '.join(list(run.tasks)[:20])}"
    raise InvalidRequestError(message)


def _follow(name: str, value: Any, path: str) -> Any:
    """Look *path* up; where it leads nowhere it may begin with the name, as a reference does."""
    inner = path.removeprefix("${").removesuffix("}")
    try:
        return _at(value, inner)
    except InvalidRequestError:
        if not inner.startswith(f"{name}."):
            raise
        return _at(value, inner.removeprefix(f"{name}."))


def _at(value: Any, path: str) -> Any:
    found = parse_path(f"_{path}" if path.startswith("[") else f"_.{path}")
    if found is None:
        message = f"path {path!r} is not a plain path such as result.items[0].name"
        raise InvalidRequestError(message)
    try:
        return look_up(value, found)
    except TemplateError as error:
        message = str(error).replace("${_.", "${").replace(" _", " the value")
        raise InvalidRequestError(message) from None
