"""Cards that offer answers to missed messages."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from gateway.backfill.missed_messages import MissedMessages
from gateway.backfill.offers import CANT_READ, MISSED, NOTHING, REST, Offers, Pending
from gateway.conversation import Author, InboundMessage
from gateway.history import OfferCard, Page
from gateway.missed import DAY, OpenGap
from gateway.surface import CallRejected, PlatformUnreachable, RateLimited
from tests.fakes.rooms import Line, RoomHistory, Rooms, ServedRooms, room, serving

THREAD = room("lobby", "1")
HOURS = 7200.0


async def click(run: ServedRooms, card: Line) -> str:
    offered = OfferCard(place=card.key, id=card.id, first=card.first, key=card.key)
    clicked = InboundMessage(key=card.key, author=Author(id="rooms:ann"))
    return await run.backfill.answer(offered, clicked)


def old(*texts: str, **more) -> Rooms:
    rooms = Rooms(**more)
    for text in texts:
        rooms.say(THREAD, text)
    rooms.clock.advance(HOURS)
    return rooms


async def test_a_thread_has_one_card_at_its_end_that_answers_all(tmp_path: Path) -> None:
    rooms, said = (
        old("one", "two", "three", "four", "five"),
        ["one", "two", "three", "four", "five"],
    )
    async with serving(rooms, tmp_path) as run:
        await run.note(THREAD)
        assert await run.caught_up() == {"offer": 5}
        (card,) = rooms.cards
        assert card.text == MISSED.format(count="5 messages were")
        assert await run.heard() == []
        assert await click(run, card) == ""
        assert await run.heard() == said
        assert card.text == "I was away when 5 messages were written here. I am answering now."
        assert await click(run, replace(card, first=rooms.lines[0].id)) == NOTHING


async def test_a_page_that_is_read_again_posts_no_second_card(tmp_path: Path) -> None:
    rooms = old("one", "two", "three")
    for _ in range(2):
        async with serving(rooms, tmp_path) as run:
            for _ in range(2):
                await run.note(THREAD)
                await run.caught_up()
    assert len(rooms.cards) == 1


async def test_a_card_hides_nothing_that_was_written_before_what_it_offers(tmp_path: Path) -> None:
    rooms = old("one", "two")
    async with serving(rooms, tmp_path) as run:
        await run.note(THREAD, since=1001.0)
        await run.caught_up()
        await run.note(THREAD)
        await run.caught_up()
        assert [card.first for card in rooms.cards] == [rooms.lines[1].id, rooms.lines[0].id]
        assert rooms.cards[1].text == MISSED.format(count="2 messages were")


async def test_a_root_that_is_met_in_its_channel_and_in_its_thread_has_one_card(
    tmp_path: Path,
) -> None:
    rooms = old("one")
    gap = OpenGap(place=THREAD, since=0, until=1.0, returned=1.0, id=1)
    async with serving(rooms, tmp_path) as run:
        history = RoomHistory(rooms, run.gateway)
        offers = Offers(run.gateway, history, MissedMessages(run.gateway, history))
        async with asyncio.TaskGroup() as group:  # both have read before there was a card
            for count in (1, 3):
                pending = {THREAD: Pending(rooms.lines[0].id, count)}
                group.create_task(offers.post(gap, Page(), pending))
    assert len(rooms.cards) == 1


@pytest.mark.parametrize("error", [PlatformUnreachable("away"), RateLimited(5)], ids=repr)
async def test_a_card_that_could_not_be_posted_covers_nothing(
    tmp_path: Path, error: Exception
) -> None:
    rooms = old("one", faults={"offer": [error]})
    async with serving(rooms, tmp_path) as run:
        await run.note(THREAD)
        await run.until(lambda: not rooms.faults["offer"])
        await run.until(lambda: rooms.clock.advance(1) or rooms.cards)
        assert await run.caught_up() == {"offer": 1}


async def test_a_refused_card_is_counted_and_said(tmp_path: Path) -> None:
    rooms = old("one", faults={"offer": [CallRejected("archived")]})
    async with serving(rooms, tmp_path) as run:
        await run.note(THREAD)
        assert await run.caught_up() == {"refused": 1}
        assert "an answer could not be offered: archived" in str(run.gateway.vitals.remarks)


async def test_what_is_too_old_for_a_card_is_counted(tmp_path: Path) -> None:
    rooms = old("one")
    rooms.clock.advance(8 * DAY)
    async with serving(rooms, tmp_path) as run:
        await run.note(THREAD)
        assert await run.caught_up() == {"too_old": 1}
        assert rooms.cards == []


async def test_a_card_goes_on_where_it_could_not_be_read(tmp_path: Path) -> None:
    rooms, away = old("one", "two", "three"), PlatformUnreachable("away")
    async with serving(rooms, tmp_path) as run:
        await run.note(THREAD)
        await run.caught_up()
        (card,) = rooms.cards
        rooms.faults["offered"] = [away]
        assert await click(run, card) == CANT_READ
        rooms.faults["three"] = [away]
        assert await click(run, card) == ""
        assert card.text.endswith(REST)
        assert await run.heard() == ["one", "two"]
        assert await click(run, card) == ""
        assert await run.heard() == ["one", "two", "three"]
