"""Fixtures for tests of the gateway."""

import sys
from collections.abc import Iterator

import pytest

from teams.kinds import OTHERS


@pytest.fixture
def fresh_imports(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Forget modules that the test's config imports, and their import path.

    Those of tests that did not, too.
    """
    monkeypatch.setattr(sys, "path", [*sys.path])
    _forget_imports()
    yield
    _forget_imports()


_KEPT: set[str] = set()
"""Names of modules that are nobody's: there are thousands."""
_LEFT: list[tuple[int, str]] = []
"""Number and newest of the modules that were left: another newest one is imported since."""


def _forget_imports() -> None:
    OTHERS.clear()
    if [(len(sys.modules), next(reversed(sys.modules)))] == _LEFT:
        return
    for name in sys.modules.keys() - _KEPT:
        if "pytest-of-" in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]
        else:
            _KEPT.add(name)
    _LEFT[:] = [(len(sys.modules), next(reversed(sys.modules)))]


@pytest.fixture
def told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tell at once who is held at the start."""
    from gateway.sessions import dispatcher
    from gateway.store.postgres import node_operations, taking
    from gateway.store.units import acceptance, claims

    for module in (dispatcher, node_operations, taking, acceptance, claims):
        monkeypatch.setattr(module, "TOLD_AFTER", 0.0)
