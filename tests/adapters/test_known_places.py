"""Places, told once, and again where they were not stored."""

from __future__ import annotations

from typing import Any

from adapters.known_places import KnownPlaces
from gateway.conversation import ConversationKey, Place
from gateway.errors import StoreFull

KEY = ConversationKey(platform="slack", workspace="T1", channel="C1", root="1.0")


class Host:
    def __init__(self) -> None:
        self.told: list[str] = []
        self.full = True

    @property
    def marks(self) -> Host:
        return self

    async def keep(self, platform: str, name: str, value: str) -> None:
        self.told.append(value)
        if self.full:
            raise StoreFull


async def test_a_place_that_was_not_stored_is_told_again_and_a_stored_one_is_not() -> None:
    host: Any = Host()
    places, place = KnownPlaces(host), Place(name="#general", members=2)
    await places.tell(KEY, place)
    host.full = False
    await places.tell(KEY, place)
    await places.tell(KEY, place)
    assert host.told == [place.dump()] * 2
    await places.tell(KEY, Place(name="#new", members=2))
    assert len(host.told) == 3
