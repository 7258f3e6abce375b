"""What ``${id…}`` can hold, as schemas: the static side of the engine's views."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .draft_task import DraftTask
from .expressions import ExpressionError
from .grants import ToolGrant
from .paths import Path, Segment
from .reading import Reader, bare
from .schemas import ANY, schema_of
from .templates import Expression
from .types import JsonSchema
from .walking import Absent, walk

_STRING: JsonSchema = {"type": "string"}
_ERROR: JsonSchema = {
    "type": "object",
    "properties": {"code": _STRING, "message": _STRING, "task": _STRING, "correlation_id": _STRING},
    "additionalProperties": False,
}
_WAITED: JsonSchema = {
    "type": "object",
    "properties": {"waited_until": _STRING},
    "additionalProperties": False,
}
_MAYBE_TEXT: JsonSchema = {"type": ["string", "null"]}
_APPROVAL: JsonSchema = {
    "type": "object",
    "properties": {
        "approved": {"type": "boolean"},
        "by": _MAYBE_TEXT,
        "comment": _MAYBE_TEXT,
        "at": _MAYBE_TEXT,
    },
    "additionalProperties": False,
}


class Views:
    """The schema of what each name in a plan's templates holds."""

    def __init__(
        self,
        tasks: Mapping[str, DraftTask],
        given: Any,
        tools: Mapping[str, ToolGrant],
        reader: Reader,
    ) -> None:
        self._tasks = tasks
        self._input = ANY if given is None else schema_of(given)
        self._tools = tools
        self._reader = reader
        self._found: dict[Path, JsonSchema | Absent] = {}
        self._made: dict[str, JsonSchema] = {}
        self._items: dict[str, JsonSchema] = {}
        self._in_progress: set[str] = set()

    def schema(self, path: Path, task: DraftTask | None) -> JsonSchema | Absent:
        """Return the schema of what *path*, used in *task*, leads to, or why it cannot."""
        if path.head == "item":
            return walk(self._root(path.head, task), path.segments)
        found = self._found.get(path)
        if found is None:
            found = self._found[path] = walk(self._root(path.head, task), self._aliased(path))
        return found

    def fields(self, name: str) -> tuple[str, ...]:
        """Return the names that stand behind a task's id."""
        return tuple(self._view(self._tasks[name])["properties"])

    def attempt(self, task: DraftTask) -> JsonSchema:
        """Return the schema of what one attempt at the task gives."""
        return self._result(task)

    def of(self, expression: Expression, task: DraftTask | None) -> JsonSchema:
        """Return the schema of an expression's value; JMESPath's is unknown."""
        if not isinstance(expression.body, Path):
            return ANY
        found = self.schema(expression.body, task)
        return ANY if isinstance(found, Absent) else found

    def _root(self, head: str, task: DraftTask | None) -> JsonSchema:
        if head == "context":
            return _STRING
        if head == "index":
            return {"type": "integer"}
        if head == "item":
            return self._item(task) if task is not None else ANY
        if head == "input":
            return self._input
        target = self._tasks.get(head)
        return ANY if target is None else self._view(target)

    def _view(self, task: DraftTask) -> JsonSchema:
        name = task.id or ""
        if name not in self._made:
            result = self._result(task)
            properties: dict[str, Any] = {"result": result, "status": _STRING, "error": _ERROR}
            if task.kind is None:
                properties |= {"result": ANY, "items": ANY, "text": ANY}
            elif task.iterates:
                properties["result"] = {"type": "array", "items": result}
                properties["items"] = {"type": "array", "items": self._envelope(task, result)}
            elif task.kind == "sub_agent":
                properties["text"] = _STRING
            self._made[name] = {
                "type": "object",
                "properties": properties,
                "additionalProperties": False,
            }
        return self._made[name]

    def _result(self, task: DraftTask) -> JsonSchema:
        if task.kind == "sub_agent":
            return _STRING
        if task.kind == "wait":
            return _WAITED if task.raw.get("event") is None else ANY
        if task.kind == "approval":
            return _APPROVAL
        tool = task.raw.get("tool")
        grant = self._tools.get(tool) if isinstance(tool, str) else None
        return ANY if grant is None or grant.output is None else grant.output

    def _envelope(self, task: DraftTask, result: JsonSchema) -> JsonSchema:
        properties = {
            "index": {"type": "integer"},
            "item": self._item(task),
            "status": _STRING,
            "result": result,
            "error": _ERROR,
        }
        return {"type": "object", "properties": properties, "additionalProperties": False}

    def _item(self, task: DraftTask) -> JsonSchema:
        name = task.id or task.label
        if name in self._in_progress:
            return ANY  # a cycle; another rule says so
        if name not in self._items:
            self._in_progress.add(name)
            self._items[name] = self._make_item(task)
            self._in_progress.discard(name)
        return self._items[name]

    def _make_item(self, task: DraftTask) -> JsonSchema:
        each = task.raw.get("for_each")
        if isinstance(each, list):
            found = walk(schema_of(each, is_open=_is_template), (0,))
            return ANY if isinstance(found, Absent) else found
        if not isinstance(each, str):
            return ANY
        try:
            expression = self._reader.expression(bare(each))
        except ExpressionError:
            return ANY
        found = self.of(expression, task)
        inner = walk(found, (0,)) if found.get("type") == "array" else ANY
        return ANY if isinstance(inner, Absent) else inner

    def _aliased(self, path: Path) -> tuple[Segment, ...]:
        """Read ``report.result.text`` of a sub-agent as the text that it means."""
        task = self._tasks.get(path.head)
        if task is not None and task.kind == "sub_agent" and path.segments[-1:] == ("text",):
            place = 2 if task.iterates else 1
            if len(path.segments) == place + 1 and path.segments[0] == "result":
                return path.segments[:-1]
        return path.segments


def _is_template(text: str) -> bool:
    return "${" in text
