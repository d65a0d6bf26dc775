"""Events of Slack that come late, again or out of order.

Docs: https://docs.slack.dev/apis/events-api#retries (three retries: at once, after one minute and
after five) and https://docs.slack.dev/apis/events-api (no order is promised).
"""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from adapters.slack.simulator.state import Message
from adapters.slack.testing import Delay, SlackSimulator
from gateway.conversation import ConversationKey
from tests.adapters.slack.serving import ServedSlack, served


async def texts(run: ServedSlack) -> list[tuple[str, str, str]]:
    """All that was taken, with its outcome and foreign text."""
    outcomes, taken, quotes = [await run.inbox(name) for name in ("outcome", "text", "quotes")]
    return list(zip(taken, outcomes, quotes, strict=True))


async def newest_first(slack: SlackSimulator) -> None:
    """Send the newest held delivery, then all of them."""
    slack.world.deliveries.held = False
    await slack.repeat(slack.deliveries[-1]).answered()
    slack.release()


async def test_a_mention_that_a_later_one_overtook_is_taken_before_it(tmp_path: Path) -> None:
    async with SlackSimulator(rates=False) as slack, served(slack, tmp_path) as run:
        ann = slack.person("ann")
        slack.hold()
        root = await ann.asks("general", "the first")
        await slack.person("bob").says("general", "in between", thread=root)
        await ann.asks("general", "the second", thread=root)
        slack.release(backwards=True)
        await run.accepted(3)
        await run.settled()
        await run.until(lambda: run.asked == 3)
        await run.all_begun()
        assert await texts(run) == [
            ("the first", "turn", "[]"),
            ("in between", "turn", "[]"),
            ("the second", "turn", "[]"),
        ]
        assert "foreign" not in str(run.heard())


async def test_a_reply_that_came_before_its_threads_first_mention_is_taken_after_it(
    tmp_path: Path,
) -> None:
    async with SlackSimulator(rates=False) as slack, served(slack, tmp_path) as run:
        ann = slack.person("ann")
        slack.hold()
        root = await ann.asks("general", "the first")
        await ann.says("general", "and one more thing", thread=root)
        slack.clock.advance(60)
        slack.release(backwards=True)
        await run.accepted(2)
        await run.settled()
        await run.until(lambda: run.asked == 2)
        assert [text for text, _, _ in await texts(run)] == ["the first", "and one more thing"]


@pytest.mark.parametrize("where", ["direct", "mention", "thread"])
async def test_an_edit_that_comes_before_its_message_is_what_is_taken(
    tmp_path: Path, where: str
) -> None:
    async with SlackSimulator(rates=False) as slack, served(slack, tmp_path) as run:
        ann = slack.person("ann")
        before: list[str] = []
        ways: dict[str, Callable[[], Awaitable[Message]]] = {}
        if where == "thread":
            root = await ann.asks("general", "begin")
            await run.until(lambda: run.asked == 1)
            before = ["begin"]
            ways["thread"] = lambda: ann.says("general", "old words", thread=root)
        ways["direct"] = lambda: ann.tells("old words")
        ways["mention"] = lambda: ann.asks("general", "old words")
        await run.settled()
        slack.hold()
        said = await ways[where]()
        mention = slack.bot.mention if where == "mention" else ""
        await ann.edits(said, f"{mention} new words".strip())
        await newest_first(slack)
        await run.settled()
        await run.until(lambda: run.asked == len(before) + 1)
        taken = [text for text, outcome, _ in await texts(run) if outcome == "turn"]
        assert taken == [*before, "new words"]


@pytest.mark.parametrize("where", ["direct", "mention"])
async def test_what_was_deleted_before_it_came_is_not_taken(tmp_path: Path, where: str) -> None:
    async with SlackSimulator(rates=False) as slack, served(slack, tmp_path) as run:
        ann = slack.person("ann")
        slack.hold()
        said = await (ann.tells("oops") if where == "direct" else ann.asks("general", "oops"))
        await ann.deletes(said)
        await newest_first(slack)
        await run.settled()
        assert await texts(run) == [(None, "refused", "[]")]
        assert await run.inbox("reason") == ["deleted"]
        assert run.asked == 0


async def test_a_deletion_overtakes_its_message_that_is_still_looked_into(tmp_path: Path) -> None:
    async with SlackSimulator(rates=False) as slack, served(slack, tmp_path) as run:
        slack.fail("users.info", Delay(60))
        said = await slack.person("ann").tells("oops")
        await slack.until(lambda: any(call.fault for call in slack.calls("users.info")))
        await slack.person("ann").deletes(said)
        await slack.deliveries[-1].answered()
        slack.clock.advance(60)
        await slack.deliveries[-2].answered()
        assert await texts(run) == [(None, "refused", "[]")]
        assert await run.inbox("reason") == ["deleted"]


async def test_a_deletion_where_nobody_may_write_is_not_kept(tmp_path: Path) -> None:
    route = {"adapter": "slack", "channels": ["C0RANDOM"], "users": "members"}
    async with SlackSimulator(rates=False) as slack, served(slack, tmp_path, routes=[route]) as run:
        ann = slack.person("ann")
        for channel in ("general", "random"):
            await ann.deletes(await ann.says(channel, "oops"))
        await run.settled()
        kept = await run.store.write(
            lambda c: [row[0] for row in c.fetch("SELECT key FROM deleted")]
        )
    assert ["C0RANDOM" in key for key in kept] == [True]


async def test_an_edit_of_what_is_for_nobody_is_not_kept(tmp_path: Path) -> None:
    route = {"adapter": "slack", "channels": "*", "users": "members", "mention": "mention"}
    async with SlackSimulator(rates=False) as slack, served(slack, tmp_path, routes=[route]) as run:
        ann = slack.person("ann")
        root = await ann.asks("general", "begin")
        await run.until(lambda: run.asked == 1)
        said = await ann.says("general", "between us", thread=root)
        await ann.edits(said, "just between us")
        await run.settled()
        kept = await run.store.write(lambda c: c.fetch("SELECT text FROM early_edits"))
    assert list(kept) == []


async def test_what_was_deleted_here_comes_back_neither_late_nor_as_history(
    tmp_path: Path,
) -> None:
    async with SlackSimulator(rates=False) as slack, served(slack, tmp_path) as run:
        ann = slack.person("ann")
        root = await ann.says("general", "before the team came")
        asked = await ann.asks("general", "a secret", thread=root)
        await run.until(lambda: slack.messages("general", root)[2:])
        await run.settled()
        (key,) = await run.inbox("conversation")
        thread = await run.gateway.conversations.thread_at(ConversationKey.parse(key))
        assert thread is not None
        await run.gateway.client.delete_thread(thread.id)
        for delivery in list(slack.deliveries):
            if delivery.event.get("ts") == asked.ts:
                slack.repeat(delivery)
        await run.settled()
        await slack.person("bob").says("general", "after it was deleted", thread=root)
        await ann.asks("general", "again", thread=root)
        await run.until(lambda: run.asked == 2)
        (again,) = [each for each in await texts(run) if each[1] == "turn"]
        assert again[0] == "again"
        assert "after it was deleted" in again[2]
        assert "secret" not in again[2]
        assert "before the team came" not in again[2]
