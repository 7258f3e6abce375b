"""What a deployment consists of: the files .funcignore lets through, the pins, the host files."""

import json
import os
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from pathspec import GitIgnoreSpec

ROOT = Path(__file__).resolve().parents[2]


def deployed(root: Path) -> set[str]:
    """The files under `root` that a publish would upload, as paths with forward slashes."""
    spec = GitIgnoreSpec.from_lines((ROOT / ".funcignore").read_text().splitlines())
    return set(_walk(root, root, spec))


def _walk(folder: Path, root: Path, spec: GitIgnoreSpec) -> Iterator[str]:
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        path = Path(entry).relative_to(root).as_posix()
        if entry.is_dir(follow_symlinks=False):
            if not spec.match_file(f"{path}/"):
                yield from _walk(Path(entry), root, spec)
        elif not spec.match_file(path):
            yield path


def test_the_app_its_skills_and_its_packages_are_deployed() -> None:
    files = deployed(ROOT)
    assert {
        "function_app.py",
        "host.json",
        "requirements.txt",
        "constraints.txt",
        "workflow_runtime/__init__.py",
        "skills/incident_triage.agent.md",
    } <= files


@pytest.mark.parametrize("package", ["workflow_runtime", "skills"])
def test_every_file_of_a_package_is_deployed_with_pages_and_prompts(package: str) -> None:
    source = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert source
    assert source <= deployed(ROOT)


@pytest.mark.parametrize(
    "path",
    [
        "extra.agent.md",
        "agents/helper.agent.md",
        "tools/probe.py",
        "mcp.json",
        "skills/tools/scripts/probe.py",
        "workflow_runtime/web/page/docs/help.html",
    ],
)
def test_a_file_that_an_app_may_add_is_deployed(tmp_path: Path, path: str) -> None:
    _write(tmp_path, path)
    assert deployed(tmp_path) == {path}


@pytest.mark.parametrize(
    "path",
    [
        ".ci/run",
        ".env",
        ".env.production",
        ".git/config",
        ".venv/bin/python",
        ".workflow_runtime/hub.sqlite",
        "__azurite_db_blob__.json",
        "CHANGELOG.md",
        "Makefile",
        "README.md",
        "bench/fan_out.py",
        "docs/development.md",
        "examples/incident.json",
        "local.settings.json",
        "pyproject.toml",
        "requirements-dev.txt",
        "scripts/setup",
        "skills/tools/__pycache__/evidence.cpython-313.pyc",
        "tests/conftest.py",
        "workflow_runtime.egg-info/PKG-INFO",
    ],
)
def test_secrets_state_and_what_only_developers_use_stay_out(tmp_path: Path, path: str) -> None:
    _write(tmp_path, path)
    assert deployed(tmp_path) == set()


def test_the_local_settings_of_a_developer_are_never_committed() -> None:
    spec = GitIgnoreSpec.from_lines((ROOT / ".gitignore").read_text().splitlines())
    for path in ("local.settings.json", ".env", ".workflow_runtime/owner.key", ".venv/bin/python"):
        assert spec.match_file(path), path


def test_both_host_files_say_the_same_but_for_the_task_hub() -> None:
    storage, scheduler = _json("host.json"), _json("host.dts.json")
    hub, scheduler_hub = (
        host["extensions"]["durableTask"].pop("hubName") for host in (storage, scheduler)
    )
    provider = scheduler["extensions"]["durableTask"].pop("storageProvider")
    assert storage == scheduler
    assert hub == "WorkflowRuntime"
    assert scheduler_hub == "%TASKHUB_NAME%"
    assert provider["type"] == "azureManaged"


def test_the_host_serves_without_a_prefix_on_a_bundle_that_speaks_grpc() -> None:
    host = _json("host.json")
    assert host["extensions"]["http"]["routePrefix"] == ""
    assert host["extensionBundle"]["version"] == "[4.33.0, 5.0.0)"
    assert host["functionTimeout"]
    assert host["extensions"]["durableTask"]["maxConcurrentActivityFunctions"] > 0


def test_the_template_of_local_settings_holds_no_secret() -> None:
    values = _json("local.settings.json.template")["Values"]
    assert values["FUNCTIONS_WORKER_RUNTIME"] == "python"
    assert values["AzureWebJobsStorage"] == "UseDevelopmentStorage=true"
    assert values["AZURE_FUNCTIONS_DURABLE_STRICT_TYPING"] == "1"
    assert not any(value for name, value in values.items() if name.endswith(("_KEY", "_ENDPOINT")))


def test_what_a_deployment_installs_is_what_the_project_declares_and_pinned() -> None:
    lines = _requirements("requirements.txt")
    assert all(re.fullmatch(r"[A-Za-z0-9_.-]+==[A-Za-z0-9.]+", line) for line in lines)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert {_name(line) for line in lines} == {_name(line) for line in project["dependencies"]}


def test_every_pin_of_a_deployment_is_one_of_the_tested_closure() -> None:
    assert set(_requirements("requirements.txt")) <= set(_requirements("constraints.txt"))
    tested = {_name(line) for line in _requirements("constraints.txt")}
    assert {_name(line) for line in _requirements("requirements-dev.txt")} <= tested


def _requirements(name: str) -> list[str]:
    lines = (line.partition("#")[0].strip() for line in (ROOT / name).read_text().splitlines())
    return [line for line in lines if line and not line.startswith("-")]


def _name(requirement: str) -> str:
    return re.split(r"[=<>~! ]", requirement, maxsplit=1)[0].lower()


def _json(name: str) -> dict:
    return json.loads((ROOT / name).read_text())


def _write(root: Path, path: str) -> None:
    target = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("")
