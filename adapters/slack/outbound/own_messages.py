"""Messages of ours: their ids, and posting and changing them whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from adapters.bounded_cache import BoundedCache
from adapters.slack.connection.rate_limits import DELETE, POST, UPDATE
from adapters.slack.outbound.blocks import Block, metadata
from adapters.slack.outbound.paced_calls import PacedCalls
from gateway.pacing.limits import Rank
from gateway.surface import Place

REMEMBERED = 10_000


class MessageRef(NamedTuple):
    """The place of a message in Slack."""

    team: str
    channel: str
    ts: str


class Messages:
    """Posts and updates whole messages.

    It remembers which messages are known not to be streams.
    """

    def __init__(self, calls: PacedCalls) -> None:
        self._calls = calls
        self._ours = BoundedCache[MessageRef, bool](REMEMBERED)

    def id_of(self, place: Place, channel: str, ts: str) -> str:
        """A message's id for the gateway.

        It names the channel where that is not the place's own, as for a person who is written to by
        their id.
        """
        return ts if channel == place.key.channel else f"{channel}:{ts}"

    def ref(self, place: Place, message: str) -> MessageRef:
        """The inverse of `id_of`."""
        channel, _, ts = message.rpartition(":")
        return MessageRef(place.key.workspace, channel or place.key.channel, ts)

    def is_ours(self, ref: MessageRef) -> bool:
        """True if this process knows that the message is whole."""
        return bool(self._ours.get(ref))

    def add(self, ref: MessageRef) -> None:
        """Remember that a message is whole and does not stream."""
        self._ours.put(ref, True)

    async def post(
        self,
        place: Place,
        key: str,
        *,
        blocks: Sequence[Block],
        text: str,
        rank: Rank = Rank.POST,
        looks: Mapping[str, str] | None = None,
    ) -> str:
        """Post a new message; its id.

        `looks` are the arguments for its name and icon.
        """
        arguments: dict[str, Any] = {
            "channel": place.key.channel,
            "thread_ts": place.key.root or None,
            "metadata": metadata(key),
            "text": text,
            "unfurl_links": False,
            "unfurl_media": False,
            **(looks or {}),
        }
        answer = await self._calls.write(place, POST, rank=rank, blocks=list(blocks), **arguments)
        ref = MessageRef(
            place.key.workspace, str(answer.get("channel") or place.key.channel), str(answer["ts"])
        )
        self.add(ref)
        return self.id_of(place, ref.channel, ref.ts)

    async def update(
        self, place: Place, ref: MessageRef, key: str, *, blocks: Sequence[Block], text: str
    ) -> None:
        """Change a message."""
        await self._calls.write(
            place,
            UPDATE,
            rank=Rank.URGENT,
            channel=ref.channel,
            ts=ref.ts,
            blocks=list(blocks),
            text=text,
            metadata=metadata(key),
        )

    async def delete(self, place: Place, ref: MessageRef) -> None:
        """Delete a message."""
        await self._calls.write(place, DELETE, rank=Rank.URGENT, channel=ref.channel, ts=ref.ts)
        self._ours.forget(ref)
