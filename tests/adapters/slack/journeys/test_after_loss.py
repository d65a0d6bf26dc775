"""After a restore, messages of before are offered and not answered."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from adapters.slack.simulator.clock import RealClock
from adapters.slack.simulator.state import Message
from adapters.slack.testing import Refusal, RenderedMessage, SlackSimulator
from gateway.gateway import Gateway
from gateway.missed import BEFORE_LOSS
from gateway.store.units import losses
from gateway.store.units.losses import add_loss
from tests.adapters.slack.child import WORDS
from tests.adapters.slack.journeys.test_killed_answers import Process
from tests.adapters.slack.serving import PATIENCE, ServedSlack, served
from tests.fakes.lost_records import commits_in, copy_store, lose_commits, put_back
from tests.fakes.tested_store import at


@asynccontextmanager
async def restored(
    folder: Path,
    again: bool = False,
    ahead: float = 0.0,
) -> AsyncGenerator[tuple[ServedSlack, list[Message]]]:
    """A workspace on a copy from before two messages.

    Slack may send them `again`.
    """
    store, copy = folder / "store", folder / "copy"
    async with SlackSimulator(clock=RealClock(), rates=False) as slack:
        ann = slack.person("ann")
        async with served(slack, store) as run:
            thread = await ann.asks("general", "before")
            await run.until(lambda: slack.messages("general", thread)[1:])
            await run.delivered()
        await copy_store(store, copy)  # in use, it would have a node that is to be given up first
        async with served(slack, store) as run:
            await ann.says("general", "one", thread=thread)
            other = await ann.asks("general", "two")
            await run.until(lambda: run.asked == 2)
            await run.delivered()
            since = slack.deliveries[-3:]
        await put_back(store, copy)

        async def redeliver(_: Gateway) -> None:
            for delivery in since:
                repeated = slack.repeat(delivery)
                async with asyncio.timeout(PATIENCE):
                    while not repeated.acked:  # noqa: ASYNC110 (a delivery tells nobody)
                        await asyncio.sleep(0.01)

        meanwhile: Callable[[Gateway], Awaitable[None]] | None = redeliver if again else None
        async with served(
            slack, store, meanwhile=meanwhile, clock=lambda: time.time() + ahead
        ) as run:
            yield run, [thread, other]


def cards(run: ServedSlack, thread: Message) -> list[RenderedMessage]:
    said = run.slack.messages("general", thread)
    return [each for each in said if "Answer now" in each.buttons]


@pytest.mark.usefixtures("database")
@pytest.mark.parametrize("again", [False, True], ids=["history", "delivered again"])
async def test_what_was_answered_since_the_copy_is_offered(tmp_path: Path, again: bool) -> None:
    async with restored(tmp_path, again) as (run, threads):
        assert [loss.cause for loss in await run.store.run(losses.losses)] == ["restored"]
        for thread in threads:
            await run.until(lambda thread=thread: cards(run, thread))
        await run.caught_up()
        await run.settled()
        assert [len(cards(run, thread)) for thread in threads] == [1, 1]
        assert (run.asked, await run.inbox("text")) == (0, ["before"])
        await run.slack.person("ann").clicks(cards(run, threads[1])[0].ts, "Answer now")
        await run.until(lambda: run.asked == 1)


async def test_a_click_from_then_is_answered_with_a_sentence(tmp_path: Path) -> None:
    async with restored(tmp_path, ahead=7200.0) as (run, threads):
        for thread in threads:
            await run.until(lambda thread=thread: cards(run, thread))
        later = time.time() + 3600  # as if what is done now had been done before the loss
        await run.store.write(lambda c: add_loss(at(c, later), "damaged", since=1.0, commits=9))
        ann = run.slack.person("ann")
        await ann.clicks(cards(run, threads[1])[0].ts, "Answer now")
        told = lambda: [each.text for each in run.slack.private(ann)]  # noqa: E731
        await run.until(lambda: told() == [BEFORE_LOSS])
        await ann.says("general", "!new", thread=threads[0])
        await run.until(lambda: told() == [BEFORE_LOSS] * 2)
        assert run.asked == 0
        assert cards(run, threads[1])


def read_by_people(messages: list[RenderedMessage]) -> list[tuple[object, ...]]:
    """The messages, however they were written."""
    return [(each.ts, each.name, each.text, each.buttons, each.edited) for each in messages]


ALL = 99
"""More commits than follow the first word."""


@pytest.mark.sqlite
@pytest.mark.chaos
@pytest.mark.timeout(200)
@pytest.mark.parametrize(
    ("commits", "plain"),
    [
        pytest.param(4, False, id="4-streams"),
        pytest.param(ALL, True, id="all-edits"),
        pytest.param(1, False, id="1-streams", marks=pytest.mark.nightly),
        pytest.param(1, True, id="1-edits", marks=pytest.mark.nightly),
        pytest.param(4, True, id="4-edits", marks=pytest.mark.nightly),
        pytest.param(ALL, False, id="all-streams", marks=pytest.mark.nightly),
    ],
)
async def test_what_people_could_read_stands_when_the_end_of_the_log_is_gone(
    tmp_path: Path, commits: int, plain: bool
) -> None:
    async with SlackSimulator(clock=RealClock()) as slack:
        if plain:
            slack.fail("chat.startStream", Refusal("channel_type_not_supported"), times=99)
        alice = slack.person("alice")
        asked = await alice.asks("general", "do it")
        shown = lambda: slack.messages("general", asked)[1:]  # noqa: E731
        with Process(slack, tmp_path, asked) as first:
            await slack.until(shown, within=90)
            begun = commits_in(tmp_path)  # with fewer, the question itself would be new
            await slack.until(lambda: any("Approve" in each.buttons for each in shown()), within=90)
            await slack.until(lambda: WORDS[-1] in str(shown()), within=40)
            first.kill()
        # Each commit has what came meanwhile: on a busy machine there are few.
        after = commits_in(tmp_path) - begun
        assert lose_commits(tmp_path, min(commits, after)) > 0
        before = shown()
        with Process(slack, tmp_path, asked):
            offers = lambda: [each for each in shown() if "Continue" in each.buttons]  # noqa: E731
            await slack.until(offers, within=60)
            assert "was damaged" in offers()[0].text
            # A text that the store has whole may be written once more: it says the same.
            assert read_by_people(shown())[: len(before)] == read_by_people(before)
