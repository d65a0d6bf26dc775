"""Progress marks as Discord's reactions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import quote

from adapters.discord.connection.rest import Rest
from adapters.discord.conversations.threads import MessageTarget
from adapters.progress import Marked, Progress
from gateway.pacing.limits import Rank
from gateway.surface import Place

EMOJI: Mapping[Progress, str] = {
    "seen": "\U0001f440",
    "working": "\u23f3",
    "done": "\u2705",
}


async def react(
    rest: Rest,
    find: Callable[[Place], Awaitable[MessageTarget]],
    marked: Marked,
    progress: Progress,
    adds: bool,
) -> None:
    """Add a reaction, or take it off. Raises the errors of calls."""
    key = marked.place.key  # the first message stands above its thread
    channel = key.channel if marked.message == key.root else (await find(marked.place)).channel
    path = f"/channels/{channel}/messages/{marked.message}/reactions"
    method = "PUT" if adds else "DELETE"
    await rest.call(method, f"{path}/{quote(EMOJI[progress])}/@me", rank=Rank.LATER)
