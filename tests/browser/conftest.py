"""Tests in a real Chromium: `make browser` installs one and runs them."""

import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.browser.site import Site, running_site

HERE = Path(__file__).parent
UNPACKED = HERE / "node_modules" / "chromium"
# Read before a test's clean environment hides it.
NAMED = os.environ.get("PARLEY_CHROMIUM") or (UNPACKED.exists() and str(UNPACKED))
CHROMIUM = str(NAMED or shutil.which("chromium") or "")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip them aloud where nobody asked, or without a browser."""
    named = [Path(each.partition("::")[0]).resolve() for each in config.args]
    asked_for = any(each == HERE or HERE in each.parents for each in named)
    for item in items:
        if HERE not in item.path.parents or item.path.stem == "test_lock":
            continue
        item.add_marker(pytest.mark.timeout(60))
        if not asked_for:
            item.add_marker(pytest.mark.skip(reason="in a browser: `make browser` runs them"))
        elif not CHROMIUM and not os.environ.get("CI"):
            item.add_marker(pytest.mark.skip(reason="in a browser: there is no Chromium"))


@pytest.fixture(autouse=True)
def chromium(monkeypatch: pytest.MonkeyPatch) -> None:
    """Name the browser; a test fails if it is missing."""
    monkeypatch.setenv("PARLEY_CHROMIUM", CHROMIUM or "/nowhere/chromium")


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with running_site() as running:
        yield running
