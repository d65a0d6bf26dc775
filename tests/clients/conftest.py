"""Clients in JavaScript: they run where `make clients` has installed them."""

from pathlib import Path

import pytest

from tests.clients.node_program import INSTALLED, NODE

HERE = Path(__file__).parent
ABSENT = "there is no Node.js" if NODE is None else "`make clients` has not installed them"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the clients that can't run, aloud, and give the others time."""
    for item in items:
        if HERE not in item.path.parents:
            continue
        item.add_marker(pytest.mark.timeout(120))
        if item.path.stem != "test_lock" and (NODE is None or not INSTALLED):
            item.add_marker(pytest.mark.skip(reason=f"clients in JavaScript: {ABSENT}"))
