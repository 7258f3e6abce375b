"""`.agent.md` files: strict, and helpful about it."""

from datetime import timedelta

import pytest

from workflow_runtime.errors import ConfigurationError
from workflow_runtime.skills import ChatTools, Endpoints, ModelOptions, SubAgentLink


def test_a_skill_is_read(skill):
    catalog = skill("""
        name: Incident triage
        model: gpt-5.4
        model_options: {max_output_tokens: 500, temperature: 0.2, reasoning_effort: low}
        timeout: 60
        endpoints: {chat: true, auth: entra}
        workflows:
          enabled: true
          exclude: [probe]
          subagents: [{agent: writer, when: At the end}]
          limits: {max_parallelism: 32, max_wait: P7D}
        tools: {exclude: [look_up]}
        metadata: {team: {name: sre, since: 2026-03-01}}
    """)
    made = catalog.skills["triage"]
    assert (made.name, made.description, made.instructions) == (
        "Incident triage",
        "Triage.",
        "Do it well.",
    )
    assert (made.model, made.timeout) == ("gpt-5.4", 60.0)
    assert made.model_options == ModelOptions(
        max_output_tokens=500, temperature=0.2, reasoning_effort="low"
    )
    assert made.endpoints == Endpoints(chat=True, page=False, auth="entra")
    assert made.workflows is not None
    assert made.workflows.subagents == (SubAgentLink(agent="writer", when="At the end"),)
    assert made.workflows.limits.max_parallelism == 32
    assert made.workflows.limits.max_wait == timedelta(days=7)
    assert made.tools == ChatTools(exclude=("look_up",))
    assert made.metadata == {"team": {"name": "sre", "since": "2026-03-01"}}
    assert catalog.warnings == ()


def test_nothing_is_on_by_default(skill):
    made = skill("").skills["triage"]
    assert made.endpoints == Endpoints(chat=False, page=False, auth="function")
    assert made.workflows is None
    assert (made.name, made.timeout) == ("triage", 900.0)


def test_a_skill_that_nobody_can_reach_is_told(skill):
    warnings = skill("").warnings
    assert any("nobody can reach 'triage'" in warning for warning in warnings)


def test_skills_of_all_three_folders_are_found(app):
    text = "---\ndescription: d\nendpoints: {chat: true}\n---\n"
    catalog = app({"skills/a.agent.md": text, "b.agent.md": text, "agents/c-d.e.agent.md": text})
    assert list(catalog.skills) == ["a", "b", "c_d_e"]


def test_an_app_without_skills_is_told(app):
    assert "the app has no skill" in app({}).warnings[0]


@pytest.mark.parametrize("other", ["agents/triage.agent.md", "skills/TRIAGE.agent.md"])
def test_two_files_with_one_slug_stop_the_start_naming_both(skill, other):
    with pytest.raises(ConfigurationError) as caught:
        skill("", **{other: "---\ndescription: d\n---\n"})
    assert other in str(caught.value)
    assert "skills/triage.agent.md" in str(caught.value)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("endpoints: {page: true}", Endpoints(chat=True, page=True)),
        ("endpoints: true", Endpoints(chat=True, page=True)),
        ("endpoints: false", Endpoints()),
        ("builtin_endpoints: {debug_chat_ui: true}", Endpoints(chat=True, page=True)),
        (
            "builtin_endpoints: {chat_api: true, http_auth: admin}",
            Endpoints(chat=True, auth="admin"),
        ),
        (
            "builtin_endpoints: {chat_api: true, http_auth: {mode: anonymous}}",
            Endpoints(chat=True, auth="anonymous"),
        ),
    ],
)
def test_both_spellings_of_endpoints_are_read(skill, given, expected):
    assert skill(given).skills["triage"].endpoints == expected


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ("trigger: {type: timer_trigger, args: {schedule: '0 0 15 * * *'}}", "trigger"),
        ("skills: {exclude: [a]}", "skills"),
        ("input_schema: {type: object}", "input_schema"),
        ("response_schema: {type: object}", "response_schema"),
        ("substitute_variables: false", "substitute_variables"),
        ("endpoints: {chat: true, mcp: true}", "endpoints.mcp"),
        ("subagents: [{agent: writer}]", "workflows.subagents"),
        ("system_tools: {web_request: true}", "@tool"),
        ("logger: true", "WORKFLOW_RUNTIME_LOG_LEVEL"),
    ],
)
def test_a_key_without_effect_starts_with_one_warning(skill, given, key):
    told = [w for w in skill(given).warnings if "has no effect in this version" in w]
    assert len(told) == 1
    assert told[0].startswith("skills/triage.agent.md: ")
    assert key in told[0]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            "worflows: {enabled: true}",
            "'worflows' is not a key that is known here; did you mean 'workflows'?",
        ),
        (
            "workflows: {enabled: 'false'}",
            "'workflows.enabled' must be true or false, not the text 'false'",
        ),
        ("workflows: {enabled: 1}", "'workflows.enabled' must be true or false, not 1"),
        ("workflows: {}", "'workflows.enabled' is missing"),
        ("workflows: true", "'workflows' must be keys and values, not true"),
        ("workflows:", "'workflows' must be keys and values, not left empty"),
        ("workflows: {enable: true}", "did you mean 'enabled'?"),
        (
            "workflows: {enabled: true, limits: {max_paralelism: 3}}",
            "did you mean 'max_parallelism'?",
        ),
        ("workflows: {enabled: true, limits: {max_tasks: 0}}", "workflows.limits.max_tasks"),
        ("workflows: {enabled: true, limits: 3}", "workflows.limits must be a mapping"),
        (
            "workflows: {enabled: true, exclude: probe}",
            "'workflows.exclude' must be a list of names",
        ),
        ("workflows: {enabled: true, exclude: [prob]}", "did you mean 'probe'?"),
        ("workflows: {enabled: true, exclude: [look_up]}", "no tool of that kind"),
        (
            "workflows: {enabled: true, subagents: [writer]}",
            "'workflows.subagents[0]' must be keys and values",
        ),
        ("workflows: {enabled: true, subagents: {agent: writer}}", "must be a list, not keys"),
        ("workflows: {enabled: true, subagents: [{agent: writter}]}", "did you mean 'writer'?"),
        (
            "workflows: {enabled: true, subagents: [{when: x}]}",
            "'workflows.subagents[0].agent' is missing",
        ),
        (
            "workflows: {enabled: true, subagents: [{agent: writer}, {agent: writer}]}",
            "'writer' twice",
        ),
        ("workflows: {enabled: true, subagents: [{agent: writer, tool: x}]}", "subagents[0].tool'"),
        (
            "workflows: {enabled: true, subagents: [{agent: writer, concurrency: 0}]}",
            "'workflows.subagents[0].concurrency' must be a whole number from 1 to 256, not 0",
        ),
        ("tools: {exclude: [lookup]}", "did you mean 'look_up'?"),
        ("tools: [look_up]", "'tools' must be keys and values, not a list"),
        ("endpoints: {chat: 'yes'}", "'endpoints.chat' must be true or false, not the text 'yes'"),
        ("endpoints: {chatt: true}", "did you mean 'chat'?"),
        ("endpoints: {debug_chat_ui: true}", "'endpoints.debug_chat_ui' is not a key"),
        ("endpoints: {page: true, chat: false}", "the page is a chat"),
        ("endpoints: {auth: basic}", "must be one of function, admin, anonymous, entra"),
        (
            "builtin_endpoints: {http_auth: {mode: entra, entra: {}}}",
            "'builtin_endpoints.http_auth.entra'",
        ),
        ("endpoints: {}\nbuiltin_endpoints: {}", "says the same as 'endpoints'"),
        ("timeout: 15m", "'timeout' must be a number from 1 to 86400, not the text '15m'"),
        ("timeout: 0", "'timeout' must be a number"),
        ("timeout: .nan", "'timeout' must be a number"),
        ("timeout: true", "'timeout' must be a number"),
        ("timeout: 1" + "0" * 400, "'timeout' must be a number"),
        ("timeout: 1" + "0" * 5_000, "is no YAML"),
        ("model: 5", "'model' must be text, not 5"),
        ("model: ''", "'model' must be text, not left empty"),
        ("name: 2026-03-01", "'name' must be text, not a date"),
        ("model_options: {temperature: 3}", "from 0 to 2"),
        ("model_options: {max_output_tokens: 1.5}", "a whole number"),
        ("model_options: {top_p: 1}", "'model_options.top_p' is not a key"),
        ("metadata: 3", "'metadata' must be keys and values"),
        ("metadata: {a: !!binary aGk=}", "'metadata' must be JSON"),
        ("timeout: 5\ntimeout: 6", "line 4: the key 'timeout' stands here twice"),
        (
            "model_options: {temperature: 1, temperature: 2}",
            "the key 'temperature' stands here twice",
        ),
        ("metadata: {1: a}", "the key 1 is not text"),
        ("name: [", "skills/triage.agent.md, line "),
        ("name: !!python/object:os.system x", "could not determine a constructor"),
        ("description: again", "the key 'description' stands here twice"),
    ],
)
def test_a_mistake_stops_the_start_naming_file_key_and_fix(skill, given, said):
    with pytest.raises(ConfigurationError) as caught:
        skill(given)
    assert "skills/triage.agent.md" in str(caught.value)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "must begin with front matter"),
        ("Just text", "must begin with front matter"),
        ("---\nname: x\n", "no closing line"),
        ("---\n- a\n---\n", "must be keys and values"),
        ("---\nname: x\n---\n", "'description' is missing"),
        ("---\n---\n", "must be keys and values"),
        ("---\na: &a [*a]\n---\n", "'a' is not a key"),
        ("---\nname: " + "[" * 5_000 + "\n---\n", "a.agent.md"),
    ],
)
def test_a_file_without_proper_front_matter_stops_the_start(app, text, said):
    with pytest.raises(ConfigurationError, match=r"skills/a\.agent\.md") as caught:
        app({"skills/a.agent.md": text})
    assert said in str(caught.value)


def test_windows_line_ends_and_a_byte_order_mark_are_fine(app, tmp_path):
    (tmp_path / "a.agent.md").write_bytes("\ufeff---\r\ndescription: é\r\n---\r\nHi\r\n".encode())
    made = app({}).skills["a"]
    assert (made.description, made.instructions) == ("é", "Hi")


def test_a_folder_named_like_a_skill_is_none(app, tmp_path):
    (tmp_path / "a.agent.md").mkdir()
    assert app({}).skills == {}


def test_a_file_that_is_no_utf8_stops_the_start(app, tmp_path):
    (tmp_path / "a.agent.md").write_bytes(b"---\ndescription: \xff\n---\n")
    with pytest.raises(ConfigurationError, match="not UTF-8"):
        app({})
