"""A platform's history, and the backfill that reads it.

An adapter reads a page of a place, completes what is for the team, and writes cards. What
is read when, what is answered, offered or left, and what "Answer now" does is the gateway's.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import field
from typing import Generic, Protocol, TypeVar

from gateway.base.clock import Clock, WallClock
from gateway.client import Receipt
from gateway.conversation import ConversationKey, InboundMessage, RecentMessage, order_key
from gateway.errors import GatewayError, NotFound
from gateway.missed import Gap, KnownPlace, MissedRules, OpenGap
from gateway.surface import CallRejected
from gateway.values import value

Said = TypeVar("Said")
"""A message as its adapter has read it."""


@value
class Found(Generic[Said]):
    """A message on a page, with its id and time.

    `edited` is when it was changed last; 0 where it was not, or where the adapter looks itself.
    """

    key: ConversationKey
    id: str
    at: float
    said: Said
    edited: float = 0.0

    @property
    def dedupe(self) -> str:
        """The key under which it is taken."""
        return self.key.dedupe("create", self.id)


UNPOSTED = "9" * 20
"""The id of a card that is to be posted, behind all others."""


@value
class OfferCard:
    """A card that offers a conversation's messages from `first` on.

    It stands at `place`. Without a key, its conversation can't be told; its id is UNPOSTED until it
    is posted.
    """

    place: ConversationKey
    id: str
    first: str
    key: ConversationKey | None = None

    def covers(self, key: ConversationKey, message: str) -> bool:
        """True if it offers an answer to a message."""
        if self.key is None or message == self.first:
            return message == self.first
        begin, end = order_key(self.first), order_key(self.id)
        return self.key == key and begin <= order_key(message) < end


@value
class Page(Generic[Said]):
    """A page of messages and cards, in the order of writing.

    `cursor` is where the next page begins, None after the last one. `newest` is of what is left,
    None for no change. `further` are other places in which something was said, with the time.
    """

    said: Sequence[Found[Said] | OfferCard] = ()
    cursor: str | None = None
    newest: float | None = None
    further: Mapping[ConversationKey, float] = field(default_factory=dict["ConversationKey", float])


@value
class Redelivery:
    """Seconds in which a platform delivers again what met no connection.

    `worth`: without a connection for so long, it is looked for what was missed at once. `given_up`:
    after so long it may have given up. `whole`: so long without a gap, it has tried again.
    """

    worth: float = 20.0
    given_up: float = 0.0
    whole: float = 0.0


class PlatformHistory(ABC, Generic[Said]):
    """A platform's history, as an account sees it.

    Calls that must not be made now raise RateLimited, and are made again after its seconds.
    """

    at_once = 1
    """Places of a kind that are read at a time, in each workspace."""

    def __init__(self, account: str, clock: Clock | None = None) -> None:
        self.account = account
        self.clock = clock or WallClock()

    def workspaces(self) -> Sequence[str]:
        """The workspaces whose gaps are read."""
        return ("",)

    @abstractmethod
    async def read_page(self, gap: OpenGap) -> Page[Said]:
        """Read the page at a gap's cursor. Raises GatewayError."""

    @abstractmethod
    async def prepare(self, found: Found[Said], *, joined: bool) -> InboundMessage | None:
        """The message, judged or not, if it is for the team.

        `joined`: the team is going to be in its conversation. Raises GatewayError.
        """

    async def edit(self, found: Found[Said]) -> InboundMessage | None:
        """Edit of a taken message, if the team is to know it."""
        return None

    async def complete(self, message: InboundMessage, said: Said, *, first: bool) -> InboundMessage:
        """The whole message; the `first` one has its history."""
        return message

    async def tell(self, message: InboundMessage, said: Said, receipt: Receipt) -> None:
        """Note that a message was taken, and send its reply."""

    async def cards(self, gap: OpenGap) -> Sequence[OfferCard]:
        """Cards of a place that no page of the gap shows."""
        return ()

    async def offer(self, card: OfferCard, key: ConversationKey, text: str) -> str:
        """Post a conversation's card with the button "Answer now"; its id."""
        raise CallRejected("There are no cards here.")

    async def offered(self, card: OfferCard, cursor: str) -> Page[Said]:
        """A page of what a card offers. Raises GatewayError."""
        raise NotFound("There are no cards here.")

    async def settle(self, card: OfferCard, text: str, *, rest: str = "") -> None:
        """Change a used card's text; it offers what is behind `rest`."""

    def is_final(self, error: GatewayError) -> bool:
        """True if the platform will refuse the same again."""
        return isinstance(error, CallRejected | NotFound)

    def reading(self, place: ConversationKey) -> AbstractAsyncContextManager[object]:
        """A guard of a place while a page is taken."""
        return nullcontext()


class Pauses(Protocol):
    """The times for which a platform that delivers again was not connected."""

    looks: bool
    """This node looks for what was missed, as far as it knows."""

    async def run(self, is_open: Callable[[], bool]) -> None:
        """Note pauses, and how long all was heard, until cancelled."""
        ...

    def connected(self) -> None:
        """Note that a connection was made."""
        ...

    def cut(self) -> None:
        """Note that the last connection was lost."""
        ...

    def failed(self, at: float | None = None) -> None:
        """Note that something of this time, or now, was not stored."""
        ...

    async def note_lost(self, place: ConversationKey, at: float) -> None:
        """Have a place read from a message that failed on.

        Raises GatewayError.
        """
        ...

    async def leave_out(self, since: float, until: float) -> None:
        """Note that the platform drops a time. Raises GatewayError."""
        ...


class Backfill(Protocol):
    """The reader of an account's missed messages."""

    account: str
    """Its name in [adapters]."""

    @property
    def rules(self) -> MissedRules:
        """The ages up to which missed messages are answered or offered."""
        ...

    def pauses(self, redelivery: Redelivery) -> Pauses:
        """The pauses of a platform that tells none itself."""
        ...

    async def run(self) -> None:
        """Read until cancelled, one node at a time. Raises AuthError."""
        ...

    async def note(self, gaps: Sequence[Gap], marks: Mapping[str, str] | None = None) -> None:
        """Add gaps, and set marks in the same step.

        So what was not known at a mark is in the list once the mark has moved. A gap of a place
        that is in the list is merged with what is not begun of it. Raises GatewayError.
        """
        ...

    async def unread(self, *, limit: int) -> list[OpenGap]:
        """Places with a root that are to be read. Raises GatewayError."""
        ...

    async def known_channels(self, workspace: str) -> list[KnownPlace]:
        """The channels of a workspace in which there are threads.

        `used` is 0 for those that were not used lately.
        """
        ...

    async def known_threads(
        self, place: ConversationKey, *, before: str, limit: int
    ) -> list[KnownPlace]:
        """Threads of a channel with roots below `before`, the greatest first.

        All of them if that is "".
        """
        ...

    async def recent_messages(self, workspace: str, since: float) -> list[RecentMessage]:
        """The newest messages of a workspace's threads that were used since then."""
        ...

    async def answer(self, card: OfferCard, clicked: InboundMessage) -> str:
        """Answer what a card offers; the reply, "" if it says it.

        Raises GatewayError if it may be answered later.
        """
        ...
