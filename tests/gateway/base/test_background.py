"""Imports and other work beside a running event loop."""

import gc
import sys
import threading
from pathlib import Path

import pytest

from gateway.base.background import SWITCH, USUAL, import_in_background, in_background


def state() -> tuple[bool, float, bool]:
    """Where the caller runs, and what it may be held up by."""
    here = threading.current_thread() is threading.main_thread()
    return here, sys.getswitchinterval(), gc.isenabled()


async def test_the_work_is_done_elsewhere_and_gives_way_meanwhile():
    assert await in_background(state) == (False, pytest.approx(SWITCH), False)
    assert state() == (True, pytest.approx(USUAL), True)


async def test_a_failure_is_the_callers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    (tmp_path / "broken_for_the_background.py").write_text("1 / 0")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ZeroDivisionError):
        await import_in_background("pathlib", "broken_for_the_background")
    assert state() == (True, pytest.approx(USUAL), True)
