"""A simulated workspace, and the surface that writes to it with the real SDK."""

from collections.abc import AsyncGenerator

import pytest

from tests.adapters.slack_out.desk import Desk, at_desk


@pytest.fixture
async def desk() -> AsyncGenerator[Desk]:
    async with at_desk() as desk:
        yield desk
