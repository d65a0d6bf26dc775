"""Messages of ours: their ids, and posting and changing them whole."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from adapters.slack.outbound.blocks import Block, metadata
from adapters.slack.outbound.paced_calls import Sender
from adapters.slack.outbound.rate_limits import POST, UPDATE
from gateway.conversation import ConversationKey
from gateway.surface import Place

REMEMBERED = 10_000


class Spot(NamedTuple):
    """Where a message stands."""

    team: str
    channel: str
    ts: str


class Messages:
    """Posts and updates. It remembers which messages are known not to be streams."""

    def __init__(self, sender: Sender) -> None:
        self._sender = sender
        self._ours: OrderedDict[Spot, None] = OrderedDict()

    def id_of(self, place: Place, channel: str, ts: str) -> str:
        """A message's id for the gateway; it names the channel where that is not the place's own,
        as when somebody is written to by their id.
        """
        return ts if channel == place.key.channel else f"{channel}:{ts}"

    def spot(self, place: Place, message: str) -> Spot:
        """The inverse of `id_of`."""
        channel, _, ts = message.rpartition(":")
        return Spot(place.key.workspace, channel or place.key.channel, ts)

    def place_of(self, thread: str) -> Place:
        """The place of a thread, as text of its key."""
        return Place(key=ConversationKey.parse(thread), thread="")

    def is_ours(self, spot: Spot) -> bool:
        """Whether this process has seen that the message is whole."""
        return spot in self._ours

    def add(self, spot: Spot) -> None:
        """A message is whole, and does not stream."""
        self._ours[spot] = None
        self._ours.move_to_end(spot)
        while len(self._ours) > REMEMBERED:
            self._ours.popitem(last=False)

    async def post(
        self,
        place: Place,
        key: str,
        *,
        blocks: Sequence[Block],
        text: str,
        urgent: bool = False,
        looks: Mapping[str, str] | None = None,
    ) -> str:
        """Write a new message; its id. `looks` are the arguments for its name and icon."""
        arguments: dict[str, Any] = {
            "channel": place.key.channel,
            "thread_ts": place.key.root or None,
            "metadata": metadata(key),
            "text": text,
            "unfurl_links": False,
            "unfurl_media": False,
            **(looks or {}),
        }
        answer = await self._sender.write(
            place, POST, urgent=urgent, blocks=list(blocks), **arguments
        )
        spot = Spot(
            place.key.workspace, str(answer.get("channel") or place.key.channel), str(answer["ts"])
        )
        self.add(spot)
        return self.id_of(place, spot.channel, spot.ts)

    async def update(
        self, place: Place, spot: Spot, key: str, *, blocks: Sequence[Block], text: str
    ) -> None:
        """Let a message say something else."""
        await self._sender.write(
            place,
            UPDATE,
            urgent=True,
            channel=spot.channel,
            ts=spot.ts,
            blocks=list(blocks),
            text=text,
            metadata=metadata(key),
        )
