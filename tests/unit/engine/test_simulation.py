"""The simulation that skill authors use: its page runs, and the real rules hold in it."""

import re
from datetime import timedelta
from pathlib import Path

import pytest

from workflow_runtime.engine import reusable
from workflow_runtime.errors import InvalidPlanError, RetryableError, TerminalError
from workflow_runtime.plan.grants import Limits
from workflow_runtime.testing import Fake, simulate

PAGE = Path(__file__).parents[3] / "docs" / "testing.md"


def example():
    """Return what the page's example defines."""
    [code] = re.findall(r"(?ms)^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"))
    names: dict[str, object] = {"__name__": "docs_testing"}
    exec(compile(code, str(PAGE), "exec"), names)
    return names


@pytest.mark.parametrize("name", [name for name in example() if name.startswith("test_")])
def test_the_example_of_the_page_passes(name):
    example()[name]()


def plan(*tasks, **rest):
    return {"tasks": list(tasks), **rest}


def tool(name, target="give", /, **rest):
    return {"id": name, "tool": target, **rest}


def echo(**args):
    return args


def test_what_is_inserted_is_never_read_again():
    seen = simulate(
        plan(
            tool("a", "say", args={"cmd": "echo $${HOME} $${a.result}", "given": "${input}"}),
            tool("b", "say", args={"again": "${a.result.given} ${a.result.cmd}"}),
        ),
        tools={"say": echo},
        data="${b.result} {{a.result}}",
    )
    assert seen.result("a") == {
        "cmd": "echo ${HOME} ${a.result}", "given": "${b.result} {{a.result}}",
    }  # fmt: skip
    assert seen.result("b") == {"again": "${b.result} {{a.result}} echo ${HOME} ${a.result}"}


def test_values_keep_their_types_and_text_has_real_characters():
    value = {"name": 'Zoë "Z" 東京', "n": 3, "none": None}
    args = {"m": "x=${a.result.p}", "t": "${a.result.p}", "n": "${a.result.p.n}"}
    seen = simulate(
        plan(tool("a"), tool("s", "say", args=args | {"mixed": "n=${a.result.p.n}"})),
        tools={"give": {"p": value}, "say": echo},
    )
    assert seen.result("s") == {
        "m": 'x={"name":"Zoë \\"Z\\" 東京","n":3,"none":null}', "t": value, "n": 3, "mixed": "n=3",
    }  # fmt: skip


def test_tasks_and_args_that_were_encoded_twice_are_understood():
    tasks = '[{"id":"a","type":"tool","tool":"say","args":"{\\"q\\":1}"}]'
    assert simulate({"tasks": tasks}, tools={"say": echo}).result("a") == {"q": 1}


def test_thirty_days_take_no_time():
    seen = simulate(plan({"id": "w", "type": "wait", "duration": "P30D"}), limits=Limits())
    assert seen.took == timedelta(days=30)


def test_a_burst_of_refusals_wipes_out_nobodys_result():
    busy = RetryableError("slow down", retry_after=3)
    retry = {"max_attempts": 3, "initial": "PT1S", "multiplier": 2.0, "max": "PT10S"}
    seen = simulate(
        plan(*(tool(f"t{n}", f"llm{n}", retry=retry) for n in range(5))),
        tools={f"llm{n}": Fake(answers=[busy, n]) for n in range(5)},
    )
    assert seen.output == {f"t{n}": n for n in range(5)}
    assert {call.at for call in seen.calls if call.attempt == 2} == {timedelta(seconds=3)}


def test_a_rerun_calls_only_what_failed_and_what_comes_after():
    failing = plan(
        tool("a", "ok"),
        tool("b", "flaky"),
        tool("c", "ok", depends_on=["a"]),
        tool("d", "ok", depends_on=["b", "c"]),
    )
    slow = Fake(answers=[TerminalError("the first time"), "fine"], takes=timedelta(seconds=1))
    first = simulate(failing, tools={"ok": "ok", "flaky": slow})
    assert first.status == "Failed"
    again = simulate(failing, tools={"ok": "ok", "flaky": "fine"}, reuse=reusable(first.run.tasks))
    assert [call.step for call in again.calls] == ["b", "d"]
    assert again.status == "Completed"


def test_events_arrive_at_their_times():
    seen = simulate(
        plan({"id": "w", "type": "wait", "event": "paid"}),
        events=[(timedelta(hours=2), "paid", {"sum": 3}), (timedelta(hours=3), "paid", None)],
    )
    assert (seen.output, seen.took) == ({"w": {"sum": 3}}, timedelta(hours=2))


def test_a_plan_the_app_would_refuse_is_refused_with_every_problem():
    with pytest.raises(InvalidPlanError) as caught:
        simulate(plan(tool("a", "nope"), tool("a", "give", args={"x": "${zzz.result}"})))
    assert len(caught.value.problems) >= 3
