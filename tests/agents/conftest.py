"""Fixtures of the tests of chats."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.agents.fakes import NOW, FakeWorkflows, write_app
from tests.fake_openai import FakeOpenAI
from workflow_runtime import app as composition
from workflow_runtime.agents.chat import Chat
from workflow_runtime.agents.models import Models
from workflow_runtime.agents.sessions import SessionStore
from workflow_runtime.app import Parts
from workflow_runtime.execution import ToolPool
from workflow_runtime.settings import Settings
from workflow_runtime.skills import load_catalog

ROOT = Path(__file__).parents[2]


@pytest.fixture
def workflows() -> FakeWorkflows:
    return FakeWorkflows()


@pytest.fixture
def pool():
    pool = ToolPool(2)
    yield pool
    pool.close()


@pytest.fixture
def make_chat(tmp_path, pool) -> Callable[..., Chat]:
    """Make a chat over an app in a temporary directory; *files* are more skills, by slug."""

    def make(models: Models, *, catalog: Any = None, **files: str) -> Chat:
        return Chat(
            catalog=catalog or load_catalog(write_app(tmp_path, **files)),
            models=models,
            sessions=SessionStore(tmp_path / "sessions"),
            pool=pool,
            clock=lambda: NOW,
        )

    return make


@pytest.fixture
async def app_with(tmp_path, monkeypatch):
    """Make an app, by default the repository's, over a model server; it is closed at the end."""
    built: list[Parts] = []
    build = composition.build

    def build_and_keep(*given) -> Parts:
        built.append(build(*given))
        return built[-1]

    monkeypatch.setattr(composition, "build", build_and_keep)

    def make(server: FakeOpenAI, root: Path = ROOT):
        settings = Settings(
            data=tmp_path / "data",
            provider="openai",
            model="scripted",
            openai_api_key="sk-test",
            openai_base_url=server.url,
            owner_key="k" * 32,
        )
        return composition.create_function_app(root, settings=settings)

    make.parts = built  # type: ignore[attr-defined]
    yield make
    for parts in built:
        await parts.chat.close()
        await parts.models.close()
