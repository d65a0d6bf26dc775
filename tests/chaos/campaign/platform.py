"""A chat platform as a campaign uses it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from tests.chaos.campaign.plan import Say, Trouble

FILE = b"what lies in the file\n"
OFFER = "Answer now"
"""The button of a card that offers an answer."""
CONTINUE = "Continue"
"""The button of a notice that a turn was not gone on with."""


@dataclass(frozen=True, slots=True)
class Post:
    """A message of the bot as people see it, in its thread."""

    place: str
    text: str
    buttons: tuple[str, ...] = ()
    private: bool = False
    """True if one person alone sees it."""
    id: str = ""


class Platform(Protocol):
    """One simulated platform. Messages are known by their numbers."""

    name: str

    @property
    def settings(self) -> str:
        """The adapter's table and its routes, as TOML."""
        ...

    @property
    def activity(self) -> int:
        """A number that grows with each call, event and connection."""
        ...

    @property
    def connected(self) -> bool:
        """True while the process can be told what happens."""
        ...

    @property
    def gone(self) -> bool:
        """True once nothing is left of a process's connections."""
        ...

    @property
    def told(self) -> bool:
        """True if every event was acknowledged, or given up."""
        ...

    async def say(self, said: Say, text: str, *, patience: float) -> bool:
        """Write; False if its thread does not come in time."""
        ...

    async def edit(self, n: int, text: str) -> None:
        """Change a message."""
        ...

    async def delete(self, n: int) -> None:
        """Delete a message."""
        ...

    async def press(self, place: str, person: str, button: str) -> bool:
        """Press the last such button; False if there is none."""
        ...

    def told_first(self, n: int) -> bool:
        """True if the creation may have been heard before the deletion."""
        ...

    def comes_later(self, n: int) -> bool:
        """True if a message will be told only after some time."""
        ...

    def message_id(self, n: int) -> str:
        """The platform's id of a message."""
        ...

    def person_of(self, author: str) -> str:
        """The name of a person whom the gateway knows by this id."""
        ...

    def place_of(self, n: int) -> str:
        """The place in which a message has to be answered."""
        ...

    def posts(self) -> list[Post]:
        """Everything that the bot's messages say now."""
        ...

    def calls(self) -> Sequence[object]:
        """All requests to the platform."""
        ...

    def advance(self, seconds: float) -> None:
        """Move the platform's time on."""
        ...

    def disturb(self, how: Trouble, times: int) -> None:
        """Disturb some of the next calls that write; earlier disturbances end."""
        ...

    def freeze(self) -> None:
        """Know that the process stands still, and its connections do not."""
        ...

    def sever(self, dice: random.Random) -> None:
        """Cut the connections, and let nobody in."""
        ...

    @property
    def turned_away(self) -> bool:
        """True once somebody has tried to connect since."""
        ...

    def mend(self) -> None:
        """Let the process connect again."""
        ...

    def redeliver(self, dice: random.Random) -> None:
        """Send what was sent before once more, as this platform does."""
        ...
