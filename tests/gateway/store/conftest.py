"""Fixtures for tests of stores."""

import pytest


@pytest.fixture
def database() -> None:
    """The database of the run; a second one comes with its driver."""
