"""Messages from the time when nobody listened."""

from __future__ import annotations

from pathlib import Path

import pytest

from adapters.slack.simulator.state import Message
from adapters.slack.testing import AppSettings, RenderedMessage, SlackSimulator, TooManyRequests
from gateway.app.operator import owner_status
from tests.adapters.slack.serving import served


async def away(slack: SlackSimulator, seconds: float) -> None:
    """Time goes by in which Slack gives up delivering."""
    for _ in range(4):
        slack.clock.advance(seconds / 4)


async def test_what_is_recent_becomes_one_message_of_each_author(tmp_path: Path) -> None:
    async with SlackSimulator(rates=False) as slack:
        ann, bob = slack.person("ann"), slack.person("bob")
        async with served(slack, tmp_path) as run:
            asked = await ann.asks("general", "hello")
            await run.taken(1)
            await run.until(lambda: slack.messages("general", asked)[1:])
            await run.until(lambda: run.gateway.store and slack.calls("auth.test"))
        await away(slack, 60)
        await ann.says("general", "first", thread=asked)
        await ann.says("general", "second", thread=asked)
        await bob.says("general", "not in a thread")
        other = await bob.asks("general", "a new one")
        await away(slack, 500)
        before = len(slack.deliveries)
        async with served(slack, tmp_path) as run:
            await run.taken(3)
            await run.until(lambda: slack.messages("general", other)[1:])
            texts = sorted(filter(None, await run.inbox("text")))
            assert texts == ["a new one", "first\n\nsecond", "hello"]
            for delivery in slack.deliveries[:before]:
                slack.repeat(delivery)  # what Slack delivers after all is taken for what it is
            await run.until(lambda: all(each.acked for each in slack.deliveries[before:]))
            assert len(await run.inbox()) == 3


async def test_what_is_old_is_offered_on_one_card(tmp_path: Path) -> None:
    async with SlackSimulator(rates=False) as slack:
        ann = slack.person("ann")
        async with served(slack, tmp_path) as run:
            asked = await ann.asks("general", "hello")
            await run.until(lambda: slack.messages("general", asked)[1:])
        await away(slack, 60)
        await ann.says("general", "are you there?", thread=asked)
        await ann.says("general", "please", thread=asked)
        await away(slack, 7200)
        async with served(slack, tmp_path) as run:
            shown = lambda: [  # noqa: E731
                each for each in slack.messages("general", asked) if "Answer now" in each.buttons
            ]
            await run.until(shown)
            assert "2 messages were written here" in shown()[0].text
            assert len(await run.inbox()) == 1
            card = shown()[0].ts
            eve = slack.person("eve", guest=True)
            slack.join("general", eve)
            await eve.clicks(card, "Answer now")
            await run.until(lambda: slack.private(eve))
            assert len(await run.inbox()) == 1
            await ann.clicks(card, "Answer now")
            await run.taken(2)
            await run.until(lambda: not shown())
            assert (await run.inbox("text"))[-1] == "are you there?\n\nplease"


@pytest.mark.parametrize("reason", ["first start", "short gap", "may not read"])
async def test_nothing_depends_on_what_can_be_read(tmp_path: Path, reason: str) -> None:
    async with SlackSimulator(rates=False) as slack:
        ann = slack.person("ann")
        if reason != "first start":
            async with served(slack, tmp_path) as run:
                asked = await ann.asks("general", "hello")
                await run.until(lambda: slack.messages("general", asked)[1:])
        if reason == "may not read":
            await away(slack, 600)
            slack.fail("conversations.history", TooManyRequests(retry_after=60), times=9)
            slack.fail("conversations.replies", TooManyRequests(retry_after=60), times=9)
        before = len(slack.calls("conversations.history") + slack.calls("conversations.replies"))
        async with served(slack, tmp_path) as run:
            again = await ann.asks("general", "and now?")
            await run.until(lambda: slack.messages("general", again)[1:])
            if reason == "may not read":
                await run.until(lambda: run.gateway.vitals.remarks)
                running, status = await owner_status(run.store)
                assert running
                assert "slack: after a pause, 2 conversations could not be read" in status
        reads = len(slack.calls("conversations.history") + slack.calls("conversations.replies"))
        assert reads - before <= (1 if reason == "may not read" else 0)


def offers(slack: SlackSimulator, thread: Message) -> list[RenderedMessage]:
    """The cards in a thread that offer an answer."""
    return [each for each in slack.messages("general", thread) if "Answer now" in each.buttons]


@pytest.mark.parametrize("ago", [400, 7200])
async def test_thirty_missed_messages_are_all_taken(tmp_path: Path, ago: int) -> None:
    async with SlackSimulator(rates=False) as slack:
        ann = slack.person("ann")
        async with served(slack, tmp_path) as run:
            asked = await ann.asks("general", "hello")
            await run.until(lambda: slack.messages("general", asked)[1:])
        await away(slack, 60)
        for n in range(30):
            await ann.says("general", f"m{n}", thread=asked)
        await away(slack, ago)
        async with served(slack, tmp_path) as run:
            if ago > 900:
                await run.until(lambda: offers(slack, asked))
                (card,) = offers(slack, asked)
                assert "30 messages were written here" in card.text
                await ann.clicks(card.ts, "Answer now")
                await run.until(lambda: not offers(slack, asked))
            await run.taken(2)
            assert (await run.inbox("text"))[-1].split() == [f"m{n}" for n in range(30)]


async def test_a_card_says_how_many_of_what_was_missed_are_answered(tmp_path: Path) -> None:
    async with SlackSimulator(AppSettings(outside_marketplace=True), rates=False) as slack:
        ann = slack.person("ann")
        async with served(slack, tmp_path) as run:
            asked = await ann.asks("general", "hello")
            await run.until(lambda: slack.messages("general", asked)[1:])
        await away(slack, 60)
        for n in range(30):
            await ann.says("general", f"m{n}", thread=asked)
        await away(slack, 7200)
        slack.fail("conversations.replies", TooManyRequests(retry_after=0), skip=1)
        async with served(slack, tmp_path) as run:
            await run.until(lambda: offers(slack, asked))
            (card,) = offers(slack, asked)
            assert "at least 13 messages were written here" in card.text
            slack.fail("conversations.replies", TooManyRequests(retry_after=0), skip=1)
            await ann.clicks(card.ts, "Answer now")
            await run.taken(2)
            await run.until(lambda: "Should I continue?" in offers(slack, asked)[0].text)
            assert "14 messages were written here. I am answering" in offers(slack, asked)[0].text
            await ann.clicks(card.ts, "Answer now")
            await run.taken(3)
            await run.until(lambda: not offers(slack, asked))
            texts = [text.split() for text in (await run.inbox("text"))[-2:]]
            assert texts == [[f"m{n}" for n in range(14)], [f"m{n}" for n in range(14, 30)]]


async def test_missed_files_are_fetched_and_their_author_is_told_of_what_is_not(
    tmp_path: Path,
) -> None:
    async with SlackSimulator(rates=False) as slack:
        ann = slack.person("ann")
        async with served(slack, tmp_path) as run:
            asked = await ann.asks("general", "hello")
            await run.until(lambda: slack.messages("general", asked)[1:])
        await away(slack, 60)
        await ann.uploads("general", "plan.txt", b"buy bread", text="see", thread=asked)
        elsewhere = "https://evil.example/old.txt"
        await ann.uploads("general", "old.txt", b"", text="and", thread=asked, external=elsewhere)
        await away(slack, 400)
        async with served(slack, tmp_path) as run:
            told = "The file 'old.txt' did not reach the team: it is not stored in Slack."
            await run.until(lambda: told in str(slack.messages("general", asked)))
            await run.until(lambda: run.asked)
            assert "buy bread" in str(run.heard())
            assert "The file 'old.txt' did not get here" in str(run.heard())


async def test_what_slack_leaves_out_for_its_number_is_found_afterwards(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with SlackSimulator(rates=False) as slack, served(slack, tmp_path) as run:
        ann = slack.person("ann")
        asked = await ann.asks("general", "hello")
        await run.until(lambda: slack.messages("general", asked)[1:])
        await run.settled()
        slack.hold()
        slack.world.quota.most = 0
        await ann.says("general", "are you there?", thread=asked)
        await ann.says("general", "please", thread=asked)
        kinds = [each.payload["type"] for each in slack.unacknowledged]
        assert kinds == ["app_rate_limited"]
        slack.clock.advance(61)
        slack.release()
        await run.taken(2)
        assert (await run.inbox("text"))[-1] == "are you there?\n\nplease"
        assert "too many events in T0HOME" in caplog.text
