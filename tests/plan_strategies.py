"""Plans that a check has to accept and that have to complete."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

_coins: st.SearchStrategy[Any] = st.booleans()


@dataclass(frozen=True, slots=True)
class _Source:
    """A reference that surely has a value of this type."""

    path: str
    kind: str


def _sources(task: dict[str, Any]) -> list[_Source]:
    name = task["id"]
    if task.get("type") == "wait":
        is_event = "event" in task
        return [_Source(f"{name}.result{'' if is_event else '.waited_until'}", "any")]
    if task.get("type") == "approval":
        return [
            _Source(f"{name}.result.approved", "boolean"),
            _Source(f"{name}.result.by", "string"),
            _Source(f"{name}.result", "any"),
        ]
    if "for_each" in task:
        return [_Source(f"{name}.result", "array"), _Source(f"{name}.items", "array")]
    if task.get("type") == "sub_agent":
        return [_Source(f"{name}.result", "string"), _Source(f"{name}.result.text", "string")]
    if task["tool"] not in {"make", "once"}:
        return [_Source(f"{name}.result", "any"), _Source(f"{name}.status", "string")]
    return [
        _Source(f"{name}.result.count", "integer"),
        _Source(f"{name}.result.label", "string"),
        _Source(f"{name}.result.ok", "boolean"),
        _Source(f"{name}.result.rows", "rows"),
        _Source(f'{name}.result["deep"].words', "array"),
        _Source(f"length({name}.result.rows)", "integer"),
        _Source(f"{name}.result.rows[?id > 3].name", "array"),
        _Source(f"{name}.result.rows[*].name", "array"),
        _Source(f"{name}.error.code", "any"),
    ]


@st.composite
def valid_plans(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a plan over ``LAB`` that has to be accepted and has to complete."""
    tasks: list[dict[str, Any]] = []
    sources: list[_Source] = []
    for index in range(draw(st.integers(1, 6))):
        task = draw(_tasks(f"t{index}", sources))
        if tasks and draw(_coins):
            task["depends_on"] = [draw(st.sampled_from(tasks))["id"]]
        tasks.append(task)
        if "when" not in task:  # into a skipped task every path is null, which fits no argument
            sources += _sources(task)
    plan: dict[str, Any] = {"tasks": tasks}
    if sources and draw(_coins):
        plan["output"] = {"all": [f"${{{one.path}}}" for one in draw(_some(sources))], "n": 1}
    return plan


def _some(sources: list[_Source]) -> st.SearchStrategy[Any]:
    return st.lists(st.sampled_from(sources), max_size=3) if sources else st.just([])


_ATTEMPTED = frozenset({"make", "take", "free", "guarded", "once", "agent"})
_KINDS = (*sorted(_ATTEMPTED), "wait", "event", "approval")
_ON_ERROR = ("fail", "continue")
# Conditions that hold for every result there may be.
_ALWAYS = {
    "make": "result.ok or not result.ok",
    "take": "result.seen == true or result.seen == false",
    "agent": "length(result) >= 0",
}


@st.composite
def _tasks(draw: st.DrawFn, name: str, sources: list[_Source]) -> dict[str, Any]:
    kind = draw(st.sampled_from(_KINDS))
    text = draw(st.text("abc $}", max_size=6))
    text += "".join(f" ${{{one.path}}}" for one in draw(_some(sources)))
    task = {"id": name} | draw(_own_fields(kind, text, sources))
    if kind in _ATTEMPTED and draw(_coins):
        task |= draw(_policies(kind))
    booleans = [one for one in sources if one.kind == "boolean"]
    rows = [one for one in sources if one.kind == "rows"]
    if rows and kind in _ATTEMPTED - {"take"} and draw(_coins):
        task["for_each"] = f"${{{draw(st.sampled_from(rows)).path}}}"
        task["concurrency"] = draw(st.integers(1, 3))
        if draw(_coins):
            task["when"] = "item.id > 3 and index != 7"
    elif booleans and draw(_coins):
        one = draw(st.sampled_from(booleans)).path
        task["when"] = draw(st.sampled_from([one, f"{one} == false", f"not {one} or {one}"]))
    return task


@st.composite
def _own_fields(draw: st.DrawFn, kind: str, text: str, sources: list[_Source]) -> dict[str, Any]:
    """Draw the fields that a task of this kind has of its own."""
    match kind:
        case "wait":
            return {"type": "wait", "duration": draw(st.sampled_from(["PT30S", "P1D", "PT0.5S"]))}
        case "event":
            event = {"type": "wait", "event": draw(st.sampled_from(["done", "done:b"]))}
            deadline = {"timeout": "PT2H", "on_timeout": draw(st.sampled_from(_ON_ERROR))}
            return event | deadline if draw(_coins) else event
        case "approval":
            asked = {"type": "approval", "message": text}
            return asked | {"timeout": "P1D"} if draw(_coins) else asked
        case "agent":
            return {"type": "sub_agent", "agent": "writer", "task": text}
        case "make" | "once":
            return {"tool": kind, "args": {"text": text}}
        case "take":
            return {"tool": "take", "args": draw(_arguments(sources))}
        case _:
            return {"tool": kind, "args": {"x": [text], "$${": 1}}


@st.composite
def _policies(draw: st.DrawFn, kind: str) -> dict[str, Any]:
    """Draw a retry whose condition holds in the end, and a timeout."""
    policy: dict[str, Any] = {"timeout": "PT20S"} if draw(_coins) else {}
    if kind == "once" or draw(_coins):
        return policy
    fields: dict[str, st.SearchStrategy[Any]] = {
        "max_attempts": st.integers(1, 4),
        "initial": st.sampled_from(["PT1S", "PT0.5S", "PT2M"]),
        "multiplier": st.sampled_from([1, 1.5, 10]),
        "max": st.sampled_from(["PT1S", "PT5M"]),
    }
    if kind in _ALWAYS:
        fields["until"] = st.just(_ALWAYS[kind])
    names = draw(st.lists(st.sampled_from(list(fields)), unique=True))
    return policy | {"retry": {name: draw(fields[name]) for name in names}}


@st.composite
def _arguments(draw: st.DrawFn, sources: list[_Source]) -> dict[str, Any]:
    wanted = {"count": "integer", "label": "string", "rows": "rows"}
    args: dict[str, Any] = {}
    for name, kind in wanted.items():
        fitting = [one for one in sources if one.kind == kind]
        if fitting and draw(_coins):
            args[name] = f"${{{draw(st.sampled_from(fitting)).path}}}"
    if sources and draw(_coins):
        args["any"] = {"k": [f"${{{draw(st.sampled_from(sources)).path}}}"]}
    return args
