"""Progress marks as Slack's reactions (https://docs.slack.dev/reference/methods/reactions.add)."""

from __future__ import annotations

from collections.abc import Mapping

from adapters.progress import Marked, Progress
from adapters.slack.connection.web_api import Calls

GAP = 3.2
"""Seconds between two changes: reactions.remove is of tier 2, 20 calls a minute."""
EMOJI: Mapping[Progress, str] = {
    "seen": "eyes",
    "working": "hourglass_flowing_sand",
    "done": "white_check_mark",
}


async def react(calls: Calls, marked: Marked, progress: Progress, adds: bool) -> None:
    """Add a reaction, or take it off. Raises the errors of calls."""
    method = "reactions.add" if adds else "reactions.remove"
    team, name = marked.key.workspace, EMOJI[progress]
    await calls.write(team, method, channel=marked.channel, timestamp=marked.message, name=name)
