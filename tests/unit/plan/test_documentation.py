"""The page on the plan language shows plans that are valid."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from pathlib import Path

import pytest

from tests.corpus.loading import NOW
from workflow_runtime.plan import Limits, check
from workflow_runtime.plan.decoding import MAX_BYTES, MAX_NESTING
from workflow_runtime.plan.model import RESERVED_IDS
from workflow_runtime.plan.policies import MAX_ATTEMPTS, RetryPolicy
from workflow_runtime.plan.times import format_duration

from .lab import granted, tool

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "plan-language.md").read_text("utf-8")
PLANS = [json.loads(text) for text in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)]


@pytest.mark.parametrize("plan", PLANS)
def test_a_plan_of_the_page_is_valid(plan):
    names = {task["tool"] for task in plan["tasks"] if "tool" in task}
    grants = granted(*(tool(name) for name in names), agents=("report_writer",))
    assert check(plan, grants, NOW).problems == ()


def test_the_limits_of_the_page_are_the_defaults():
    table = PAGE[PAGE.index("## Limits") :]
    rows = dict(re.findall(r"^\| `(\w+)` \| ([\w,]+)", table, re.MULTILINE))
    default = Limits().to_json()
    shown = {field.name: str(default.get(field.name, "none")) for field in fields(Limits)}
    assert {name: value.replace(",", "") for name, value in rows.items()} == shown
    assert f"{MAX_BYTES // 1024} KiB, nested {MAX_NESTING} deep" in PAGE


def test_the_reserved_ids_of_the_page_are_those_of_the_code():
    (sentence,) = re.findall(r"and none of (.*?)\. `type`", PAGE, re.DOTALL)
    assert set(re.findall(r"`(\w+)`", sentence)) == RESERVED_IDS


_CODES = re.compile(r'(?:Failure\(code=|\bcode = |TemplateError\(|_failure\(|Error,\s+)"([a-z_]+)"')


def test_every_failure_of_a_run_is_on_the_page():
    source = "".join(
        path.read_text("utf-8")
        for folder in ("engine", "execution", "hosts")
        for path in (ROOT / "workflow_runtime" / folder).rglob("*.py")
    )
    codes = set(_CODES.findall(source))
    assert len(codes) > 20
    assert {code for code in codes if f"`{code}`" not in PAGE} == set()


def test_the_defaults_of_a_retry_on_the_page_are_those_of_the_code():
    rows = dict(re.findall(r"^\| `(\w+)` \| (\w+)", PAGE, re.MULTILINE))
    default = RetryPolicy()
    assert rows["max_attempts"] == str(default.max_attempts)
    assert rows["initial"] == format_duration(default.initial)
    assert float(rows["multiplier"]) == default.multiplier
    assert rows["max"] == format_duration(default.max)
    assert f"1 to {MAX_ATTEMPTS}, the first" in PAGE
