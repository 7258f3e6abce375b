import pytest

from workflow_runtime.engine import CancelRequested


@pytest.fixture
def cancel():
    return CancelRequested("enough")
