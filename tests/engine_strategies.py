"""Plans that run, with everything that can happen to them: what the engine's properties draw."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from hypothesis import strategies as st

from workflow_runtime.plan.grants import Limits
from workflow_runtime.plan.policies import Policies, RetryPolicy, WorkPolicy

EVENT_NAMES = ("paid", "shipped")
POLICIES = Policies(
    tools={
        "plain": WorkPolicy(),
        "careful": WorkPolicy(approval=True),
        "once": WorkPolicy(side_effects="once", retry=RetryPolicy(max_attempts=4)),
        "narrow": WorkPolicy(concurrency=2),
        "stubborn": WorkPolicy(retry=RetryPolicy(max_attempts=2), timeout=timedelta(seconds=9)),
    },
    agents={"writer": WorkPolicy(), "few": WorkPolicy(concurrency=1)},
)
results = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(0, 3),
    st.lists(st.integers(0, 3), max_size=7),
    st.builds(lambda ok: {"ok": ok}, st.booleans()),
)
_durations = st.sampled_from(["PT1S", "PT5S", "PT1M", "PT2H", "P3D"])


@st.composite
def plans(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a plan in normal form whose references all point backwards."""
    tasks: list[dict[str, Any]] = []
    for place in range(draw(st.integers(1, 7))):
        earlier = [task["id"] for task in tasks]
        tasks.append(_task(draw, f"t{place}", earlier))
    plan: dict[str, Any] = {"name": "drawn", "tasks": tasks}
    if draw(st.booleans()):
        plan["output"] = {task["id"]: f"${{{task['id']}.result}}" for task in tasks}
    return plan


def _task(draw: st.DrawFn, name: str, earlier: list[str]) -> dict[str, Any]:
    kind = draw(st.sampled_from(["tool", "tool", "sub_agent", "sub_agent", "wait", "approval"]))
    task: dict[str, Any] = {"id": name, "type": kind}
    if draw(st.booleans()):
        task["on_error"] = "continue"
    near: list[str] = []
    if earlier:
        near = draw(st.lists(st.sampled_from(earlier), max_size=2, unique=True))
    if near:
        task["depends_on"] = near
    if earlier and draw(st.integers(0, 3)) == 0:
        task["when"] = draw(_conditions(earlier))
    reads = bool(earlier) and draw(st.booleans())
    data = draw(st.sampled_from(earlier)) if reads else None
    reference = "fixed" if data is None else f"${{{data}.result}}"
    if kind == "wait":
        return task | _wait(draw)
    if kind == "approval":
        limit = {"timeout": draw(_durations)} if draw(st.booleans()) else {}
        return task | {"message": f"May it? {reference}"} | limit
    if kind == "sub_agent":
        task |= {"agent": draw(st.sampled_from(["writer", "few"])), "task": f"Do {reference}"}
    else:
        task |= {"tool": draw(st.sampled_from(sorted(POLICIES.tools))), "args": {"v": reference}}
    return task | _work(draw, earlier)


def _conditions(earlier: list[str]) -> st.SearchStrategy[Any]:
    status = st.builds(
        lambda one, wanted: {"ref": f"${{{one}.status}}", "operator": "equals", "value": wanted},
        st.sampled_from(earlier),
        st.sampled_from(["completed", "failed", "skipped"]),
    )
    return st.one_of(status, st.sampled_from(earlier).map(lambda one: f"{one}.result"))


def _wait(draw: st.DrawFn) -> dict[str, Any]:
    if draw(st.booleans()):
        return {"duration": draw(_durations)}
    wait: dict[str, Any] = {"event": draw(st.sampled_from(EVENT_NAMES))}
    if draw(st.booleans()):
        wait["timeout"] = draw(_durations)
    if draw(st.booleans()):
        wait["on_timeout"] = "continue"
    return wait


def _work(draw: st.DrawFn, earlier: list[str]) -> dict[str, Any]:
    work: dict[str, Any] = {}
    if draw(st.booleans()):
        lists: list[Any] = [list(range(n)) for n in (6, 2, 12, 0)]
        work["for_each"] = draw(
            st.sampled_from([*lists, *(f"${{{one}.result}}" for one in earlier)])
        )
        if draw(st.booleans()):
            work["concurrency"] = draw(st.integers(1, 3))
        if draw(st.integers(0, 3)) == 0:
            work["when"] = {"ref": "${item}", "operator": "not_equals", "value": 1}
    if draw(st.integers(0, 2)) == 0:
        work["retry"] = {"max_attempts": draw(st.integers(1, 4)), "initial": draw(_durations)}
        if draw(st.booleans()):
            work["retry"]["until"] = "result.ok"
    return work


limits = st.builds(
    Limits,
    max_parallelism=st.integers(1, 4),
    max_items=st.sampled_from([8, 10_000]),
    max_agent_runs=st.sampled_from([3, 200]),
    max_tokens=st.sampled_from([None, 40]),
    max_duration=st.sampled_from([timedelta(hours=1), timedelta(days=30)]),
    ask_above_agent_runs=st.sampled_from([None, 1]),
)
