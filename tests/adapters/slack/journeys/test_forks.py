"""Forks of Slack threads: their roots, authors and memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adapters.slack.action_ids import FORK
from adapters.slack.simulator.state import Message
from adapters.slack.testing import ConnectionReset, RealClock, Refusal, SlackSimulator
from gateway.store.units import forks, outbox, rows
from tests.adapters.slack.serving import EVERYWHERE, ServedSlack, served
from tests.fakes.tested_store import rows_of

ORIGIN = "This thread is a fork of '{title}', from the end of its turn {n} of {last}."


def simulated() -> SlackSimulator:
    return SlackSimulator(clock=RealClock(), rates=False)


async def roots(run: ServedSlack, channel: str = "general") -> list[Message]:
    """The first messages of forks in a channel."""
    found = run.slack.channel(channel).visible()
    return [each for each in found if each.root == each.ts and "is a fork of" in each.text]


async def root(run: ServedSlack, channel: str = "general") -> Message:
    """The only first message of a fork."""
    await run.settled()
    await run.delivered()
    await run.until(lambda: any("is a fork of" in text for text in texts(run, channel)))
    (found,) = await roots(run, channel)
    return found


def texts(run: ServedSlack, channel: str = "general") -> list[str]:
    return [each.text for each in run.slack.channel(channel).visible()]


async def two_turns(run: ServedSlack) -> Message:
    ann = run.slack.person("ann")
    asked = await ann.asks("general", "first")
    await run.until(lambda: run.asked == 1)
    await run.delivered()
    await ann.says("general", "second", thread=asked)
    await run.until(lambda: run.asked == 2)
    await run.delivered()
    return asked


async def command(run: ServedSlack, asked: Message) -> None:
    await run.slack.person("ann").says("general", "!fork 1", thread=asked)


async def shortcut_on_a_question(run: ServedSlack, asked: Message) -> None:
    await run.slack.person("ann").uses_shortcut(asked, FORK)


async def shortcut_on_an_answer(run: ServedSlack, asked: Message) -> None:
    replies = [each for each in run.slack.channel("general").visible() if each.root == asked.ts]
    await run.slack.person("ann").uses_shortcut(replies[1], FORK)


@pytest.mark.parametrize("way", [command, shortcut_on_a_question, shortcut_on_an_answer])
async def test_a_fork_begins_with_a_new_message_and_goes_on_from_its_turn(
    way: Callable[..., Any], tmp_path: Path
) -> None:
    async with (
        SlackSimulator(clock=RealClock(), rates=False) as slack,
        served(slack, tmp_path) as run,
    ):
        asked = await two_turns(run)
        before = len(texts(run))
        await way(run, asked)
        begun = await root(run)
        assert ORIGIN.format(title="first", n=1, last=2) in begun.text
        assert slack.person("ann").mention in str(begun.blocks)
        new = len(texts(run)) - before
        assert new <= 2 + (way is command)
        await slack.person("bob").says("general", "third", thread=begun)
        await run.until(lambda: run.asked == 3)
        heard = " ".join(str(each.content) for each in run.heard())
        assert ("first" in heard, "second" in heard, "third" in heard) == (True, False, True)
        await run.delivered()
        in_fork = [each for each in slack.channel("general").visible() if each.root == begun.ts]
        assert "fine" in " ".join(each.text for each in in_fork)
        await slack.person("ann").says("general", "on", thread=asked)
        await run.until(lambda: run.asked == 4)
        assert "second" in str(run.heard())


async def test_a_fork_in_a_direct_message_stays_there(tmp_path: Path) -> None:
    async with (
        SlackSimulator(clock=RealClock(), rates=False) as slack,
        served(slack, tmp_path) as run,
    ):
        ann = slack.person("ann")
        asked = await ann.says(ann.direct, "first")
        await run.until(lambda: run.asked == 1)
        await run.delivered()
        await ann.says(ann.direct, "!fork", thread=asked)
        begun = await root(run, ann.direct)
        assert begun.channel == slack.channel(ann.direct).id
        assert [text for text in texts(run) if "fork" in text] == []


async def test_who_may_not_write_there_forks_nothing(tmp_path: Path) -> None:
    route = {**EVERYWHERE, "users": ["slack:T0HOME:{ann}"]}
    async with simulated() as slack:
        route["users"] = [f"slack:T0HOME:{slack.person('ann').id}"]
        async with served(slack, tmp_path, routes=[route]) as run:
            asked = await two_turns(run)
            await slack.person("bob").uses_shortcut(asked, FORK)
            await run.accepted(3)
            await run.settled()
            assert await roots(run) == []
            assert await rows_of(run.store, "SELECT COUNT(*) FROM threads") == [(1,)]


async def test_where_nothing_was_said_there_is_nothing_to_fork(tmp_path: Path) -> None:
    async with (
        SlackSimulator(clock=RealClock(), rates=False) as slack,
        served(slack, tmp_path) as run,
    ):
        said = await slack.person("ann").says("general", "among us")
        await slack.person("ann").uses_shortcut(said, FORK)
        await run.accepted(1)
        await run.settled()
        assert await run.inbox("reply") == ["There are no messages here yet."]


@pytest.mark.parametrize("arrives", [True, False])
async def test_a_root_that_nobody_heard_of_is_found_again_and_posted_once(
    arrives: bool, tmp_path: Path
) -> None:
    async with simulated() as slack:
        async with served(slack, tmp_path) as run:
            asked = await two_turns(run)
            reset = ConnectionReset(applied=arrives)
            slack.fail("chat.postMessage", reset, times=1)
            await slack.person("ann").says("general", "!fork", thread=asked)
            begun = await root(run)
        async with served(slack, tmp_path) as run:
            assert await run.store.run(outbox.undelivered_threads, "slack") == []
            await slack.person("ann").says("general", "third", thread=begun)
            await run.until(lambda: run.asked == 1)
            assert len(await roots(run)) == 1


async def test_a_fork_that_ended_before_its_root_begins_with_the_next_start(
    tmp_path: Path,
) -> None:
    async with simulated() as slack:
        async with served(slack, tmp_path) as run:
            asked = await two_turns(run)

            def fork(connection: Any) -> Any:
                (thread,) = connection.fetch("SELECT id FROM threads")
                found = rows.find_thread(connection, thread["id"]).key
                by = f"slack:T0HOME:{slack.person('ann').id}"
                return forks.begin_fork(
                    connection, thread["id"], 2, "f", folder=True, key=found.fork("f"), by=by
                )

            store: Any = run.store
            await store.write(fork)  # as a process that was killed right after it
        async with served(slack, tmp_path) as run:
            begun = await root(run)
            assert begun.ts != asked.ts
            await slack.person("ann").says("general", "third", thread=begun)
            await run.until(lambda: run.asked == 1)


async def test_who_asked_for_a_fork_that_slack_refuses_is_told_where_they_asked(
    tmp_path: Path,
) -> None:
    async with simulated() as slack, served(slack, tmp_path) as run:
        asked = await two_turns(run)
        slack.fail("chat.postMessage", Refusal("restricted_action"), times=1)
        await slack.person("ann").says("general", "!fork", thread=asked)
        await run.until(lambda: any("could not begin" in text for text in texts(run)))
        await run.delivered()
        (told,) = [each for each in slack.channel("general").visible() if "could not" in each.text]
        assert told.root == asked.ts
        assert slack.person("ann").mention in str(told.blocks)
        assert await roots(run) == []
