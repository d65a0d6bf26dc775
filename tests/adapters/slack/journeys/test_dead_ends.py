"""People who can't be answered where they asked are told so directly."""

import asyncio
from pathlib import Path

import pytest

from adapters.slack.testing import Person, SlackSimulator
from gateway.store.units import outbox
from teams import RoundRobinGroupChat
from teams.models.replay import ReplayChatCompletionClient
from tests.adapters.slack.serving import EVERYWHERE, ServedSlack, served
from tests.gateway.scripted import calls, solo


class Gate:
    """A tool that waits until the test lets it go on."""

    def __init__(self) -> None:
        self.reached, self.open = asyncio.Event(), asyncio.Event()

    async def look(self) -> str:
        self.reached.set()
        await self.open.wait()
        return "seen"

    def team(self, client: ReplayChatCompletionClient) -> RoundRobinGroupChat:
        return solo(client, tools=[self.look])  # pyright: ignore[reportReturnType]


def told(slack: SlackSimulator, person: Person) -> list[str]:
    """Texts of the app in its conversation with somebody."""
    place = slack.world.direct("T0HOME", person.id)
    return [each.text for each in place.visible() if each.user == slack.world.bot("T0HOME").id]


async def given_up(run: ServedSlack) -> None:
    async with asyncio.timeout(20):
        while await run.store.run(outbox.undelivered_threads, "slack"):  # noqa: ASYNC110 (in the store)
            await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    ("how", "why"),
    [("archived", "is archived"), ("removed", "Invite me"), ("private", "Invite me")],
)
async def test_whoever_asked_where_the_bot_can_no_longer_write_is_told_once(
    tmp_path: Path, how: str, why: str
) -> None:
    gate = Gate()
    async with SlackSimulator(rates=False) as slack:
        ann = slack.person("ann")
        slack.add_channel("plans", "group" if how == "private" else "channel")
        async with served(slack, tmp_path, gate.team, answers=[calls("look"), "done"]) as run:
            await ann.asks("plans", "go")
            await gate.reached.wait()
            if how == "archived":
                slack.archive("plans")
            else:
                slack.remove_app_from("plans")
            gate.open.set()
            await run.until(lambda: told(slack, ann))
            await given_up(run)
            assert run.gateway.vitals.dead_ends == {"told": 1}
        async with served(slack, tmp_path, gate.team) as run:  # a restart tells nobody again
            await given_up(run)
            assert run.gateway.vitals.dead_ends == {}
        (text,) = told(slack, ann)
        assert text.startswith("I can't answer you in <#C0PLANS>: ")
        assert why in text


@pytest.mark.parametrize(
    "code", ["restricted_action", "restricted_action_read_only_channel", "no_permission"]
)
async def test_each_person_is_told_once_of_a_channel(tmp_path: Path, code: str) -> None:
    async with SlackSimulator(rates=False) as slack, served(slack, tmp_path) as run:
        ann, bob = slack.person("ann"), slack.person("bob")
        slack.restrict("general", code)
        for n, (person, text) in enumerate(
            ((ann, "one"), (ann, "two"), (bob, "three"), (ann, "!status"))
        ):
            await person.asks("general", text)
            await run.accepted(n + 1)
            await given_up(run)
        await run.until(lambda: told(slack, ann) and told(slack, bob))
        await run.until(lambda: slack.calls("chat.postEphemeral"))
        assert [len(told(slack, each)) for each in (ann, bob)] == [1, 1]
        assert "may not write there" in told(slack, ann)[0]
        assert run.gateway.vitals.dead_ends == {"told": 2}


async def test_whoever_was_told_is_told_anew_once_that_has_changed(tmp_path: Path) -> None:
    async with SlackSimulator(rates=False) as slack, served(slack, tmp_path) as run:
        ann = slack.person("ann")
        slack.restrict("general")
        await ann.asks("general", "one")
        await run.until(lambda: told(slack, ann))
        slack.restrict("general", "")
        slack.clock.advance(3601)
        asked = await ann.asks("general", "two")
        await run.until(lambda: slack.messages("general", asked)[1:])
        await given_up(run)
        slack.restrict("general")
        await ann.asks("general", "three")
        await run.until(lambda: len(told(slack, ann)) == 2)


async def test_a_locked_thread_is_told_of_for_itself(tmp_path: Path) -> None:
    async with SlackSimulator(rates=False) as slack, served(slack, tmp_path) as run:
        ann = slack.person("ann")
        for n, text in enumerate(("one", "two")):
            asked = await ann.asks("general", text)
            await run.until(lambda at=asked: slack.messages("general", at)[1:])
            await given_up(run)
            slack.lock(asked)
            slack.clock.advance(10)  # a channel takes one new message a second
            await ann.says("general", "and?", thread=asked)
            await run.until(lambda many=n + 1: len(told(slack, ann)) == many)
        assert all("thread is locked" in each for each in told(slack, ann))


async def test_a_stranger_is_told_nothing_directly(tmp_path: Path) -> None:
    route = {**EVERYWHERE, "users": ["U0ANN"]}
    async with (
        SlackSimulator(rates=False) as slack,
        served(slack, tmp_path, routes=[route]) as run,
    ):
        eve = slack.person("eve")
        slack.restrict("general")
        await eve.asks("general", "let me in")
        await run.accepted(1)
        await run.until(lambda: slack.calls("chat.postEphemeral"))
        await run.settled()
        assert told(slack, eve) == []
        assert run.gateway.vitals.dead_ends == {}


async def test_whoever_can_not_be_told_is_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with SlackSimulator(rates=False) as slack, served(slack, tmp_path) as run:
        ann = slack.person("ann")
        slack.world.direct("T0HOME", ann.id).refusal = "messages_tab_disabled"
        slack.restrict("general")
        for n, text in enumerate(("one", "two")):
            await ann.asks("general", text)
            await run.accepted(n + 1)
            await given_up(run)
        await run.until(lambda: run.gateway.vitals.dead_ends)
        assert run.gateway.vitals.dead_ends == {"untold": 1}
        assert "could not be told so directly" in caplog.text
        assert "messages_tab_disabled" in caplog.text
