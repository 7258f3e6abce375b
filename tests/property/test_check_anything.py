"""Whatever is sent, check answers; whatever it offers as a fix, helps."""

from __future__ import annotations

import json

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.corpus.loading import NOW
from tests.corpus.patching import apply
from tests.messy_strategies import messy_plans
from tests.strategies import LAB, anything, json_values
from workflow_runtime.plan import Checked, check
from workflow_runtime.plan.draft_task import OWN_FIELDS, fields_of
from workflow_runtime.plan.problems import CODES

TASK_FIELDS = sorted(frozenset().union(*map(fields_of, OWN_FIELDS)))
RETRY = ["max_attempts", "initial", "multiplier", "max", "until", "attempts", "backoff"]


def is_answered(found: Checked):
    for problem in found.problems:
        assert problem.code in CODES
        json.dumps(problem.to_json(), allow_nan=False)
    assert (found.plan is None) is bool(found.problems)


@given(anything)
def test_no_value_makes_check_raise(value):
    is_answered(check(value, LAB, NOW))


@given(st.one_of(st.text(), messy_plans.map(json.dumps), st.binary()))
def test_no_text_makes_check_raise(text):
    is_answered(check(text, LAB, NOW))


@given(st.dictionaries(st.sampled_from(["tasks", "plan", "name", "context", "input"]), anything))
def test_no_value_of_a_plans_field_makes_check_raise(plan):
    is_answered(check(plan, LAB, NOW))


@given(st.dictionaries(st.sampled_from(TASK_FIELDS), anything))
def test_no_value_of_a_tasks_field_makes_check_raise(task):
    is_answered(check({"tasks": [task]}, LAB, NOW))


@given(
    st.sampled_from(["make", "once", "writer"]), st.dictionaries(st.sampled_from(RETRY), anything)
)
def test_no_value_of_a_retrys_field_makes_check_raise(target, retry):
    field = {"agent": target, "task": "x"} if target == "writer" else {"tool": target}
    is_answered(check({"tasks": [{"id": "a", "retry": retry} | field]}, LAB, NOW))


@given(
    st.sampled_from(["wait", "approval"]),
    st.dictionaries(st.sampled_from(sorted(fields_of("wait") | fields_of("approval"))), anything),
)
def test_no_value_of_a_field_of_waits_and_approvals_makes_check_raise(kind, task):
    is_answered(check({"tasks": [{"id": "a"} | task | {"type": kind}]}, LAB, NOW))


@given(messy_plans, json_values, st.one_of(st.none(), st.text()))
def test_nothing_that_the_caller_brings_makes_check_raise(plan, data, context):
    is_answered(check(plan, LAB, NOW, context=context, data=data))


@settings(max_examples=300)
@given(messy_plans)
def test_what_is_sent_is_left_as_it_was(plan):
    before = json.dumps(plan)
    is_answered(check(plan, LAB, NOW))
    assert json.dumps(plan) == before


@settings(max_examples=400)
@given(messy_plans)
@example({"tasks": [{"id": "a", "tool": "make", "when": "'${'"}]})
def test_each_fix_can_be_applied_and_ends_its_problem(plan):
    found = check(plan, LAB, NOW)
    for problem in found.problems:
        if problem.fix is None:
            continue
        mended = check(apply(found.decoded, problem.fix), LAB, NOW)
        left = {(p.code, p.path, p.message) for p in mended.problems}
        assert (problem.code, problem.path, problem.message) not in left


@settings(max_examples=200)
@given(messy_plans)
def test_an_accepted_plan_is_read_back_the_same(plan):
    found = check(plan, LAB, NOW)
    if found.plan is not None:
        again = check(found.plan.to_json(), LAB, NOW)
        assert again.plan == found.plan
