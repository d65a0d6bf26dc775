"""Messages from the time when nobody listened."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from adapters.slack.simulator.settings import BOT_SCOPES
from adapters.slack.simulator.state import Message
from adapters.slack.testing import (
    AppSettings,
    Refusal,
    RenderedMessage,
    ServerError,
    SlackSimulator,
    TooManyRequests,
)
from gateway.app.operator import owner_status
from gateway.conversation import ConversationKey
from gateway.gateway import Gateway
from gateway.missed import DAY, Gap
from gateway.store.units import adapters as adapter_units
from gateway.store.units import gaps as gap_units
from gateway.store.units.copies import broken_promises
from tests.adapters.slack.serving import PATIENCE, ServedSlack, served
from tests.fakes.new_store import new_store


async def away(slack: SlackSimulator, seconds: float) -> None:
    """Time goes by in which Slack gives up delivering."""
    for _ in range(4):
        slack.clock.advance(seconds / 4)


async def turns_of(run: ServedSlack, *texts: str) -> list[list[str]]:
    """These texts, each once, by the turns that took them."""
    found: dict[str, list[str]] = {}
    taken = zip(await run.inbox("turn"), await run.inbox("text"), strict=True)
    for turn, text in taken:
        if text in texts:
            found.setdefault(turn, []).append(text)
    return list(found.values())


async def test_what_is_recent_becomes_one_turn_of_each_author(tmp_path: Path) -> None:
    async with SlackSimulator(rates=False) as slack:
        ann, bob = slack.person("ann"), slack.person("bob")
        async with served(slack, tmp_path) as run:
            asked = await ann.asks("general", "hello")
            await run.accepted(1)
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
            await run.accepted(4)
            await run.until(lambda: slack.messages("general", other)[1:])
            await run.until(lambda: run.asked == 2)
            assert sorted(await run.inbox("text")) == ["a new one", "first", "hello", "second"]
            assert await turns_of(run, "first", "second") == [["first", "second"]]
            for delivery in slack.deliveries[:before]:
                slack.repeat(delivery)  # what Slack delivers after all is taken for what it is
            await run.until(lambda: all(each.acked for each in slack.deliveries[before:]))
            assert len(await run.inbox()) == 4


def in_orders(*orders: tuple[int, ...]) -> pytest.MarkDecorator:
    """These orders of redelivery; all but the first with the chaos tests."""
    first, *others = orders
    return pytest.mark.parametrize(
        "live",
        [first, *(pytest.param(order, marks=pytest.mark.chaos) for order in others)],
        ids=str,
    )


@in_orders((1,), (0,), (2,), (3,), (1, 0), (3, 1), (2, 3, 0), (0, 1, 2, 3), (3, 2, 1, 0))
async def test_what_slack_delivers_again_while_catch_up_reads_hides_nothing(
    tmp_path: Path, live: tuple[int, ...]
) -> None:
    async with SlackSimulator(rates=False) as slack:
        ann, bob = slack.person("ann"), slack.person("bob")
        async with served(slack, tmp_path) as run:
            asked = await ann.asks("general", "hello")
            await run.until(lambda: slack.messages("general", asked)[1:])
        await away(slack, 60)
        texts = [f"missed {number}" for number in range(4)]
        for person, text in zip((ann, ann, bob, ann), texts, strict=True):
            await person.says("general", text, thread=asked)
        missed = slack.deliveries[-4:]
        await away(slack, 500)

        async def redeliver(_: Gateway) -> None:
            for number in live:
                again = slack.repeat(missed[number])
                async with asyncio.timeout(PATIENCE):
                    while not again.acked:  # noqa: ASYNC110 (a delivery tells nobody)
                        await asyncio.sleep(0.01)

        async with served(slack, tmp_path, meanwhile=redeliver) as run:
            await run.accepted(5)
            await run.all_begun()
            again = [slack.repeat(delivery) for delivery in missed]
            await run.until(lambda: all(each.acked for each in again))
            await run.until(lambda: run.asked and all(text in str(run.heard()) for text in texts))
            assert [str(run.heard()).count(text) for text in texts] == [1, 1, 1, 1]
            assert sorted(await run.inbox("text")) == ["hello", *texts]
            assert await run.store.read(broken_promises) == []


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
            await run.accepted(3)
            await run.until(lambda: not shown())
            await run.until(lambda: run.asked)
            assert await turns_of(run, "are you there?", "please") == [["are you there?", "please"]]


async def test_what_people_said_to_each_other_is_not_offered(tmp_path: Path) -> None:
    async with SlackSimulator(rates=False) as slack:
        ann, bob = slack.person("ann"), slack.person("bob")
        async with served(slack, tmp_path) as run:
            muted, asked = await ann.asks("general", "hello"), await ann.asks("general", "you too")
            for each in (muted, asked):
                await run.until(lambda at=each: slack.messages("general", at)[1:])
            await ann.says("general", "!mute", thread=muted)
            await run.until(lambda: "is muted" in str(slack.messages("general", muted)))
        await away(slack, 60)
        await ann.says("general", "lunch?", thread=muted)
        await ann.says("general", f"{bob.mention} lunch?", thread=asked)
        await ann.says("general", "@parley are you there?", thread=muted)
        await away(slack, 7200)
        async with served(slack, tmp_path) as run:
            await run.until(lambda: offers(slack, muted))
            await run.caught_up()
            cards = [each for each in slack.messages("general") if "Answer now" in each.buttons]
            assert [each.thread_ts for each in cards] == [muted.ts]
            assert "a message was written here" in cards[0].text


async def test_what_was_said_in_a_muted_thread_stays_unanswered_once_it_answers_again(
    tmp_path: Path,
) -> None:
    async with SlackSimulator(rates=False) as slack:
        ann, bob = slack.person("ann"), slack.person("bob")
        async with served(slack, tmp_path) as run:
            asked = await ann.asks("general", "hello")
            await run.until(lambda: slack.messages("general", asked)[1:])
            await ann.says("general", "!mute", thread=asked)
            await run.until(lambda: "is muted" in str(slack.messages("general", asked)))
            await bob.says("general", "lunch?", thread=asked)
            await run.until(lambda: run.gateway.vitals.ignored["not addressed"] == 1)
            await ann.says("general", "!unmute", thread=asked)
            await run.until(lambda: "no longer muted" in str(slack.messages("general", asked)))
            await run.settled()
        await bob.says("general", "and now?", thread=asked)
        await away(slack, 120)
        async with served(slack, tmp_path) as run:
            await run.until(lambda: run.asked)
            await run.caught_up()
            assert "and now?" in await run.inbox("text")
            assert "lunch?" not in str(await run.inbox("text"))


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
                await run.until(lambda: slack.calls("conversations.history"))
                running, status = await owner_status(run.store)
                assert running
                assert "After a pause, 2 conversations still to be read (2 slack)." in status
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
            await run.until(lambda: run.asked)
            said = [f"m{n}" for n in range(30)]
            assert await turns_of(run, *said) == [said]


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
        async with served(slack, tmp_path) as run:
            await run.until(lambda: offers(slack, asked))
            (card,) = offers(slack, asked)
            assert "30 messages were written here" in card.text
            slack.fail("conversations.replies", TooManyRequests(retry_after=0), skip=1)
            await ann.clicks(card.ts, "Answer now")
            await run.accepted(15)
            await run.until(lambda: "Should I continue?" in offers(slack, asked)[0].text)
            assert "14 messages were written here. I am answering" in offers(slack, asked)[0].text
            slack.clock.advance(10)  # after a refusal it is read no faster than the rate
            await ann.clicks(card.ts, "Answer now")
            await run.accepted(31)
            await run.until(lambda: not offers(slack, asked))
            await run.until(lambda: run.asked == 2)
            said = [f"m{n}" for n in range(30)]
            assert await turns_of(run, *said) == [said[:14], said[14:]]


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
            assert "The file 'old.txt' is not shown to you" in str(run.heard())


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
        await run.accepted(3)
        await run.until(lambda: run.asked == 2)
        assert await turns_of(run, "are you there?", "please") == [["are you there?", "please"]]
        assert "too many events in T0HOME" in caplog.text


async def serve_once(slack: SlackSimulator, folder: Path) -> Message:
    """A thread that the team is in, after which Parley ends."""
    ann = slack.person("ann")
    async with served(slack, folder) as run:
        asked = await ann.asks("general", "hello")
        await run.until(lambda: slack.messages("general", asked)[1:])
    return asked


async def test_a_mention_in_a_thread_that_nobody_knew_is_found(tmp_path: Path) -> None:
    async with SlackSimulator(rates=False) as slack:
        ann, bob = slack.person("ann"), slack.person("bob")
        theirs = await ann.says("general", "lunch?")
        await serve_once(slack, tmp_path)
        await away(slack, 60)
        await bob.asks("general", "where?", thread=theirs)
        await bob.says("general", "and when?", thread=theirs)
        await away(slack, 600)
        async with served(slack, tmp_path) as run:
            await run.until(lambda: slack.messages("general", theirs)[3:])
            assert [text for text in await run.inbox("text") if text] == [
                "hello",
                "where?",
                "and when?",
            ]


@pytest.mark.parametrize("ago", [600, 7200])
async def test_a_thread_of_long_ago_is_found_by_what_is_known(tmp_path: Path, ago: int) -> None:
    async with SlackSimulator(rates=False) as slack:
        ann = slack.person("ann")
        asked = await serve_once(slack, tmp_path)
        slack.clock.advance(30 * 86_400)
        store = new_store(tmp_path)
        async with store.own():  # nothing else was missed
            await store.run(adapter_units.mark, "slack", "alive", f"{slack.clock.time():.3f}")
        await away(slack, 60)
        await ann.says("general", "still there?", thread=asked)
        await away(slack, ago)
        async with served(slack, tmp_path) as run:
            if ago > 900:
                await run.until(lambda: offers(slack, asked))
            else:
                await run.until(lambda: len(slack.messages("general", asked)) == 4)
        assert any(call.text("latest") == asked.ts for call in slack.calls("conversations.history"))


async def test_older_threads_that_are_still_looked_for_hold_up_no_later_pause(
    tmp_path: Path,
) -> None:
    async with SlackSimulator(rates=False) as slack:
        asked = await serve_once(slack, tmp_path)
        slack.clock.advance(30 * 86_400)
        store = new_store(tmp_path)
        async with store.own():  # nothing else was missed
            await store.run(adapter_units.mark, "slack", "alive", f"{slack.clock.time():.3f}")
        await away(slack, 60)
        older = slack.faults.add(
            ServerError(), lambda call: call.text("latest") == asked.ts, times=1000
        )
        async with served(slack, tmp_path):
            await slack.until(lambda: older.times < 1000)
        await away(slack, 60)
        later = await slack.person("bob").asks("general", "and now?")
        await away(slack, 600)
        async with served(slack, tmp_path) as run:
            await run.until(lambda: slack.messages("general", later)[1:])


async def test_very_old_messages_are_counted(tmp_path: Path) -> None:
    async with SlackSimulator(rates=False) as slack:
        asked = await serve_once(slack, tmp_path)
        await away(slack, 60)
        await slack.person("ann").says("general", "anybody?", thread=asked)
        await slack.person("bob").asks("general", "hello?")
        await away(slack, 8 * 86_400)
        other = await slack.person("bob").asks("general", "hello again?")
        await away(slack, 7200)
        async with served(slack, tmp_path) as run:
            await run.until(lambda: offers(slack, other))
            await run.until(lambda: run.gateway.vitals.missed["too_old"] == 2)
            _, status = await owner_status(run.store)
            assert "3 missed messages found (1 offered on cards, 2 too old for a card)" in status
            assert not offers(slack, asked)


@pytest.mark.parametrize(
    ("refused", "ago"), [("", 500), ("users.info", 500), ("chat.postMessage", 7200)]
)
async def test_refused_messages_are_counted(tmp_path: Path, refused: str, ago: int) -> None:
    async with SlackSimulator(rates=False) as slack:
        asked = await serve_once(slack, tmp_path)
        eve = slack.person("eve", guest=not refused)
        slack.join("general", eve)
        await away(slack, 60)
        await eve.asks("general", "anybody?", thread=asked)
        await away(slack, ago)
        if refused:
            slack.fail(refused, Refusal("access_denied"), times=-1)
        async with served(slack, tmp_path) as run:
            await run.until(lambda: run.gateway.vitals.missed)
            _, status = await owner_status(run.store)
            assert "1 missed message found (1 refused)." in status


async def test_a_further_pause_makes_what_was_said_in_it_no_younger(tmp_path: Path) -> None:
    async with SlackSimulator(rates=False) as slack:
        asked, ann = await serve_once(slack, tmp_path), slack.person("ann")
        await away(slack, 60)
        began = slack.clock.time()
        await ann.says("general", "in the first pause", thread=asked)
        await away(slack, 100)
        back = slack.clock.time()
        thread = replace(root_key(asked), root=asked.ts)
        gap = Gap(place=thread, since=began - 30, until=back, newest=back)
        store = new_store(tmp_path, clock=slack.clock.time)
        async with store.own():
            # Parley came back, noted the thread, and ended before it was read.
            await store.run(gap_units.add_gaps, "slack", [gap], {"alive": f"{back:.3f}"})
        await away(slack, 200)
        await ann.says("general", "in the second pause", thread=asked)
        await away(slack, 18_000)
        async with served(slack, tmp_path) as run:
            await run.caught_up()
            assert await run.inbox("text") == ["hello", "in the first pause"]
            assert len(offers(slack, asked)) == 1


async def test_a_mark_in_the_future_hides_no_pause(tmp_path: Path) -> None:
    async with SlackSimulator(rates=False) as slack:
        asked = await serve_once(slack, tmp_path)
        store = new_store(tmp_path)
        async with store.own():  # the clock was five days ahead
            await store.run(
                adapter_units.mark, "slack", "alive", f"{slack.clock.time() + 5 * DAY:.3f}"
            )
        await away(slack, 60)
        await slack.person("ann").says("general", "anybody?", thread=asked)
        await away(slack, 500)
        async with served(slack, tmp_path) as run:
            await run.accepted(2)
            assert await run.inbox("text") == ["hello", "anybody?"]


async def test_a_card_that_slack_refuses_for_its_rate_is_posted_later(tmp_path: Path) -> None:
    async with SlackSimulator(rates=False) as slack:
        asked = await serve_once(slack, tmp_path)
        await away(slack, 60)
        await slack.person("ann").says("general", "anybody?", thread=asked)
        await away(slack, 7200)
        slack.fail("chat.postMessage", TooManyRequests(retry_after=30))
        before = len(slack.calls("chat.postMessage"))
        async with served(slack, tmp_path) as run:
            await run.until(lambda: len(slack.calls("chat.postMessage")) > before)
            assert not offers(slack, asked)
            await run.until(lambda: slack.clock.advance(1) or offers(slack, asked))


@pytest.mark.parametrize("applied", [True, False])
async def test_a_card_that_slack_may_have_posted_stands_once(tmp_path: Path, applied: bool) -> None:
    async with SlackSimulator(rates=False) as slack:
        asked = await serve_once(slack, tmp_path)
        await away(slack, 60)
        await slack.person("ann").says("general", "anybody?", thread=asked)
        other = await slack.person("bob").asks("general", "hello?")
        await away(slack, 7200)
        slack.fail("chat.postMessage", ServerError(applied=applied), times=2)
        async with served(slack, tmp_path) as run:
            await run.until(lambda: slack.clock.advance(1) or offers(slack, asked))
            await run.until(lambda: slack.clock.advance(1) or offers(slack, other))
            await run.until(
                lambda: slack.clock.advance(1) or run.gateway.vitals.missed.total() == 2
            )
            assert len(offers(slack, asked)) == len(offers(slack, other)) == 1


async def test_a_card_whose_page_was_not_finished_is_not_posted_again(tmp_path: Path) -> None:
    async with SlackSimulator(rates=False) as slack:
        asked = await serve_once(slack, tmp_path)
        await away(slack, 60)
        await slack.person("ann").says("general", "anybody?", thread=asked)
        other = await slack.person("bob").asks("general", "hello?")
        await away(slack, 7200)
        async with served(slack, tmp_path) as run:
            await run.until(lambda: offers(slack, asked) and offers(slack, other))
            await run.until(lambda: sum(run.gateway.vitals.missed.values()) == 2)
            gaps = [  # as they were before: the process ended just behind the cards
                Gap(place=replace(root_key(root), root=thread), since=since, until=since + 7200)
                for root in (asked, other)
                for thread in (root.ts, "")
                for since in [float(other.ts) - 60]
            ]
        async with served(slack, tmp_path) as run:
            await run.gateway.store.run(gap_units.add_gaps, "slack", gaps, {})
            slack.clock.advance(60)  # it is looked for what others noted
            await run.caught_up()
            assert len(offers(slack, asked)) == len(offers(slack, other)) == 1


async def test_an_app_that_may_not_list_channels_says_so(tmp_path: Path) -> None:
    scopes = BOT_SCOPES - {"im:read"}
    async with SlackSimulator(AppSettings(scopes=scopes), rates=False) as slack:
        asked = await serve_once(slack, tmp_path)
        await away(slack, 60)
        await slack.person("ann").says("general", "anybody?", thread=asked)
        await away(slack, 600)
        async with served(slack, tmp_path) as run:
            await run.until(lambda: len(slack.messages("general", asked)) == 4)
            _, status = await owner_status(run.store)
            assert "slack: after a pause, new channels can't be looked for" in status


def root_key(root: Message) -> ConversationKey:
    return ConversationKey(platform="slack", workspace="T0HOME", channel=root.channel)


async def test_an_edit_that_slack_gave_up_is_found_with_its_message(tmp_path: Path) -> None:
    async with SlackSimulator(rates=False) as slack:
        ann = slack.person("ann")
        async with served(slack, tmp_path) as run:
            asked = await ann.asks("general", "hello")
            await run.until(lambda: slack.messages("general", asked)[1:])
        await away(slack, 60)
        said = await ann.says("general", "2 and 2", thread=asked)
        delivery = slack.deliveries[-1]
        await ann.edits(said, "2 and 3")
        await away(slack, 500)

        async def redeliver(_: Gateway) -> None:
            again = slack.repeat(delivery)
            async with asyncio.timeout(PATIENCE):
                while not again.acked:  # noqa: ASYNC110 (a delivery tells nobody)
                    await asyncio.sleep(0.01)

        async with served(slack, tmp_path, meanwhile=redeliver) as run:
            async with asyncio.timeout(PATIENCE):
                while "2 and 3" not in await run.inbox("text"):  # noqa: ASYNC110 (a store tells nobody)
                    await asyncio.sleep(0.01)
            assert len(await run.inbox()) in (2, 3)  # its turn had begun, or not
