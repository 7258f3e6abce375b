"""A pool of two threads, and what attempts share."""

import pytest

from tests.unit.execution.support import World
from workflow_runtime.execution import FileMarkers, ToolPool


@pytest.fixture
def pool():
    made = ToolPool(2)
    yield made
    made.close()


@pytest.fixture
def world(pool, tmp_path):
    return World(pool, FileMarkers(tmp_path / "markers"))
