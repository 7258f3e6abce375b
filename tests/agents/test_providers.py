"""The real clients, over loopback: turns with tools, and a provider's trouble by its name."""

from __future__ import annotations

import json
import socket
from dataclasses import replace
from typing import Any

import pytest
from azure.core.exceptions import ClientAuthenticationError

from tests.agents.fakes import OWNER, calls_of_step, write_app
from tests.fake_openai import Reply, fake_openai
from workflow_runtime.agents.events import TextDelta, ToolEnded, TurnDone, TurnFailed
from workflow_runtime.agents.models import Models, ModelSettings, make_models
from workflow_runtime.agents.sub_agents import AgentExecutor
from workflow_runtime.errors import ModelError
from workflow_runtime.execution import AgentAnswer, AgentMissingError, AgentRequest
from workflow_runtime.service import Owner
from workflow_runtime.skills import load_catalog

PLAN = {"name": "Checkout triage", "tasks": [{"id": "logs", "tool": "fetch_logs"}]}


@pytest.fixture
async def models_of():
    """Make models of settings; their connections are closed at the end."""
    made: list[Models] = []

    def make(**given: Any) -> Models:
        made.append(make_models(ModelSettings(**given)))
        return made[-1]

    yield make
    for models in made:
        await models.close()


@pytest.fixture
def models_at(models_of):
    """Make models of an OpenAI-compatible server."""

    def make(url: str, **more: Any) -> Models:
        given = {"openai_api_key": "sk-test", "model": "scripted", "max_retries": 0, **more}
        return models_of(openai_base_url=url, **given)

    return make


async def talk(chat, workflows):
    return [e async for e in chat.stream(OWNER, "look", context=None, workflows=workflows)]


async def test_a_turn_with_tool_calls_and_streaming(models_at, make_chat, workflows):
    script = [
        Reply(text="Let me see.", calls=(("start_workflow", json.dumps(PLAN)),)),
        Reply(text="I have started the triage."),
    ]
    with fake_openai(script) as server:
        events = await talk(make_chat(models_at(server.url)), workflows)
    pieces = [event.text for event in events if isinstance(event, TextDelta)]
    assert len(pieces) > 3
    done = events[-1]
    assert isinstance(done, TurnDone)
    assert done.response == "".join(pieces) == "Let me see.\n\nI have started the triage."
    assert done.usage == {"input_tokens": 22, "output_tokens": 14}
    assert workflows.started == [PLAN]
    assert ToolEnded(name="start_workflow", status="ok") in events
    first, second = server.requests
    assert first["model"] == "scripted"
    assert [m["role"] for m in first["messages"]] == ["system", "user"]
    assert first["tools"][0]["function"]["name"] == "start_workflow"
    assert second["messages"][-1]["role"] == "tool"
    assert json.loads(second["messages"][-1]["content"])["workflow_id"] == "w1"
    assert server.headers[0]["authorization"] == "Bearer sk-test"


async def test_broken_arguments_over_the_wire_are_answered_and_go_back_as_json(
    models_at, make_chat, workflows
):
    script = [
        Reply(calls=(("start_workflow", '{"tasks": ['),)),
        Reply(calls=(("start_workflow", "[" * 100_000),)),
        Reply(calls=(("start_workflow", json.dumps(PLAN)),)),
        Reply(text="Started."),
    ]
    with fake_openai(script) as server:
        done = (await talk(make_chat(models_at(server.url)), workflows))[-1]
    assert isinstance(done, TurnDone)
    assert [call["status"] for call in done.tool_calls] == ["error", "error", "ok"]
    for message in server.requests[-1]["messages"]:
        for call in message.get("tool_calls", []):
            assert isinstance(json.loads(call["function"]["arguments"]), dict)


@pytest.mark.parametrize(
    ("reply", "code", "named"),
    [
        (Reply(status=401, error="bad key sk-secret123"), "model_unauthorized", "OPENAI_API_KEY"),
        (Reply(status=403), "model_unauthorized", "OPENAI_API_KEY"),
        (Reply(status=404), "model_not_found", "WORKFLOW_RUNTIME_MODEL"),
        (Reply(status=429), "model_rate_limited", "WORKFLOW_RUNTIME_MODEL"),
        (Reply(status=500), "model_failed", "500"),
        (Reply(status=400, error="Unsupported: 'temperature'"), "model_failed", "'temperature'"),
        (Reply(hang=True), "model_timed_out", "OPENAI_BASE_URL"),
        (Reply(text="Half an answer", hang_after_text=True), "model_timed_out", "OPENAI_BASE_URL"),
        (Reply(text="Half an answer", drop=True), "model_unreachable", "OPENAI_BASE_URL"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_trouble_becomes_a_clear_problem(models_at, make_chat, workflows, reply, code, named):
    with fake_openai([reply]) as server:
        failed = (await talk(make_chat(models_at(server.url, request_timeout=0.3)), workflows))[-1]
    assert isinstance(failed, TurnFailed)
    assert failed.code == code
    assert named in failed.message
    assert (failed.status == 429) == (code == "model_rate_limited")
    assert "sk-secret123" not in failed.message


async def test_the_timeout_of_the_skill_ends_a_turn_before_that_of_the_provider(
    models_at, make_chat, workflows
):
    hasty = """
        ---
        name: Hasty
        description: Has no time.
        timeout: 1
        ---
        You are hasty.
        """
    owner = Owner(principal="", skill="hasty", session="s")
    with fake_openai([Reply(hang=True)]) as server:
        chat = make_chat(models_at(server.url, request_timeout=20), hasty=hasty)
        events = [e async for e in chat.stream(owner, "hi", context=None, workflows=workflows)]
    assert events[-1].code == "turn_timed_out"


async def test_a_refused_connection_is_named(models_at, make_chat, workflows):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    failed = (await talk(make_chat(models_at(url)), workflows))[-1]
    assert (failed.code, failed.status) == ("model_unreachable", 502)
    assert "OPENAI_BASE_URL" in failed.message


async def test_a_passing_429_is_tried_again(models_at, make_chat, workflows):
    script = [Reply(status=429, headers=(("retry-after-ms", "1"),)), Reply(text="Here I am.")]
    with fake_openai(script) as server:
        done = (await talk(make_chat(models_at(server.url, max_retries=1)), workflows))[-1]
    assert isinstance(done, TurnDone)
    assert len(server.requests) == 2


async def test_model_options_of_the_skill_are_sent(models_at, make_chat, workflows):
    tuned = """
        ---
        name: Tuned
        description: Has options.
        model: other-model
        model_options: {max_output_tokens: 300, temperature: 0.2, reasoning_effort: low}
        ---
        You are tuned.
        """
    owner = Owner(principal="", skill="tuned", session="s")
    with fake_openai([Reply(text="Yes.")]) as server:
        chat = make_chat(models_at(server.url), tuned=tuned)
        [e async for e in chat.stream(owner, "hi", context=None, workflows=workflows)]
    sent = server.requests[0]
    assert sent["model"] == "other-model"
    assert sent["max_completion_tokens"] == 300
    assert sent["temperature"] == 0.2
    assert sent["reasoning_effort"] == "low"
    assert "tools" not in sent


REQUEST = AgentRequest(
    agent="writer",
    task="Write it.",
    context="5xx since 14:10",
    calls=calls_of_step(),
)


async def test_a_sub_agent_sees_its_instructions_the_task_and_the_context_only(
    models_at, tmp_path, pool
):
    catalog = load_catalog(write_app(tmp_path))
    with fake_openai([Reply(text="The report.")]) as server:
        executor = AgentExecutor(catalog=catalog, models=models_at(server.url), pool=pool)
        answer = await executor.run(REQUEST)
    assert isinstance(answer, AgentAnswer)
    assert (answer.agent, answer.text) == ("writer", "The report.")
    assert (answer.input_tokens, answer.output_tokens) == (11, 7)
    (sent,) = server.requests
    system, user = sent["messages"]
    assert system["content"] == "You write short reports."
    assert "Write it." in str(user["content"])
    assert "5xx since 14:10" in str(user["content"])
    assert "tools" not in sent


async def test_an_unknown_sub_agent_is_missing(models_at, tmp_path, pool):
    catalog = load_catalog(write_app(tmp_path))
    executor = AgentExecutor(catalog=catalog, models=models_at("http://127.0.0.1:9/v1"), pool=pool)
    with pytest.raises(AgentMissingError):
        await executor.run(replace(REQUEST, agent="gone"))


async def test_a_hanging_sub_agent_ends_with_a_model_error(models_at, tmp_path, pool):
    catalog = load_catalog(write_app(tmp_path))
    with fake_openai([Reply(hang=True)]) as server:
        models = models_at(server.url, request_timeout=0.2)
        executor = AgentExecutor(catalog=catalog, models=models, pool=pool)
        with pytest.raises(ModelError) as caught:
            await executor.run(REQUEST)
    assert caught.value.code == "model_timed_out"


async def test_azure_openai_with_a_key_calls_the_deployment(models_of, make_chat, workflows):
    with fake_openai([Reply(text="From Azure.")]) as server:
        models = models_of(
            azure_openai_endpoint=server.url.removesuffix("/v1"),
            azure_openai_deployment="my-gpt",
            azure_openai_api_key="azure-key",
        )
        assert models.provider == "azure_openai"
        done = (await talk(make_chat(models), workflows))[-1]
    assert done.response == "From Azure."
    assert server.paths[0].startswith("/openai/deployments/my-gpt/chat/completions?api-version=")
    assert server.headers[0]["api-key"] == "azure-key"


@pytest.mark.parametrize(
    "given",
    [
        {"azure_openai_endpoint": "http://127.0.0.1:9", "azure_openai_deployment": "d"},
        {"foundry_project_endpoint": "http://127.0.0.1:9", "foundry_model": "m"},
    ],
    ids=["azure_openai", "foundry"],
)
async def test_an_identity_without_a_token_is_named(
    models_of, make_chat, workflows, monkeypatch, given
):
    class Credential:
        def get_token_info(self, *_scopes, **_options):
            message = "no managed identity"
            raise ClientAuthenticationError(message)

        get_token = get_token_info

    monkeypatch.setattr("azure.identity.DefaultAzureCredential", Credential)
    failed = (await talk(make_chat(models_of(**given)), workflows))[-1]
    assert failed.code == "model_unauthorized"
    assert "AZURE_CLIENT_ID" in failed.message


async def test_a_foundry_project_is_asked_over_its_responses_api(
    models_of, tmp_path, pool, monkeypatch
):
    class Credential:
        def __init__(self, **options):
            assert options == {"managed_identity_client_id": "client-1"}

        def get_token(self, *scopes, **_options):
            from azure.core.credentials import AccessToken

            assert scopes == ("https://ai.azure.com/.default",)
            return AccessToken("entra-token", 4_000_000_000)

        def get_token_info(self, *scopes, **_options):
            from azure.core.credentials import AccessTokenInfo

            return AccessTokenInfo(self.get_token(*scopes).token, 4_000_000_000)

    monkeypatch.setattr("azure.identity.DefaultAzureCredential", Credential)
    with fake_openai([Reply(text="From Foundry.")]) as server:
        project = f"{server.url.removesuffix('/v1')}/api/projects/p1"
        models = models_of(
            foundry_project_endpoint=project, foundry_model="gpt-x", azure_client_id="client-1"
        )
        executor = AgentExecutor(
            catalog=load_catalog(write_app(tmp_path)), models=models, pool=pool
        )
        answer = await executor.run(REQUEST)
    assert isinstance(answer, AgentAnswer)
    assert (answer.text, answer.output_tokens) == ("From Foundry.", 7)
    assert server.paths == ["/api/projects/p1/openai/v1/responses"]
    assert server.headers[0]["authorization"] == "Bearer entra-token"
    assert server.requests[0]["store"] is False
