"""The page on the plan language shows plans that are valid."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.corpus.loading import NOW
from workflow_runtime.plan import Limits, check
from workflow_runtime.plan.decoding import MAX_BYTES, MAX_NESTING
from workflow_runtime.plan.model import RESERVED_IDS

from .lab import granted, tool

PAGE = (Path(__file__).parents[3] / "docs" / "plan-language.md").read_text("utf-8")
PLANS = [json.loads(text) for text in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)]


@pytest.mark.parametrize("plan", PLANS)
def test_a_plan_of_the_page_is_valid(plan):
    names = {task["tool"] for task in plan["tasks"] if "tool" in task}
    grants = granted(*(tool(name) for name in names), agents=("report_writer",))
    assert check(plan, grants, NOW).problems == ()


def test_the_limits_of_the_page_are_the_defaults():
    rows = dict(re.findall(r"^\| `(max_\w+)` \| ([\w,]+)", PAGE, re.MULTILINE))
    shown = {name: str(value) for name, value in Limits().to_json().items() if name in rows}
    assert {name: value.replace(",", "") for name, value in rows.items()} == shown
    assert f"{MAX_BYTES // 1024} KiB, nested {MAX_NESTING} deep" in PAGE


def test_the_reserved_ids_of_the_page_are_those_of_the_code():
    (sentence,) = re.findall(r"and none of (.*?)\. `type`", PAGE, re.DOTALL)
    assert set(re.findall(r"`(\w+)`", sentence)) == RESERVED_IDS
