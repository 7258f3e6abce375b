"""Codes are documented, and nothing else is ever answered."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from workflow_runtime.plan import problems

ROOT = Path(__file__).parents[3]
PLAN = ROOT / "workflow_runtime" / "plan"


def test_every_code_is_documented_with_its_meaning():
    text = (ROOT / "docs" / "problems.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| `([a-z_0-9]+)` \| (.+) \|$", text, re.MULTILINE))
    assert rows == problems.CODES


def test_every_code_that_is_answered_is_known_and_every_known_one_is_answered():
    used: set[str] = set()
    for path in PLAN.rglob("*.py"):
        if path.name == "problems.py":
            continue
        tree = ast.parse(path.read_text("utf-8"))
        used |= {
            node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        } & problems.CODES.keys()
    assert used == problems.CODES.keys()


def test_a_long_message_is_cut():
    shown = problems.Problem("not_json", "", "x" * 1_000).to_json()
    assert len(str(shown["message"])) == 400


def test_a_suggestion_does_not_depend_on_the_order_of_names():
    for names in (["logs_a", "logs_b"], ["logs_b", "logs_a"]):
        assert problems.nearest("logs_c", names) == problems.nearest("logs_c", names[::-1])
