"""Tool files of an app: what is imported, and what happens when one does not."""

import logging
import sys

import pytest

from workflow_runtime.errors import ConfigurationError

IMPORTS = "from workflow_runtime.skills import tool, workflow_tool\n"


def test_tools_of_both_folders_are_found_and_underscored_files_are_not(app):
    catalog = app({
        "skills/tools/a.py": IMPORTS + "@workflow_tool\ndef one(): ...\n",
        "tools/b.py": IMPORTS + "@workflow_tool\n@tool\nasync def two(): ...\n",
        "tools/_c.py": "raise SystemExit",
    })  # fmt: skip
    assert list(catalog.workflow_tools) == ["one", "two"]
    assert list(catalog.chat_tools) == ["two"]
    assert catalog.workflow_tools["two"] is catalog.chat_tools["two"]
    assert catalog.unloaded == {}


def test_a_file_may_import_a_neighbour_and_nothing_is_put_on_the_path(app):
    before = list(sys.path)
    catalog = app({
        "tools/_shared.py": "LIMIT = 3\n",
        "tools/a.py": IMPORTS + "from ._shared import LIMIT\n@workflow_tool\ndef one(): ...\n",
        "tools/b.py": IMPORTS + "from .a import one\n@workflow_tool\ndef two(): return one()\n",
    })  # fmt: skip
    assert list(catalog.workflow_tools) == ["one", "two"]
    assert sys.path == before


def test_a_file_that_changed_is_read_again(app):
    first = app({"tools/a.py": IMPORTS + "@workflow_tool\ndef one(): ...\n"})
    second = app({"tools/a.py": IMPORTS + "@workflow_tool\ndef twentytwo(): ...\n"})
    assert (list(first.workflow_tools), list(second.workflow_tools)) == (["one"], ["twentytwo"])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("import nowhere_at_all\n", "tools/a.py, line 2: ModuleNotFoundError: No module named"),
        ("1 / 0\n", "tools/a.py, line 2: ZeroDivisionError"),
        ("import sys; sys.exit(3)\n", "tools/a.py, line 2: SystemExit"),
        ("def broken(:\n", "tools/a.py, line 2: SyntaxError: "),
        ("raise ValueError('Password=hunter2')\n", "tools/a.py, line 2: ValueError"),
        (
            "@workflow_tool(retries=3)\ndef f(): ...\n",
            "tools/a.py, line 2: @workflow_tool has no option 'retries'",
        ),
    ],
)
def test_a_file_that_does_not_import_is_told_and_the_app_starts(app, caplog, text, reason):
    rest = "@workflow_tool(\n  name='probe')\ndef f(): ...\n\n@tool\ndef chat(): ...\n"
    rest += "@workflow_tool\nasync def other(): ...\n"
    with caplog.at_level(logging.ERROR):
        catalog = app({
            "tools/a.py": IMPORTS + text + rest,
            "tools/b.py": IMPORTS + "@workflow_tool\ndef fine(): ...\n",
        })  # fmt: skip
    assert list(catalog.workflow_tools) == ["fine"]
    assert set(catalog.unloaded) - {"f"} == {"probe", "other"}
    assert catalog.unloaded["probe"].startswith(reason)
    assert any(reason in warning for warning in catalog.warnings)
    assert "tools/a.py does not import" in caplog.text
    assert "hunter2" not in caplog.text + str(catalog)


def test_the_names_of_a_broken_file_are_found_by_an_alias_too(app):
    text = "from workflow_runtime.skills import workflow_tool as wt\nimport workflow_runtime as w\n"
    catalog = app(
        {"tools/a.py": text + "1/0\n@wt\ndef one(): ...\n@w.workflow_tool\ndef two(): ..."}
    )
    assert list(catalog.unloaded) == ["one", "two"]


def test_a_file_that_is_no_text_does_not_stop_the_app(app, tmp_path):
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "a.py").write_bytes(b"\xff\xfe\x00")
    assert any("tools/a.py" in warning for warning in app({}).warnings)


def test_one_tool_that_cannot_be_described_costs_only_itself(app):
    catalog = app({
        "tools/a.py": IMPORTS
        + "@workflow_tool\ndef one(a: 'Nothing'): ...\n@workflow_tool\ndef two(): ...\n",
    })  # fmt: skip
    assert list(catalog.workflow_tools) == ["two"]
    assert catalog.unloaded["one"].startswith("tools/a.py: tool 'one': an annotation")


@pytest.mark.parametrize("decorator", ["tool", "workflow_tool"])
def test_a_tool_named_like_a_management_tool_stops_the_start(app, decorator):
    with pytest.raises(ConfigurationError, match=r"tools/a\.py: no tool .* 'start_workflow'"):
        app({"tools/a.py": IMPORTS + f"@{decorator}(name='start_workflow')\ndef f(): ...\n"})


def test_two_tools_of_one_name_stop_the_start_naming_both_files(app):
    text = IMPORTS + "@{}\ndef fetch(): ...\n"
    with pytest.raises(ConfigurationError, match=r"skills/tools/a\.py and tools/b\.py .*'fetch'"):
        app({"skills/tools/a.py": text.format("tool"), "tools/b.py": text.format("workflow_tool")})


def test_undecorated_functions_are_listed_once(app):
    catalog = app({
        "tools/a.py": IMPORTS + "from json import dumps\ndef helper(): ...\ndef _own(): ...\n",
        "tools/b.py": IMPORTS + "class Thing: ...\ndef other(): ...\n@tool\ndef t(): ...\n",
    })  # fmt: skip
    (warning,) = (w for w in catalog.warnings if "are no tools" in w)
    assert warning.endswith("tools/a.py: helper; tools/b.py: other")
