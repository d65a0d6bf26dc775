"""Tests in a real Chromium: `make browser` installs one and runs them."""

import os
import shutil
from collections.abc import AsyncIterator
from functools import cache
from pathlib import Path

import pytest

from tests.browser.site import Site, running_site

HERE = Path(__file__).parent
UNPACKED = HERE / "node_modules" / "chromium"
# Read before a test's clean environment hides it.
NAMED = os.environ.get("PARLEY_CHROMIUM") or (UNPACKED.exists() and str(UNPACKED))
CHROMIUM = str(NAMED or shutil.which("chromium") or "")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Skip it aloud where nobody asked, or without a browser."""
    if item.path.stem == "test_lock":
        return
    item.add_marker(pytest.mark.timeout(60))
    if not _is_asked_for(*item.config.args):
        item.add_marker(pytest.mark.skip(reason="in a browser: `make browser` runs them"))
    elif not CHROMIUM and not os.environ.get("CI"):
        item.add_marker(pytest.mark.skip(reason="in a browser: there is no Chromium"))


@cache
def _is_asked_for(*arguments: str) -> bool:
    return any(Path(each.partition("::")[0]).resolve().is_relative_to(HERE) for each in arguments)


@pytest.fixture(autouse=True)
def chromium(monkeypatch: pytest.MonkeyPatch) -> None:
    """Name the browser; a test fails if it is missing."""
    monkeypatch.setenv("PARLEY_CHROMIUM", CHROMIUM or "/nowhere/chromium")


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with running_site() as running:
        yield running
