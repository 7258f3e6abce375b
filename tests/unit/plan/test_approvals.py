"""Approvals in plans: how they are written, and what can be read of the answer."""

from __future__ import annotations

from datetime import timedelta

import pytest

from workflow_runtime.plan.model import ApprovalTask

from .lab import approval, checked, fetch, granted, mended, only, problems, say, tool


def test_an_approval_is_read():
    plan = checked(fetch(), approval(message="Roll back ${a.result.id}?", timeout="P1D")).plan
    assert plan is not None
    task = plan.tasks[1]
    assert isinstance(task, ApprovalTask)
    assert task.timeout == timedelta(days=1)


@pytest.mark.parametrize("word", ["task", "text", "prompt", "question", "description", "title"])
def test_an_approvals_text_under_another_name_is_its_message(word):
    task = {"id": "ok", "type": "approval", word: "Go?"}
    problem = only(task)
    assert "'message'" in problem.message
    found = mended(problem, task)
    assert found.plan is not None
    assert found.plan.to_json()["tasks"] == [approval()]


def test_an_approval_without_a_message_is_refused():
    problem = only({"id": "ok", "type": "approval"})
    assert (problem.code, problem.path) == ("missing_field", "/tasks/0")
    assert "'message'" in problem.message


@pytest.mark.parametrize("word", ["approve", "human", "confirm", "review", "Approval"])
def test_another_word_for_an_approval_is_one(word):
    task = approval(type=word)
    assert mended(only(task), task).plan is not None


@pytest.mark.parametrize("field", ["approved", "by", "comment", "at"])
def test_what_a_person_answered_can_be_read(field):
    assert not problems(approval(), say(f"${{ok.result.{field}}}"))


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("ok.result.approval", "ok.result.approved"),
        ("ok.result.coment", "ok.result.comment"),
        ("ok.approved", "ok.result.approved"),
    ],
)
def test_a_field_that_no_answer_has_is_put_right(wrong, right):
    problem = only(approval(), say(f"${{{wrong}}}"))
    assert problem.code == "impossible_reference"
    assert problem.fix == ({"op": "replace", "path": "/tasks/1/args/m", "value": f"${{{right}}}"},)


def test_an_answers_decision_has_its_type():
    grants = granted(tool("take", {"properties": {"n": {"type": "integer"}}}))
    take = {"id": "t", "tool": "take", "args": {"n": "${ok.result.approved}"}}
    assert problems(approval(), take, grants=grants) == [
        ("mismatched_reference", "/tasks/1/args/n")
    ]
    assert not problems(approval(), fetch(when="ok.result.approved"))
    assert only(approval(), fetch(when="ok.result.by")).code == "invalid_condition"


def test_an_approval_waits_for_what_its_message_reads():
    assert problems(approval(message="${a.result}"), fetch(when="ok.result.approved")) == [
        ("cycle", "/tasks/0")
    ]
