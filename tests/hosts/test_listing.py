"""What a person sees of an app when the local host starts, and what `host.json` changes."""

import json

import pytest

from tests.hosts.toy_app import toy_app
from workflow_runtime.errors import ConfigurationError
from workflow_runtime.hosts.host_json import HostSettings, read_host_json
from workflow_runtime.hosts.local import listing
from workflow_runtime.hosts.local.functions_app import read_app


@pytest.fixture
def rows():
    return listing.rows(read_app(toy_app()), "http://127.0.0.1:7071", "api")


def test_http_functions_are_listed_with_method_and_url(rows):
    line = "\tassets: [GET] http://127.0.0.1:7071/api/toy/assets/{*rest}\n"
    assert line in listing.text(rows)


def test_other_functions_are_listed_with_their_trigger(rows):
    assert "\ttoy_workflow: orchestrationTrigger\n" in listing.text(rows)
    assert "\tshout: activityTrigger\n" in listing.text(rows)


def test_the_functions_of_the_sdk_itself_are_not_listed(rows):
    assert "BuiltIn" not in listing.text(rows)


def test_a_function_whose_trigger_this_host_lacks_is_listed_as_idle():
    app = toy_app()

    @app.timer_trigger(arg_name="timer", schedule="0 0 * * * *")
    def nightly(timer):
        return None

    text = listing.text(listing.rows(read_app(app), "", ""))
    assert "\tnightly: timerTrigger (the local host does not run it)" in text


def test_host_json_gives_prefix_and_limits(tmp_path):
    durable = {"maxConcurrentActivityFunctions": 4, "maxConcurrentOrchestratorFunctions": 2}
    extensions = {"http": {"routePrefix": ""}, "durableTask": durable}
    (tmp_path / "host.json").write_text(json.dumps({"version": "2.0", "extensions": extensions}))
    assert read_host_json(tmp_path / "host.json") == HostSettings(
        route_prefix="", orchestrators=2, activities=4
    )


def test_without_host_json_azures_prefix_holds(tmp_path):
    assert read_host_json(tmp_path / "host.json").route_prefix == "api"


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"extensions": []}',
        '{"extensions": {"http": {"routePrefix": 1}}}',
        '{"extensions": {"durableTask": {"maxConcurrentActivityFunctions": 0}}}',
    ],
)
def test_a_broken_host_json_is_one_clear_line(tmp_path, text):
    (tmp_path / "host.json").write_text(text)
    with pytest.raises(ConfigurationError, match=r"host\.json: "):
        read_host_json(tmp_path / "host.json")
