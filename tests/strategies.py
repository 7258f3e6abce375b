"""Everything that property tests draw: JSON, what is not JSON, plans that are right and are not."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from workflow_runtime.plan import AgentGrant, Grants, ToolGrant

# --- values ------------------------------------------------------------------------------------


def _nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


_coins: st.SearchStrategy[Any] = st.booleans()
json_scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**60), 2**60),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=20),
)
json_values = st.recursive(
    json_scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)
texts_with_marks = st.lists(
    st.one_of(
        st.sampled_from(["$", "{", "}", "${", "$${", "{{", "}}", "a.result", "'", '"', "`", "\\"]),
        st.text(max_size=5),
    ),
    max_size=8,
).map("".join)
_no_json = st.one_of(
    st.floats(),
    st.integers(min_value=10**320, max_value=10**330),
    st.binary(max_size=5),
    st.sets(st.integers(), max_size=3),
    st.tuples(st.integers()),
    st.complex_numbers(),
    st.builds(object),
    st.text(st.characters(categories=["Cs"]), min_size=1, max_size=3),
    st.dictionaries(st.one_of(st.integers(), st.none(), st.binary()), st.none(), max_size=2),
    st.integers(1, 3_000).map(_nested),
)
anything = st.recursive(
    st.one_of(json_scalars, texts_with_marks, _no_json),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.one_of(st.text(max_size=8), st.integers()), inner, max_size=4),
    ),
    max_leaves=10,
)

# --- tools -------------------------------------------------------------------------------------


def closed(**properties: Any) -> dict[str, Any]:
    """Return the schema of an object with just these fields, all of them there."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


STRING = {"type": "string"}
INTEGER = {"type": "integer"}
BOOLEAN = {"type": "boolean"}
ROW = closed(id=INTEGER, name=STRING)
MADE = closed(
    count=INTEGER,
    label=STRING,
    ok=BOOLEAN,
    rows={"type": "array", "items": ROW},
    deep=closed(share={"type": "number"}, words={"type": "array", "items": STRING}),
)
_MAKE_ARGUMENTS = {**closed(n=INTEGER, text=STRING), "required": []}
_TAKE_ARGUMENTS = {**closed(count=INTEGER, label=STRING, rows=MADE["properties"]["rows"], any={})}
LAB = Grants(
    tools={
        "make": ToolGrant(name="make", arguments=_MAKE_ARGUMENTS, output=MADE),
        "take": ToolGrant(
            name="take", arguments=_TAKE_ARGUMENTS | {"required": []}, output=closed(seen=BOOLEAN)
        ),
        "free": ToolGrant(name="free"),
    },
    agents={"writer": AgentGrant(name="writer")},
)


def answers(schema: Any) -> st.SearchStrategy[Any]:
    """Draw what a tool with this output schema may return."""
    if not schema:
        return json_values
    match schema["type"]:
        case "object":
            return st.fixed_dictionaries({k: answers(v) for k, v in schema["properties"].items()})
        case "array":
            return st.lists(answers(schema["items"]), max_size=3)
        case "integer":
            return st.integers(-1_000, 1_000)
        case "number":
            return st.floats(-1e6, 1e6)
        case "boolean":
            return st.booleans()
        case _:
            return st.text(max_size=8)


# --- plans that are right ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Source:
    """A reference that surely has a value of this type."""

    path: str
    kind: str


def _sources(task: dict[str, Any]) -> list[_Source]:
    name = task["id"]
    if task.get("type") == "wait":
        return [_Source(f"{name}.result.waited_until", "string")]
    if "for_each" in task:
        return [_Source(f"{name}.result", "array"), _Source(f"{name}.items", "array")]
    if task.get("type") == "sub_agent":
        return [_Source(f"{name}.result", "string"), _Source(f"{name}.result.text", "string")]
    if task["tool"] != "make":
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


@st.composite
def _tasks(draw: st.DrawFn, name: str, sources: list[_Source]) -> dict[str, Any]:
    kind = draw(st.sampled_from(["make", "take", "free", "agent", "wait"]))
    text = draw(st.text("abc $}", max_size=6))
    text += "".join(f" ${{{one.path}}}" for one in draw(_some(sources)))
    task: dict[str, Any] = {"id": name}
    match kind:
        case "wait":
            task |= {"type": "wait", "duration": draw(st.sampled_from(["PT30S", "P1D", "PT0.5S"]))}
        case "agent":
            task |= {"type": "sub_agent", "agent": "writer", "task": text}
        case "make":
            task |= {"tool": "make", "args": {"text": text}}
        case "take":
            task |= {"tool": "take", "args": draw(_arguments(sources))}
        case _:
            task |= {"tool": "free", "args": {"x": [text], "$${": 1}}
    booleans = [one for one in sources if one.kind == "boolean"]
    rows = [one for one in sources if one.kind == "rows"]
    if rows and kind not in {"wait", "take"} and draw(_coins):
        task["for_each"] = f"${{{draw(st.sampled_from(rows)).path}}}"
        task["concurrency"] = draw(st.integers(1, 3))
        if draw(_coins):
            task["when"] = "item.id > 3 and index != 7"
    elif booleans and draw(_coins):
        one = draw(st.sampled_from(booleans)).path
        task["when"] = draw(st.sampled_from([one, f"{one} == false", f"not {one} or {one}"]))
    return task


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


# --- plans as they might be sent ---------------------------------------------------------------

_ids = st.sampled_from(["a", "b", "A", "x y", "item", "1st", "a-b", "", "t" * 70])
_words = st.sampled_from(
    [
        "a",
        "make",
        "mak",
        "take",
        "fhs_free",
        "writer",
        "tool",
        "wait",
        "sleep",
        "agent",
        "group",
        "PT30S",
        "30s",
        "P1Y",
        "2026-12-01T00:00:00Z",
        "2020-01-01T00:00:00Z",
        "soon",
        "continue",
        "ignore",
        "${a.result}",
        "${a}",
        "${a.output}",
        "${a.result.cuont}",
        "${b.result.rows[0].x}",
        "{{a.result}}",
        "${{ a.result }}",
        "${item.x}",
        "${zz.y}",
        "${HOME}",
        "${",
        "$${x}",
        "${@}",
        "${a.result[?x == input.y]}",
        "a.result.ok",
        "a.result.ok = true",
        "${a.result.ok} == 1",
        "a.result.count > 3 and not b.result.ok",
        "nofn(a)",
        "a-b.result",
        "`x`",
        "'",
        "a.b[",
        "${a.result.rows.-1}",
        "${tasks.a.result}",
        "a, b",
        "[]",
        "{}",
    ]
)
_loose = st.one_of(
    _words,
    json_scalars,
    texts_with_marks,
    st.lists(_words, max_size=3),
    st.dictionaries(
        st.sampled_from(["ref", "operator", "value", "n", "text", "cuont", "count", "label"]),
        st.one_of(_words, json_scalars),
        max_size=3,
    ),
)
_fields = st.sampled_from(
    [
        "type",
        "tool",
        "args",
        "agent",
        "task",
        "duration",
        "until",
        "depends_on",
        "when",
        "for_each",
        "concurrency",
        "on_error",
        "execution",
        "retry",
        "prompt",
        "forEach",
        "note",
    ]
)
_messy_tasks = st.one_of(
    st.builds(
        lambda name, tool, args, rest: {"id": name, "tool": tool, "args": args} | rest,
        _ids,
        st.sampled_from(["make", "take", "free", "mak"]),
        st.dictionaries(
            st.sampled_from(["n", "text", "count", "lable", "rows"]), _loose, max_size=3
        ),
        st.dictionaries(_fields, _loose, max_size=2),
    ),
    st.dictionaries(st.one_of(_fields, st.just("id")), _loose, max_size=5),
    _loose,
)


def _spots(value: Any) -> list[tuple[Any, Any]]:
    """Return every place inside a JSON value as its container and key."""
    found: list[tuple[Any, Any]] = []
    if isinstance(value, dict | list):
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        for key in keys:
            found += [(value, key), *_spots(value[key])]
    return found


@st.composite
def broken_plans(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a good plan in which a few things have been changed."""
    plan = draw(valid_plans())
    for _ in range(draw(st.integers(1, 3))):
        spots = _spots(plan)
        if not spots:
            break
        where, key = draw(st.sampled_from(spots))
        kind = draw(st.sampled_from(["replace", "misspell", "rename", "remove", "repeat", "text"]))
        if kind == "replace":
            where[key] = draw(_loose)
        elif kind == "misspell" and isinstance(where[key], str) and where[key]:
            cut = draw(st.integers(0, len(where[key]) - 1))
            where[key] = where[key][:cut] + where[key][cut + 1 :]
        elif kind == "rename" and isinstance(where, dict):
            where[draw(st.one_of(_fields, st.just(f"{key}s"), st.just(key[1:])))] = where.pop(key)
        elif kind == "remove":
            del where[key]
        elif kind == "repeat" and isinstance(where, list):
            where.append(copy.deepcopy(where[key]))
        elif kind == "text":
            where[key] = json.dumps(where[key])
    return plan


_any_tasks = st.one_of(
    st.lists(_messy_tasks, max_size=4), st.lists(_messy_tasks, max_size=4), _loose
)
messy_plans = st.one_of(
    broken_plans(),
    st.builds(
        lambda tasks, rest: {"tasks": tasks} | rest,
        _any_tasks,
        st.dictionaries(
            st.sampled_from(["name", "context", "input", "output", "steps", "plan", "title"]),
            _loose,
            max_size=2,
        ),
    ),
)
