"""Progress marks as Slack's reactions (https://docs.slack.dev/reference/methods/reactions.add)."""

from __future__ import annotations

from collections.abc import Mapping

from adapters.progress import Marked, Progress
from adapters.slack.connection.rate_limits import UNREACT
from adapters.slack.outbound.paced_calls import PacedCalls
from gateway.pacing.limits import Rank

EMOJI: Mapping[Progress, str] = {
    "seen": "eyes",
    "working": "hourglass_flowing_sand",
    "done": "white_check_mark",
}


async def react(calls: PacedCalls, marked: Marked, progress: Progress, adds: bool) -> None:
    """Add a reaction, or take it off. Raises the errors of calls."""
    await calls.write(
        marked.place,
        "reactions.add" if adds else UNREACT,
        rank=Rank.LATER,
        channel=marked.place.key.channel,
        timestamp=marked.message,
        name=EMOJI[progress],
    )
