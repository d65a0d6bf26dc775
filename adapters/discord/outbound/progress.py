"""Progress marks as Discord's reactions."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

from adapters.discord.connection.rest import Rest
from adapters.progress import Marked, Progress
from gateway.pacing.limits import Rank

GAP = 1.0
"""Seconds between two changes, each of an addition and a removal."""
EMOJI: Mapping[Progress, str] = {
    "seen": "\U0001f440",
    "working": "\u23f3",
    "done": "\u2705",
}


async def react(rest: Rest, marked: Marked, progress: Progress, adds: bool) -> None:
    """Add a reaction, or take it off. Raises the errors of calls."""
    path = f"/channels/{marked.channel}/messages/{marked.message}/reactions"
    method = "PUT" if adds else "DELETE"
    await rest.call(method, f"{path}/{quote(EMOJI[progress])}/@me", rank=Rank.LATER)
