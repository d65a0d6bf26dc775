"""Redis with search, started once per process of the test run."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.redis_server import running_redis


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder: Path = tmp_path_factory.mktemp("redis")
    with running_redis(folder) as url:
        yield url
