"""What a skill's model is told about workflows, and what that costs."""

from __future__ import annotations

from pathlib import Path

from bpe_openai import get_encoding

from tests.agents.fakes import NOW, OWNER, FakeWorkflows
from tests.agents.typical import GRANTS
from workflow_runtime.agents.addendum import addendum
from workflow_runtime.agents.maf.tools import RawTool
from workflow_runtime.agents.management_tools import ManagementTools
from workflow_runtime.plan.encoding import dumps
from workflow_runtime.plan.grants import Grants, ToolGrant
from workflow_runtime.plan.policies import WorkPolicy
from workflow_runtime.skills import load_catalog


def tokens(text: str) -> int:
    return len(get_encoding("o200k_base").encode(text))


def test_tools_are_one_line_each_and_the_time_is_utc():
    lines = addendum(GRANTS, NOW).splitlines()
    assert (
        "- fetch_logs(service: str, window_minutes: int) -> {lines: [str], errors: int}"
        ": Fetch recent log lines of a service"
    ) in lines
    assert any(line.startswith("- fetch_deploys(") and "newest" not in line for line in lines)
    assert "- report_writer: Write the final report" in lines
    assert lines[-1] == "Now: 2026-05-04T14:30:00Z"


def test_a_tool_for_which_a_person_is_asked_says_so():
    asking = WorkPolicy(approval=True)
    tools = {
        "a": ToolGrant(name="a", description="Delete. For good.", policy=asking),
        "b": ToolGrant(name="b", policy=asking),
    }
    text = addendum(Grants(tools=tools), NOW)
    assert "- a(…): Delete; a person is asked by itself" in text
    assert "- b(…): a person is asked by itself" in text


def test_a_skill_without_sub_agents_hears_of_none():
    assert "Sub-agents" not in addendum(Grants(tools=GRANTS.tools), NOW)


def test_what_authors_wrote_is_not_taken_for_a_placeholder():
    odd = Grants(tools={"t": ToolGrant(name="t", description="Costs $now, $$5 and ${agents}")})
    assert "Costs $now, $$5 and ${agents}" in addendum(odd, NOW)


def test_four_tools_and_two_sub_agents_cost_at_most_260_tokens():
    assert tokens(addendum(GRANTS, NOW)) <= 260


def test_the_five_tools_and_the_addendum_cost_at_most_1000_tokens():
    tools = ManagementTools(FakeWorkflows(), OWNER).tools()
    shown = [RawTool(each).to_json_schema_spec()["function"] for each in tools]
    cost = sum(tokens(dumps(each)) for each in shown)
    assert cost + tokens(addendum(GRANTS, NOW)) <= 1_000


def test_each_bundled_skill_is_told_of_its_own_tools_only():
    catalog = load_catalog(Path(__file__).parents[2])
    grants = {skill.slug: set(catalog.grants(skill.slug).tools) for skill in catalog.fronts()}
    assert grants == {
        "incident_triage": {"fetch_deploys", "fetch_logs", "fetch_metrics"},
        "pr_portfolio": {"fetch_pull_request", "list_pull_requests", "render_report"},
    }
    chat = {slug: set(catalog.chat_tools_of(slug)) for slug in catalog.skills}
    assert chat == {
        "actionable_report_writer": set(),
        "incident_triage": {"list_services"},
        "pr_portfolio": {"fetch_pull_request", "list_pull_requests"},
        "pr_status_analyst": set(),
    }
