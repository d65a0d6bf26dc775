"""Kills, pauses and redeliveries leave each message one outcome."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chaos.campaign.report import Results, explain, table
from tests.chaos.campaign.run import PLATFORMS, PlatformName, run_campaign

RESULTS = Path(__file__).parents[2] / "campaign.jsonl"
"""The soak's results: it goes on at the first seed that is not there. Delete it to begin anew."""
SEEDS = (0, 1, 2)
SOAKED = 50


@pytest.mark.chaos
@pytest.mark.timeout(240)
@pytest.mark.parametrize(
    ("seed", "platform"),
    [
        pytest.param(seed, platform, marks=() if platform == chosen else pytest.mark.nightly)
        for seed, chosen in zip(SEEDS, ("slack", "slack", "discord"), strict=True)
        for platform in PLATFORMS
    ],
)
async def test_after_every_pause_each_message_has_exactly_one_outcome(
    seed: int, platform: PlatformName, tmp_path: Path
) -> None:
    result = await run_campaign(seed, platform, tmp_path)
    assert result.line.correct, explain(result.line, result.trace)


@pytest.mark.soak
@pytest.mark.timeout(300)
@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("seed", range(SOAKED))
async def test_fifty_seeds_of_longer_campaigns(
    seed: int, platform: PlatformName, tmp_path: Path
) -> None:
    results = Results(RESULTS)
    if not results.is_done(seed, platform, long=True):
        result = await run_campaign(seed, platform, tmp_path, long=True)
        results.add(result.line)
        assert result.line.correct, explain(result.line, result.trace)
    print(table(results.lines()))  # noqa: T201 (for the closing note)
