"""Web API calls per answer."""

from collections import Counter
from pathlib import Path

import pytest

from adapters.slack.testing import SlackSimulator
from tests.adapters.slack.desk import advancing
from tests.adapters.slack.running import one, running

TOKENS = 1000
TEXT = " ".join(f"word{n}" for n in range(TOKENS))


@pytest.mark.chaos
@pytest.mark.parametrize(("per_second", "most"), [(50, 36), (200, 14)])
async def test_calls_for_a_thousand_tokens(tmp_path: Path, per_second: int, most: int) -> None:
    """One start, one stop, two statuses, and an append per 0.7 s."""
    async with (
        SlackSimulator() as slack,
        running(slack, tmp_path, lambda: one(slack.clock, TEXT, pause=1 / per_second)) as run,
        advancing(slack, 1 / per_second),
    ):
        asked = await run.ask("alice", "write it")
        await slack.until(lambda: run.finished(asked), within=40)
        made = Counter(call.method for call in slack.calls())
    assert made["chat.startStream"] == made["chat.stopStream"] == 1
    assert made["chat.update"] == 0
    assert made["agents.sessions.setStatus"] == 2
    assert made.total() - made["auth.test"] <= most, made


async def test_streams_share_the_appends_and_stay_below_the_tier(tmp_path: Path) -> None:
    async with (
        SlackSimulator() as slack,
        running(slack, tmp_path, lambda: one(slack.clock, TEXT[:2000], pause=0.2)) as run,
    ):
        asked = [await run.ask("alice", f"write {n}") for n in range(12)]
        async with advancing(slack, 0.02):  # however long the store takes, they begin together
            await slack.until(lambda: len(slack.calls("chat.startStream")) == 12)
        begun = len(slack.calls())
        async with advancing(slack, 0.2):
            await slack.until(lambda: all(map(run.finished, asked)), within=40)
        assert len(slack.calls("chat.appendStream")) > 60
        assert not [call for call in slack.calls() if call.error]
        calls = slack.calls()[begun:]
    over = next(n for n, call in enumerate(calls) if call.method == "chat.stopStream")
    appends = [call for call in calls[:over] if call.method == "chat.appendStream"]
    shares = Counter(call.arguments["ts"] for call in appends)
    assert len(shares) == 12
    assert max(shares.values()) <= min(shares.values()) + 2
