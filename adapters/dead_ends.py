"""Direct word, once, to people who can't be answered where they asked.

Who was told is known to this process alone. After a restart nobody is told again of what was given
up before: only who asks once more, where that still can't be answered.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from math import inf
from typing import NamedTuple, Protocol

from adapters.bounded_cache import BoundedCache
from gateway.adapter import TELL_AGAIN, AuthError, Health
from gateway.base.clock import Clock, WallClock, sleep
from gateway.conversation import ConversationKey
from gateway.errors import GatewayError
from gateway.surface import Obstacle, PlatformUnreachable, RateLimited

LOG = logging.getLogger("adapters")

REMEMBERED = 10_000
LONGEST_WAIT = 60.0
"""Seconds that a platform may ask to wait for one such message."""

DEAD_END = "I can't answer you in {place}: {why}"


class DirectMessages(Protocol):
    """A platform's way to people beside the place where they asked."""

    why: Mapping[Obstacle, str]
    """Why nothing can be written there and what to do, in the platform's words."""

    def mention(self, key: ConversationKey) -> str:
        """The place as a link that tells strangers nothing."""
        ...

    async def send(self, key: ConversationKey, person: str, text: str) -> None:
        """Send to a person (Author.id) of a conversation a text of ours.

        Raises CallRejected where they take no direct messages.
        """
        ...


class _Told(NamedTuple):
    obstacle: Obstacle
    at: float
    until: float = inf


class DeadEnds:
    """Tells people, each once for a place and an obstacle.

    After something was written there, they are told anew, but not within an hour.
    """

    def __init__(
        self,
        health: Health,
        platform: str,
        direct: DirectMessages,
        clock: Clock | None = None,
    ) -> None:
        self._health = health
        self._people = f"{platform}:"
        self._direct = direct
        self._clock = clock or WallClock()
        self._told = BoundedCache[ConversationKey, dict[str, _Told]](REMEMBERED)

    async def tell(self, key: ConversationKey, person: str, obstacle: Obstacle) -> None:
        """Tell a person that they can't be answered there.

        To be called for people who may use the bot. Best effort: raises nothing but AuthError.
        """
        place, now = _place(key, obstacle), self._clock.time()
        self._told.put(place, told := self._told.get(place) or {})
        before = told.get(person)
        knows = before and before.obstacle == obstacle and now < before.until
        if knows or not person.startswith(self._people):
            return
        told[person] = _Told(obstacle, now)
        text = DEAD_END.format(place=self._direct.mention(key), why=self._direct.why[obstacle])
        try:
            await self._try(key, person, text)
        except AuthError:
            raise
        except (PlatformUnreachable, RateLimited) as error:
            told.pop(person, None)
            self._note_untold(error)
        except GatewayError as error:
            told[person] = _Told(obstacle, now, now + TELL_AGAIN)  # they may take messages then
            self._note_untold(error)
        else:
            self._health.count_dead_end("told")

    async def _try(self, key: ConversationKey, person: str, text: str) -> None:
        try:
            await self._direct.send(key, person, text)
        except RateLimited as error:
            await sleep(self._clock, min(error.retry_after, LONGEST_WAIT))
            await self._direct.send(key, person, text)

    def _note_untold(self, error: GatewayError) -> None:
        LOG.warning("somebody who can't be answered could not be told so directly: %s", error)
        self._health.count_dead_end("untold")

    def clear(self, key: ConversationKey) -> None:
        """Note that something was written there."""
        since = self._clock.time() - TELL_AGAIN
        for place in (key, _channel(key)):
            told = self._told.get(place) or {}
            for person in [each for each, last in told.items() if last.at <= since]:
                del told[person]


def _place(key: ConversationKey, obstacle: Obstacle) -> ConversationKey:
    """The thread where it is locked, else its whole channel."""
    return key if obstacle == "locked" else _channel(key)


def _channel(key: ConversationKey) -> ConversationKey:
    return ConversationKey(platform=key.platform, workspace=key.workspace, channel=key.channel)
