"""Where the names in a plan's templates have their values while it runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import TemplateError
from ..plan.model import AgentTask
from ..plan.paths import Path, look_up
from ..plan.templates import look_up_leniently
from .state import Status, Step, TaskState

_EMPTY_UNLESS_COMPLETED = frozenset({"result", "text", "items"})


class RunScope:
    """Tasks by id, ``input``, ``context`` and, for a step of a ``for_each``, ``item``/``index``."""

    def __init__(self, tasks: Mapping[str, TaskState], constants: Mapping[str, Any]) -> None:
        self._tasks = tasks
        self._constants = constants
        self._step: Step | None = None
        self._views: dict[str, dict[str, Any]] = {}

    def of(self, step: Step) -> RunScope:
        """Return the scope of a step, in which ``item`` and ``index`` have values too."""
        if step.index is None:
            return self
        scope = RunScope(self._tasks, self._constants)
        scope._views = self._views  # a finished task's view is built once for all items
        scope._step = step
        return scope

    def value(self, path: Path, *, strict: bool) -> Any:
        """Return what *path* leads to; see :class:`~workflow_runtime.plan.templates.Scope`.

        Any path into a task that did not complete is None, and so is any into a missing error.
        """
        state = self._tasks.get(path.head)
        if state is None:
            value = self._constant(path)
            return look_up(value, path) if strict else look_up_leniently(value, path)
        path = _agent_text(state, path)
        first = path.segments[0] if path.segments else None
        if first == "error" and state.failure is None:
            return None
        if first in _EMPTY_UNLESS_COMPLETED and state.status is not Status.COMPLETED:
            return look_up_leniently(self._view(state), path)
        view = self._view(state)
        return look_up(view, path) if strict else look_up_leniently(view, path)

    def tree(self, heads: frozenset[str]) -> Mapping[str, Any]:
        """Return plain JSON for the names that a JMESPath expression reads."""
        return {
            head: self._view(self._tasks[head])
            if head in self._tasks
            else self._constant(Path(head, ()))
            for head in heads
        }

    def _constant(self, path: Path) -> Any:
        if self._step is not None and path.head in {"item", "index"}:
            return self._step.item if path.head == "item" else self._step.index
        if path.head not in self._constants:
            message = f"${{{path}}}: nothing here is called {path.head!r}"
            raise TemplateError("reference_missing", message)
        return self._constants[path.head]

    def _view(self, state: TaskState) -> dict[str, Any]:
        """Return the view of a task that has ended; only those are ever read."""
        if state.id not in self._views:
            self._views[state.id] = state.view()
        return self._views[state.id]


class ResultScope:
    """The scope of a retry's ``until``: one name, ``result``."""

    def __init__(self, result: Any) -> None:
        self._names = {"result": result}

    def value(self, path: Path, *, strict: bool) -> Any:
        """Return what *path* leads to."""
        value = self._names.get(path.head)
        return look_up(value, path) if strict else look_up_leniently(value, path)

    def tree(self, heads: frozenset[str]) -> Mapping[str, Any]:
        """Return the one name."""
        return {head: self._names.get(head) for head in heads}


def _agent_text(state: TaskState, path: Path) -> Path:
    """Read ``report.result.text`` and ``reports.result[0].text`` as the text that they mean."""
    if not isinstance(state.task, AgentTask) or path.segments[-1:] != ("text",):
        return path
    place = 2 if state.iterates else 1
    is_text = len(path.segments) == place + 1 and path.segments[0] == "result"
    return Path(path.head, path.segments[:-1]) if is_text else path
