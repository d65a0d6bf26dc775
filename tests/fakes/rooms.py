"""A platform of rooms whose history is a list."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from gateway.access.authority import Access, Admission
from gateway.app.stores import AnyStore
from gateway.backfill.work_list import WorkList
from gateway.client import Receipt
from gateway.conversation import Author, ConversationKey, InboundMessage, order_key
from gateway.gateway import Gateway
from gateway.history import Found, OfferCard, Page, PlatformHistory
from gateway.missed import Gap, OpenGap
from gateway.store.units import gaps
from tests.fakes.hand_clock import HandClock
from tests.fakes.new_store import new_store
from tests.gateway.scripted import ScriptedTeams, solo

PAGE = 2
ANN, BOT = "rooms:ann", "rooms:bot"


def room(name: str, root: str = "") -> ConversationKey:
    """The place of a room, or of one of its threads."""
    return ConversationKey(platform="rooms", channel=name, root=root)


@dataclass
class Line:
    """A line that somebody said, or a card."""

    key: ConversationKey
    id: str
    text: str
    author: str
    first: str = ""
    edited: float = 0.0


@dataclass
class Rooms:
    """The platform: what was said there, and which calls it refuses."""

    clock: HandClock = field(default_factory=HandClock)
    lines: list[Line] = field(default_factory=list)
    faults: dict[str, list[Exception]] = field(default_factory=dict)
    """Errors of the next calls, by a room's name, or "offer"."""
    reads: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)

    def say(self, key: ConversationKey, text: str, *, first: str = "") -> Line:
        """Write something now."""
        id_, author = f"{self.clock.time():.0f}{len(self.lines):04}", BOT if first else ANN
        line = Line(key, id_, text, author, first)
        self.lines.append(line)
        if not first:
            self.clock.advance(1)
        return line

    def fail(self, what: str) -> None:
        """Raise the next planned error of a call."""
        if errors := self.faults.get(what):
            raise errors.pop(0)

    @property
    def cards(self) -> list[Line]:
        """The cards that stand there."""
        return [line for line in self.lines if line.first]


class RoomHistory(PlatformHistory[Line]):
    """Reads the rooms."""

    def __init__(self, rooms: Rooms, gateway: Gateway) -> None:
        super().__init__("rooms", rooms.clock)
        self.rooms = rooms
        self._gateway = gateway

    async def read_page(self, gap: OpenGap) -> Page[Line]:
        """Two lines of a place, or the list of rooms."""
        self.rooms.reads.append(gap.place.channel)
        self.rooms.fail(gap.place.channel)
        if not gap.place.channel:
            return Page(further={line.key: 0.0 for line in self.rooms.lines})
        return self._page(gap.place, gap.cursor, gap.since)

    def _page(self, place: ConversationKey, cursor: str, since: float) -> Page[Line]:
        after = cursor or f"{max(since, 0):.0f}0000"
        said = [
            line
            for line in self.rooms.lines
            if line.key == place
            and order_key(line.id) > order_key(after)
            and (line.first or line.author != BOT)
        ]
        cards_and_lines: Sequence[Found[Line] | OfferCard] = [
            OfferCard(place=place, id=line.id, first=line.first, key=line.key)
            if line.first
            else Found(
                key=line.key, id=line.id, at=float(line.id[:-4]), said=line, edited=line.edited
            )
            for line in said[:PAGE]
        ]
        return Page(said=cards_and_lines, cursor=said[PAGE - 1].id if len(said) > PAGE else None)

    async def prepare(self, found: Found[Line], *, joined: bool) -> InboundMessage | None:
        """Everything is for the team."""
        self.rooms.fail(found.said.text)
        message = InboundMessage(
            key=found.key,
            author=Author(id=found.said.author),
            text=found.said.text,
            dedupe=(found.dedupe,),
            message_id=found.id,
            order_key=order_key(found.id),
            at=found.at,
        )
        return await self._gateway.judge(message)

    async def edit(self, found: Found[Line]) -> InboundMessage | None:
        """Everything is."""
        self.rooms.fail(found.said.text)
        message = await self.prepare(found, joined=True)
        dedupe = (found.key.dedupe("edit", found.id, str(found.edited)),)
        return message and replace(message, event="edit", dedupe=dedupe)

    async def tell(self, message: InboundMessage, said: Line, receipt: Receipt) -> None:
        """Note what its author is told."""
        self.rooms.told += [receipt.reply] * bool(receipt.reply)

    async def offer(self, card: OfferCard, key: ConversationKey, text: str) -> str:
        """Post a card."""
        self.rooms.fail("offer")
        await asyncio.sleep(0)
        return self.rooms.say(key, text, first=card.first).id

    async def offered(self, card: OfferCard, cursor: str) -> Page[Line]:
        """Lines from a card's first message on."""
        self.rooms.fail("offered")
        return self._page(card.place, cursor or str(int(card.first) - 1), 0.0)

    async def settle(self, card: OfferCard, text: str, *, rest: str = "") -> None:
        """Say that it was used."""
        (line,) = (line for line in self.rooms.lines if line.id == card.id)
        line.text, line.first = text, rest and str(int(rest) + 1)


class Everybody(Access):
    """Lets in everybody."""

    def judge(self, message):
        return Admission()


@dataclass
class ServedRooms:
    """A process that reads the rooms."""

    rooms: Rooms
    gateway: Gateway
    store: AnyStore
    backfill: WorkList[Line]

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait until something holds."""
        async with asyncio.timeout(10):
            while not condition():  # noqa: ASYNC110 (a model that is asked tells nobody)
                await asyncio.sleep(0.002)

    async def note(self, *places: ConversationKey, since: float = 0.0) -> None:
        """Add gaps that end now."""
        now = self.rooms.clock.time()
        await self.backfill.note(
            [Gap(place=each, since=since, until=now, newest=now) for each in places]
        )

    async def caught_up(self) -> Counter[str]:
        """Wait until nothing is left to read; what was found."""
        async with asyncio.timeout(10):
            while (await self.gateway.store.run(gaps.missed_counts)).unread:  # noqa: ASYNC110 (a store tells nobody)
                await asyncio.sleep(0.002)
        return Counter((await self.gateway.store.run(gaps.missed_counts)).found)

    async def heard(self) -> list[str]:
        """The texts that were taken."""
        return await self.store.write(
            lambda c: [row[0] for row in c.fetch("SELECT text FROM inbox ORDER BY id")]
        )


@asynccontextmanager
async def serving(rooms: Rooms, folder: Path) -> AsyncGenerator[ServedRooms]:
    """A gateway that reads the rooms, until the context ends."""
    teams = ScriptedTeams(lambda: solo(*["fine"] * 30))
    store = new_store(folder)
    async with (
        Gateway(store, teams, access=Everybody(), clock=rooms.clock.time) as gateway,
        asyncio.TaskGroup() as group,
    ):
        backfill = gateway.backfill(RoomHistory(rooms, gateway))
        running = group.create_task(backfill.run(), name="backfill")
        try:
            yield ServedRooms(rooms, gateway, store, backfill)
        finally:
            running.cancel()
