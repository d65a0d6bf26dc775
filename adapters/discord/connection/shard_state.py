"""State of a shard that the next node goes on from.

Discord calls its connections shards.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

SEEN = "seen"
"""Mark of earlier versions: the times until which the shards had heard everything."""

DIRECT = ""
"""Direct messages, where servers have their ids."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardSession:
    """A session with Discord, and its last event in the store.

    Who has it and the bot's token is sent all later events at `address`.
    """

    id: str
    address: str
    sequence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardState:
    """Times until which everything was heard, and the session for the rest.

    They are seconds since the epoch; `owed` are those of servers that were not told of since then,
    and of DIRECT messages that were not looked for.
    """

    heard: float
    owed: Mapping[str, float] = field(default_factory=dict[str, float])
    session: ShardSession | None = None

    def as_text(self, bot: str = "") -> str:
        """The state as a mark; `bot` names the session's bot."""
        session = self.session
        shown: dict[str, Any] = {"heard": self.heard, "owed": dict(self.owed)}
        if session is not None:
            shown |= {
                "session": session.id,
                "address": session.address,
                "sequence": session.sequence,
                "bot": bot,
            }
        return json.dumps(shown)


def name_of(shard: int, shards: int) -> str:
    """The name of a shard's mark; its lease begins with the platform."""
    return f"shard {shard} of {shards}"


def find_state(
    marks: Mapping[str, str], shard: int, shards: int, now: float, bot: str = ""
) -> ShardState:
    """The state that the last holder of a shard has left.

    The session of another bot, or with other intents, is not gone on with.
    With another number of shards than last time, everything is read from the earliest time on.
    Before the very first run there is nothing that could have been missed.
    """
    if (text := marks.get(name_of(shard, shards))) is not None:
        return _parse(json.loads(text), bot)
    earlier = [
        _parse(json.loads(value), bot)
        for name, value in marks.items()
        if name.startswith("shard ") and not name.endswith(f" of {shards}")
    ]
    times = [min([each.heard, *each.owed.values()]) for each in earlier]
    if not times and (text := marks.get(SEEN)) is not None:
        found: float | list[float] = json.loads(text)
        times = found if isinstance(found, list) else [found]
        if len(times) == shards:
            return ShardState(heard=times[shard])
    return ShardState(heard=min(times, default=now))


def _parse(found: Mapping[str, Any], bot: str) -> ShardState:
    session = None
    if "session" in found and found["bot"] == bot:
        session = ShardSession(
            id=str(found["session"]), address=str(found["address"]), sequence=int(found["sequence"])
        )
    owed = {str(guild): float(at) for guild, at in found["owed"].items()}
    return ShardState(heard=float(found["heard"]), owed=owed, session=session)
