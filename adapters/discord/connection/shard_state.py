"""State of a shard that the next node goes on from.

Discord calls its connections shards.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from gateway.missed import CURSOR

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

    def marks(self, shard: int, shards: int, bot: str = "") -> dict[str, str]:
        """The marks of the shard's times and of the bot's session."""
        session = {**asdict(self.session), "bot": bot} if self.session is not None else {}
        return {
            name_of(shard, shards): json.dumps({"heard": self.heard, "owed": dict(self.owed)}),
            _cursor_of(shard, shards): json.dumps(session),
        }


def name_of(shard: int, shards: int) -> str:
    """The name of a shard's mark; its lease begins with the platform."""
    return f"shard {shard} of {shards}"


def _cursor_of(shard: int, shards: int) -> str:
    return f"{CURSOR}{name_of(shard, shards)}"


def find_state(
    marks: Mapping[str, str], shard: int, shards: int, now: float, bot: str = ""
) -> ShardState:
    """The state that the last holder of a shard has left.

    The session of another bot, or with other intents, is not gone on with.
    With another number of shards than last time, everything is read from the earliest time on.
    Before the very first run there is nothing that could have been missed.
    """
    if (text := marks.get(name_of(shard, shards))) is not None:
        session = _session(marks.get(_cursor_of(shard, shards), "{}"), bot)
        return replace(_times(json.loads(text)), session=session)
    earlier = [
        _times(json.loads(value))
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


def _times(found: Mapping[str, Any]) -> ShardState:
    owed = {str(guild): float(at) for guild, at in found["owed"].items()}
    return ShardState(heard=float(found["heard"]), owed=owed)


def _session(text: str, bot: str) -> ShardSession | None:
    found = json.loads(text)
    if not found or found["bot"] != bot:
        return None
    return ShardSession(
        id=str(found["id"]), address=str(found["address"]), sequence=int(found["sequence"])
    )
