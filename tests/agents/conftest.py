"""Fixtures of the tests of chats."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.agents.fakes import NOW, FakeWorkflows, write_app
from workflow_runtime.agents.chat import Chat
from workflow_runtime.agents.models import Models
from workflow_runtime.agents.sessions import SessionStore
from workflow_runtime.execution import ToolPool
from workflow_runtime.skills import load_catalog


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
