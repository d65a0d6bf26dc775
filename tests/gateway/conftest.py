"""Fixtures for tests of the gateway."""

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture
def fresh_imports(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Forget modules that the test's config imports, and their import path."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    known = {*sys.modules}
    yield
    for name, module in [*sys.modules.items()]:
        if name not in known and "pytest-of-" in str(getattr(module, "__file__", "")):
            del sys.modules[name]
