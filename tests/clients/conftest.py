"""Clients in JavaScript: they run where `make clients` has installed them."""

import pytest

from tests.clients.node_program import INSTALLED, NODE

ABSENT = "there is no Node.js" if NODE is None else "`make clients` has not installed them"


def pytest_itemcollected(item: pytest.Item) -> None:
    """Skip a client that can't run, aloud, and give the others time."""
    item.add_marker(pytest.mark.timeout(120))
    if item.path.stem != "test_lock" and (NODE is None or not INSTALLED):
        item.add_marker(pytest.mark.skip(reason=f"clients in JavaScript: {ABSENT}"))
