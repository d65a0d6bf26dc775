"""A simulated workspace and its surface, on the real SDK."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.adapters.slack_out.desk import Desk, at_desk

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Raise time limits, which are for hangs and not for slow machines."""
    for item in items:
        if HERE in item.path.parents and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(60))


@pytest.fixture
async def desk() -> AsyncGenerator[Desk]:
    async with at_desk() as desk:
        yield desk
