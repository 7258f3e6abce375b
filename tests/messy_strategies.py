"""Plans as they might be sent: good ones in which things were changed, and worse."""

from __future__ import annotations

import copy
import json
from typing import Any

from hypothesis import strategies as st

from tests.plan_strategies import valid_plans
from tests.strategies import json_scalars, texts_with_marks

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
        "result.ok",
        "result.oke == true",
        "${result.ok} == true",
        "a.result.ok",
        "ok == true",
        "event:done:b",
        "done",
        "approval",
        "approve",
        "[]",
        "{}",
    ]
)
_POLICY_WORDS = (
    *("max_attempts", "attempts", "initial", "backoff", "max", "multiplier", "until"),
    *("retry", "timeout", "continue_on_error"),
)
_loose_policies = st.dictionaries(
    st.sampled_from(_POLICY_WORDS),
    st.one_of(_words, json_scalars, st.integers(-1, 12), st.sampled_from(["3", "2s", "PT1S"])),
    max_size=3,
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
    _loose_policies,
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
        "timeout",
        "on_timeout",
        "event",
        "message",
        "text",
        "max_retries",
        "continue_on_error",
        "prompt",
        "forEach",
        "note",
    ]
)
_policy_fields = st.sampled_from(
    ["retry", "timeout", "on_timeout", "on_error", "execution", "event", "message", "text", "when"]
)
_messy_tasks = st.one_of(
    st.builds(
        lambda task, rest: {"id": "a"} | task | rest,
        st.sampled_from(
            [
                {"tool": "make"},
                {"tool": "once"},
                {"agent": "writer", "task": "x"},
                {"type": "wait", "event": "done"},
                {"type": "wait", "duration": "PT1S"},
                {"type": "approval", "message": "Go?"},
                {"type": "approval"},
            ]
        ),
        st.dictionaries(_policy_fields, st.one_of(_loose, _loose_policies), max_size=3),
    ),
    st.builds(
        lambda name, tool, args, rest: {"id": name, "tool": tool, "args": args} | rest,
        _ids,
        st.sampled_from(["make", "take", "free", "once", "guarded", "mak"]),
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
