"""Cards that offer answers are known again by their button."""

from __future__ import annotations

from adapters.slack.connection.web_api import Calls
from adapters.slack.inbound.missed_cards import before, card_blocks, card_of, find_card
from tests.adapters.slack.desk import Desk


async def test_a_card_that_was_posted_offers_what_it_was_posted_for(desk: Desk) -> None:
    key, first, calls = desk.place.key, desk.asked.ts, Calls(desk.clients)
    text, blocks = "Should I answer now?", card_blocks("Should I answer now?", before(first))
    posted = await calls.write(
        key.workspace,
        "chat.postMessage",
        channel=key.channel,
        thread_ts=key.root,
        text=text,
        blocks=blocks,
    )
    ts = str(posted["ts"])
    said = await calls.read(
        key.workspace, "conversations.replies", channel=key.channel, ts=key.root
    )
    (found,) = filter(None, (find_card(each, key) for each in said["messages"]))
    assert (found.id, found.first) == (ts, first)
    assert found == card_of(key, ts, before(first))
    told, where = "I am answering now.", {"channel": key.channel, "ts": ts}
    blocks = card_blocks(told, "")
    await calls.write(key.workspace, "chat.update", **where, text=told, blocks=blocks)
    assert [each.buttons for each in desk.messages()] == [()]
    assert desk.texts == ["I am answering now."]
