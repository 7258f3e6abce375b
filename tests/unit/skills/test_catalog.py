"""Who may use what."""

from dataclasses import FrozenInstanceError
from datetime import timedelta

import pytest

from workflow_runtime.plan.policies import WorkPolicy

GRANTING = """
    endpoints: {chat: true}
    workflows: {enabled: true, exclude: [probe], subagents: [{agent: writer}]}
"""


def test_plans_get_workflow_tools_and_named_sub_agents_only(skill):
    grants = skill(GRANTING).grants("triage")
    assert set(grants.tools) == {"fetch_logs"}
    assert grants.tools["fetch_logs"].description == "Fetch logs."
    assert grants.tools["fetch_logs"].output == {"items": {"type": "string"}, "type": "array"}
    assert {name: grant.description for name, grant in grants.agents.items()} == {
        "writer": "Writes."
    }


def test_sub_agents_are_denied_by_default(skill):
    grants = skill("workflows: {enabled: true}").grants("triage")
    assert grants.agents == {}
    assert set(grants.tools) == {"fetch_logs", "probe"}


def test_a_skill_without_workflows_grants_nothing(skill):
    catalog = skill("workflows: {enabled: false, subagents: [{agent: writer}]}")
    assert (catalog.grants("triage").tools, catalog.grants("triage").agents) == ({}, {})


def test_a_routing_hint_stands_for_the_description(skill):
    grants = skill("workflows: {enabled: true, subagents: [{agent: writer, when: Last}]}").grants(
        "triage"
    )
    assert grants.agents["writer"].description == "Last"


def test_what_tools_and_links_say_of_attempts_is_granted(skill):
    tools = """
        from workflow_runtime.skills import workflow_tool

        @workflow_tool(timeout="PT30S", approval="always", side_effects="idempotent", concurrency=2)
        def restart(service: str): ...
    """
    grants = skill(
        "workflows: {enabled: true, subagents: [{agent: writer, concurrency: 3}]}",
        **{"tools/more.py": tools},
    ).grants("triage")
    assert grants.tools["restart"].policy == WorkPolicy(
        timeout=timedelta(seconds=30), approval=True, side_effects="idempotent", concurrency=2
    )
    assert grants.agents["writer"].policy == WorkPolicy(concurrency=3)
    assert grants.tools["fetch_logs"].policy == WorkPolicy()


def test_a_plan_is_told_why_a_tool_is_not_there(skill):
    broken = (
        "from workflow_runtime.skills import workflow_tool\n1/0\n@workflow_tool\ndef gone(): ..."
    )
    catalog = skill("workflows: {enabled: true}", **{"tools/broken.py": broken})
    assert "ZeroDivisionError" in catalog.grants("triage").unloaded["gone"]


def test_a_tool_that_did_not_load_may_be_excluded(skill):
    broken = (
        "from workflow_runtime.skills import workflow_tool\n1/0\n@workflow_tool\ndef gone(): ..."
    )
    catalog = skill("workflows: {enabled: true, exclude: [gone]}", **{"tools/broken.py": broken})
    assert catalog.grants("triage").unloaded == {}


def test_chat_tools_are_all_but_the_excluded(skill):
    assert set(skill("").chat_tools_of("triage")) == {"look_up"}
    assert set(skill("tools: {exclude: [look_up]}").chat_tools_of("triage")) == set()
    assert set(skill("tools: false").chat_tools_of("triage")) == set()


def test_fronts_are_the_skills_with_an_endpoint(skill):
    assert [front.slug for front in skill(GRANTING).fronts()] == ["triage"]
    assert skill("").fronts() == ()


def test_a_catalog_is_frozen(skill):
    catalog = skill(GRANTING)
    with pytest.raises(FrozenInstanceError):
        catalog.warnings = ()
    for mapping in (catalog.skills, catalog.workflow_tools, catalog.chat_tools, catalog.unloaded):
        with pytest.raises(TypeError):
            mapping["x"] = None
