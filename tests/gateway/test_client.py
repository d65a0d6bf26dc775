"""Threads as lists show them."""

from __future__ import annotations

import pytest

from gateway.client import ThreadInfo, ThreadState


@pytest.mark.parametrize(
    ("state", "muted", "mentioned", "is_for_team"),
    [
        ("idle", False, False, True),
        ("idle", True, False, False),
        ("idle", True, True, True),
        ("waiting", True, False, True),
    ],
)
def test_a_muted_thread_hears_mentions_and_answers(
    state: ThreadState, muted: bool, mentioned: bool, is_for_team: bool
) -> None:
    thread = ThreadInfo(id="t", title="", team="a", state=state, updated_at=0.0, muted=muted)
    assert thread.is_for_team(mentioned=mentioned) is is_for_team
