import pytest

from tests.hub.support import HandWorker, sdk_client
from workflow_runtime.hosts.local.hub import SqliteTaskHub


@pytest.fixture
async def hub(tmp_path):
    async with await SqliteTaskHub.open(tmp_path) as opened:
        yield opened


@pytest.fixture
async def worker(hub):
    by_hand = HandWorker(hub)
    yield by_hand
    await by_hand.close()


@pytest.fixture
async def client(hub):
    async with sdk_client(hub) as opened:
        yield opened
