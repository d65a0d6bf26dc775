"""Rates of platforms that all nodes keep together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from gateway.values import value

if TYPE_CHECKING:
    import asyncio

LIFE = 0.25
"""Seconds for which drawn tokens are good: with a node that dies, no more than that is lost."""


@value
class RateLimit:
    """A bucket of `burst` tokens, filled with `per_minute` of them."""

    name: str
    per_minute: float
    burst: float

    @property
    def portion(self) -> int:
        """The most tokens that are drawn at once: those of their life."""
        return max(1, int(min(self.per_minute * LIFE / 60, self.burst)))


@value
class DrawnTokens:
    """Tokens that this node may use now."""

    tokens: int
    wait: float
    """Seconds until there is one to draw; 0 if there were some."""
    level: float
    """Tokens that are left for everybody."""


class SharedRate(Protocol):
    """A rate of a platform, kept with the other nodes."""

    @property
    def is_shared(self) -> bool:
        """True while there are other nodes; else nobody need be asked."""
        ...

    def draw(self, most: int, *, reserve: float = 0.0) -> asyncio.Future[DrawnTokens]:
        """Draw up to a portion, and leave `reserve` in the bucket.

        Tokens are good for LIFE seconds from the call on, and at once when they come. It never
        fails: without an answer of the store there are none.
        """
        ...

    def close(self, seconds: float) -> None:
        """Let no node draw for so long: the platform refused a call."""
        ...
