"""Cards that offer answers to missed messages."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from adapters.slack.connection.web_api import Calls
from adapters.slack.inbound.missed_messages import MissedMessages
from adapters.slack.testing import ServerError
from gateway.surface import OutcomeUnknown
from tests.adapters.slack.desk import Desk

UNUSED: Any = None


def missed_of(desk: Desk) -> MissedMessages:
    calls = Calls(desk.clients)
    return MissedMessages(UNUSED, calls, UNUSED, UNUSED, UNUSED, UNUSED, desk.slack.clock)


async def test_a_root_that_is_met_in_its_channel_and_in_its_thread_has_one_card(
    desk: Desk,
) -> None:
    missed, first = missed_of(desk), desk.asked.ts
    async with asyncio.TaskGroup() as group:  # both have read before there was a card
        offers = [group.create_task(missed.offer(desk.place.key, first, count)) for count in (1, 3)]
    assert [each.result() for each in offers] == ["offer", "offer"]
    assert len(desk.messages()) == 1
    assert await missed.offer(desk.place.key, first, 2) == "offer"
    assert len(desk.messages()) == 1


async def test_what_an_earlier_card_does_not_cover_has_one_of_its_own(desk: Desk) -> None:
    missed = missed_of(desk)
    reply = await desk.slack.person("alice").says("general", "well?", thread=desk.asked)
    assert await missed.offer(desk.place.key, reply.ts, 1) == "offer"
    assert await missed.offer(desk.place.key, desk.asked.ts, 1) == "offer"  # before it
    other = await desk.thread()
    assert await missed.offer(other.key, other.key.root, 1) == "offer"
    later = await desk.slack.person("alice").says("general", "still?", thread=desk.asked)
    assert await missed.offer(desk.place.key, later.ts, 1) == "offer"  # of another pause
    assert len(desk.slack.calls("chat.postMessage")) == 4


async def test_a_card_that_could_not_be_posted_covers_nothing(desk: Desk) -> None:
    missed = missed_of(desk)
    desk.slack.fail("chat.postMessage", ServerError())
    with pytest.raises(OutcomeUnknown):
        await missed.offer(desk.place.key, desk.asked.ts, 1)
    assert desk.messages() == []
    assert await missed.offer(desk.place.key, desk.asked.ts, 1) == "offer"
    assert len(desk.messages()) == 1
