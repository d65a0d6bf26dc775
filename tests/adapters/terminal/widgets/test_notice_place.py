"""Notices stay within the transcript, however small it is."""

from pathlib import Path

import pytest
from textual.geometry import Region
from textual.widgets._toast import Toast

from tests.adapters.terminal.running import Chat, approval, began, called, chatting, speaker
from tests.fakes.scripted_client import ScriptedClient

pytestmark = pytest.mark.timeout(60)
SIZES = ((30, 8), (40, 10), (66, 14), (80, 24), (120, 30), (180, 50))
NOTICE = "Notice 3 says something of a usual length, and then a little more than that."


def painted(chat: Chat) -> list[Region]:
    """The parts of the notices that are seen."""
    seen = chat.screen._compositor.visible_widgets.items()
    parts = [region.intersection(clip) for each, (region, clip) in seen if isinstance(each, Toast)]
    return [part for part in parts if part]


async def test_no_notice_covers_a_request_or_the_draft_at_any_size(tmp_path: Path):
    client = ScriptedClient()
    thread = client.add_thread("Old")
    arguments = '{"command": "rm -r build", "why": "it is old"}'
    await client.happen(
        thread,
        began("go"),
        speaker("helper"),
        called("helper", "c", "shell", arguments),
        approval("helper", "r", "shell", arguments, call="c"),
    )
    async with chatting(client, tmp_path, size=SIZES[0]) as chat:
        await chat.until(lambda: chat.card.display)
        for size in (*SIZES, *SIZES[::-1]):
            await chat.pilot.resize_terminal(*size)
            await chat.until(lambda: chat.text())
            for number in range(4):
                chat.app.notify(NOTICE.replace("3", f"{number}"), markup=False)
            await chat.until_shown("Notice 3 says")
            assert painted(chat)
            below = [chat.card.region, chat.composer.region]
            assert [one for one in painted(chat) if any(map(one.overlaps, below))] == []
            chat.app.clear_notifications()
            await chat.until(lambda: not painted(chat))


async def test_a_request_that_comes_later_cuts_the_notices(tmp_path: Path):
    client = ScriptedClient()
    thread = client.add_thread("Old")
    await client.happen(thread, began("go"), speaker("helper"))
    async with chatting(client, tmp_path, size=(40, 12)) as chat:
        for number in range(4):
            chat.app.notify(NOTICE.replace("3", f"{number}"), markup=False)
        await chat.until_shown("Notice 3 says")
        await chat.happen(
            called("helper", "c", "shell"), approval("helper", "r", "shell", call="c")
        )
        await chat.until_shown("asks to run shell")
        assert not any(one.overlaps(chat.card.region) for one in painted(chat))
