"""The work list of what was missed, read to its end."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.errors import StoreUnreachable
from gateway.surface import CallRejected, PlatformUnreachable, RateLimited
from tests.fakes.rooms import Rooms, room, serving


async def test_pages_are_read_in_order_until_nothing_is_left(tmp_path: Path) -> None:
    rooms, said = Rooms(), [f"m{n}" for n in range(5)]
    for text in said:
        rooms.say(room("lobby"), text)
    async with serving(rooms, tmp_path) as run:
        await run.note(room(""))
        assert await run.caught_up() == {"answer": 5}
        assert await run.heard() == said
        await run.note(room("lobby"))
        await run.caught_up()
        assert await run.heard() == said


@pytest.mark.parametrize(
    "error",
    [PlatformUnreachable("away"), RateLimited(20), ValueError("no JSON"), StoreUnreachable("away")],
    ids=repr,
)
async def test_what_fails_holds_up_nobody_and_is_read_later(
    tmp_path: Path, error: Exception
) -> None:
    rooms = Rooms(faults={"broken": [error] * 3})
    rooms.say(room("broken"), "later")
    rooms.say(room("lobby"), "now")
    async with serving(rooms, tmp_path) as run:
        await run.note(room("broken"), room("lobby"))
        await run.until(lambda: rooms.reads.count("lobby") == 1 and rooms.reads.count("broken"))
        await run.until(lambda: rooms.clock.advance(1) or rooms.reads.count("broken") == 4)
        await run.caught_up()
        assert await run.heard() == ["now", "later"]


async def test_a_place_that_refuses_for_good_is_left_and_said(tmp_path: Path) -> None:
    rooms = Rooms(faults={"secret": [CallRejected("no access")]})
    rooms.say(room("secret"), "unheard")
    async with serving(rooms, tmp_path) as run:
        await run.note(room("secret"))
        assert not await run.caught_up()
        (remark,) = run.gateway.vitals.remarks
        assert remark == "rooms: after a pause, channel secret can't be read: no access"
