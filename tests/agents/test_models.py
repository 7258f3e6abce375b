"""Which provider answers, and what start-up says where none can."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from workflow_runtime.agents.models import ModelSettings, make_models
from workflow_runtime.errors import ConfigurationError

AZURE = {"azure_openai_endpoint": "https://a.openai.azure.com"}
FOUNDRY = {"foundry_project_endpoint": "https://f.services.ai.azure.com/api/projects/p"}
OPENAI = {"openai_api_key": "sk-1"}


@pytest.mark.parametrize(
    ("given", "provider"),
    [
        ({}, "demo"),
        (OPENAI, "openai"),
        (OPENAI | FOUNDRY, "foundry"),
        (OPENAI | FOUNDRY | AZURE, "azure_openai"),
        (OPENAI | AZURE | {"provider": "openai"}, "openai"),
        (OPENAI | {"provider": "demo"}, "demo"),
        (OPENAI | {"provider": ""}, "openai"),
        ({"provider": "openai", "openai_base_url": "http://127.0.0.1:11434/v1"}, "openai"),
        ({"provider": "demo", "in_azure": True}, "demo"),
        (OPENAI | {"in_azure": True}, "openai"),
    ],
)
def test_the_first_provider_whose_settings_are_there_answers(given: dict[str, Any], provider):
    assert make_models(ModelSettings(**given)).provider == provider


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"in_azure": True}, "WORKFLOW_RUNTIME_PROVIDER=demo"),
        ({"in_azure": True}, "AZURE_OPENAI_ENDPOINT"),
        ({"provider": "clippy"}, "'clippy'"),
        ({"provider": "openai"}, "OPENAI_API_KEY"),
        ({"provider": "azure_openai"}, "AZURE_OPENAI_ENDPOINT"),
        ({"provider": "foundry"}, "FOUNDRY_PROJECT_ENDPOINT"),
    ],
)
def test_start_up_names_the_settings_that_are_missing(given: dict[str, Any], named):
    with pytest.raises(ConfigurationError, match=named):
        make_models(ModelSettings(**given))


@pytest.mark.parametrize(
    ("given", "own", "model"),
    [
        (OPENAI | {"model": "m"}, None, "m"),
        (OPENAI | {"model": "m"}, "own", "own"),
        (AZURE | {"azure_openai_deployment": "d"}, None, "d"),
        (AZURE | {"azure_openai_deployment": "d", "model": "m"}, None, "m"),
        (FOUNDRY | {"foundry_model": "f"}, None, "f"),
        ({}, "own", "demo"),
    ],
)
def test_a_skills_own_model_comes_first(given: dict[str, Any], own, model):
    skill: Any = SimpleNamespace(slug="s", model=own)
    assert make_models(ModelSettings(**given)).model_for(skill) == model


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (OPENAI, "WORKFLOW_RUNTIME_MODEL"),
        (AZURE, "AZURE_OPENAI_DEPLOYMENT"),
        (FOUNDRY, "FOUNDRY_MODEL"),
    ],
)
def test_a_skill_without_a_model_fails_at_start_up(given: dict[str, Any], named):
    skill: Any = SimpleNamespace(slug="triage", model=None)
    with pytest.raises(ConfigurationError, match=f"'triage' has no model: set {named}"):
        make_models(ModelSettings(**given)).verify([skill])


def test_importing_the_agents_imports_no_model_sdk():
    code = (
        "import sys, workflow_runtime.agents; "
        "print([m for m in ('agent_framework', 'openai', 'azure.identity') if m in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"
