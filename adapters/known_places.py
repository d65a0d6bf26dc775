"""Names of channels, told to the gateway when new or changed."""

from __future__ import annotations

from contextlib import suppress

from gateway.adapter import AdapterHost
from gateway.conversation import ConversationKey, Place, place_mark
from gateway.errors import GatewayError


class KnownPlaces:
    """Places that the gateway has been told of by this run."""

    def __init__(self, host: AdapterHost) -> None:
        self._host = host
        self._told: dict[str, Place] = {}

    async def tell(self, key: ConversationKey, place: Place) -> None:
        """Keep the place of a conversation, unless it is kept already.

        It is only a name: where it can't be stored, the id stands for it.
        """
        mark = place_mark(key)
        if self._told.get(mark) != place:
            with suppress(GatewayError):
                await self._host.marks.keep(key.platform, mark, place.dump())
                self._told[mark] = place
