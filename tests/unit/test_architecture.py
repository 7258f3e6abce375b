"""The rules of the architecture catch what they are there to catch.

`make check` holds the contracts over the real tree; here each is broken on purpose, in a copy,
since a rule that never fails proves nothing.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The packages and their contracts, free to be broken."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copytree(
        ROOT / "workflow_runtime",
        tmp_path / "workflow_runtime",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    return tmp_path


@pytest.mark.parametrize(
    ("module", "line", "contract"),
    [
        ("engine/offender", "import time", "The core"),
        ("engine/offender", "from durabletask import task", "The core"),
        ("plan/offender", "import os", "The core"),
        ("plan/offender", "from workflow_runtime import engine", "Dependencies point inwards"),
        ("web/offender", "from workflow_runtime import hosts", "Dependencies point inwards"),
        ("a_new_package", "", "Dependencies point inwards"),
        ("web/offender", "import azure.functions", "Azure and Durable"),
        ("execution/offender", "import openai", "Model SDKs"),
        ("skills/offender", "import mcp", "The SDK of MCP"),
        ("hosts/offender", "from workflow_runtime import settings", "Settings"),
    ],
)
def test_a_broken_contract_is_named(copy: Path, module: str, line: str, contract: str) -> None:
    (copy / "workflow_runtime" / f"{module}.py").write_text(f"{line}\n")
    found = subprocess.run(
        [BIN / "lint-imports", "--no-cache", "--no-logo"],
        cwd=copy,
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 1, found.stdout + found.stderr
    broken = [text for text in found.stdout.splitlines() if " BROKEN" in text]
    assert any(text.startswith(contract) for text in broken), found.stdout


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("workflow_runtime/service.py", "import os\n\nKEY = os.environ['KEY']\n"),
        ("workflow_runtime/hosts/durable.py", "import os\n\nKEY = os.getenv('KEY')\n"),
        (
            "workflow_runtime/engine/run.py",
            "from datetime import UTC, datetime\n\nNOW = datetime.now(UTC)\n",
        ),
    ],
)
def test_the_environment_and_the_clock_are_out_of_reach(path: str, code: str) -> None:
    assert "TID251" in _lint(path, code)


def test_only_settings_reads_the_environment() -> None:
    assert "TID251" not in _lint(
        "workflow_runtime/settings.py", "import os\n\nKEY = os.environ['KEY']\n"
    )


def _lint(path: str, code: str) -> str:
    return subprocess.run(
        [BIN / "ruff", "check", "--output-format=concise", f"--stdin-filename={path}", "-"],
        cwd=ROOT,
        input=code,
        capture_output=True,
        text=True,
        check=False,
    ).stdout
