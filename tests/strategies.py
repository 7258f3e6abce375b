"""What property tests draw: JSON, what is not JSON, tools and what they return."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from hypothesis import strategies as st

from workflow_runtime.plan import AgentGrant, Grants, Limits, ToolGrant
from workflow_runtime.plan.policies import WorkPolicy

# --- values ------------------------------------------------------------------------------------


def _nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


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
        "guarded": ToolGrant(name="guarded", policy=WorkPolicy(approval=True, concurrency=1)),
        "once": ToolGrant(name="once", output=MADE, policy=WorkPolicy(side_effects="once")),
    },
    agents={"writer": AgentGrant(name="writer")},
    limits=Limits(max_timeout=timedelta(minutes=9)),
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
