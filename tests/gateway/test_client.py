"""Threads as lists show them."""

from __future__ import annotations

from dataclasses import replace

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


def test_a_fork_of_a_platforms_thread_asks_and_says_who_reads_it() -> None:
    own = ThreadInfo(id="t", title="", team="a", state="idle", updated_at=0.0, platform="local")
    assert own.fork_asks == ""
    asks = replace(own, platform="slack", channel="C1").fork_asks
    assert "is on Slack." in asks
    assert "all who may open this store can read" in asks
    assert "people on Slack do not see the fork" in asks
