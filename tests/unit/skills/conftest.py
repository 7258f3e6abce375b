"""Small apps, written to a folder."""

from textwrap import dedent

import pytest

from workflow_runtime.skills import load_catalog


@pytest.fixture
def app(tmp_path):
    """Write files given as path=text, load the app."""

    def write(files):
        for path, text in files.items():
            target = tmp_path / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(dedent(text).lstrip("\n"), "utf-8")
        return load_catalog(tmp_path)

    return write


@pytest.fixture
def skill(app):
    """Load an app of one skill, `triage`, from lines of front matter."""

    def write(front_matter, **files):
        lines = dedent(front_matter).strip()
        text = f"---\ndescription: Triage.\n{lines}\n---\nDo it well.\n"
        others = {
            "skills/writer.agent.md": "---\ndescription: Writes.\n---\n",
            "skills/tools/tools.py": TOOLS,
        }
        return app({"skills/triage.agent.md": text, **others, **files})

    return write


TOOLS = """
    from workflow_runtime.skills import tool, workflow_tool

    @workflow_tool
    def fetch_logs(service: str) -> list[str]:
        '''Fetch logs.'''
        return [service]

    @workflow_tool
    def probe(args: dict):
        return args

    @tool
    def look_up(word: str) -> str:
        return word
"""
