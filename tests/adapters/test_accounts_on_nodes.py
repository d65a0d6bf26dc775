"""Two accounts on each platform, served by two nodes at one PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from adapters.discord.adapter import DiscordAdapter
from adapters.discord.testing import DiscordSimulator
from adapters.slack.adapter import SlackAdapter
from adapters.slack.simulator.settings import AppSettings
from adapters.slack.testing import SlackSimulator
from gateway.access.authority import Access
from gateway.config.routes import Route
from gateway.gateway import Gateway
from gateway.store.postgres.database import Database
from gateway.store.postgres.store import PostgresStore
from gateway.store.units import outbox
from tests.adapters.accounts import rows, thread_keys
from tests.adapters.discord import serving as on_discord
from tests.adapters.slack import serving as on_slack
from tests.gateway.scripted import ScriptedTeams, model, solo

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(90)]

CRITIC = AppSettings(name="reviewer", id="A0CRITIC")
NAMES = ("critic", "discord", "reviewer", "slack")


@dataclass
class Node:
    """A gateway with an adapter for each account."""

    gateway: Gateway
    ends: asyncio.Event = field(default_factory=asyncio.Event)
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    async def leave(self) -> None:
        """End in order."""
        self.ends.set()
        await self.ended.wait()


@dataclass
class Office:
    """Two bots on each platform, and the nodes that serve them."""

    url: str
    folder: Path
    discord: DiscordSimulator
    critic: DiscordSimulator
    slack: SlackSimulator
    reviewer: SlackSimulator
    group: asyncio.TaskGroup
    nodes: list[Node] = field(default_factory=list[Node])

    def adapters(self) -> list[Any]:
        of = {"discord": self.discord, "critic": self.critic}
        bots = [DiscordAdapter(on_discord.config_of(of[name]).named(name)) for name in of]
        apps = {"slack": self.slack, "reviewer": self.reviewer}
        clock = self.slack.world.clock
        return [
            *bots,
            *(
                SlackAdapter(on_slack.config_of(app).named(name), clock=clock)
                for name, app in apps.items()
            ),
        ]

    async def start(self) -> Node:
        """Start a node, and wait until it is connected."""
        begun = asyncio.get_running_loop().create_future()
        sockets = 2 * (len(self.nodes) + 1)
        self.group.create_task(self._serve(begun))
        node = await begun
        self.nodes.append(node)
        for app in (self.slack, self.reviewer):
            await app.until(on_slack.connected(app, sockets))
        return node

    async def _serve(self, begun: asyncio.Future[Node]) -> None:
        route = {"channels": ["*"], "dm": True, "users": ["members"]}
        routes = [Route.model_validate({**route, "adapter": name}) for name in NAMES]
        store = PostgresStore(Database(url=self.url), self.folder / str(len(self.nodes)))
        teams = ScriptedTeams(lambda: solo(model(*["fine"] * 20)))
        async with (
            Gateway(store, teams, access=Access(routes=routes)) as gateway,
            asyncio.TaskGroup() as group,
        ):
            running = [group.create_task(each.run(gateway)) for each in self.adapters()]
            begun.set_result(node := Node(gateway))
            await node.ends.wait()
            for task in running:
                task.cancel()
        node.ended.set()

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait until something is so."""
        async with asyncio.timeout(30):
            while not condition():  # noqa: ASYNC110 (on two platforms)
                await asyncio.sleep(0.01)

    async def ask_all(self) -> tuple[Any, Any]:
        """Somebody on each platform asks both bots there."""
        both = f"<@{self.discord.bot.id}> and <@{self.critic.bot.id}>, well?"
        asked = await self.discord.person("alice").says(self.discord.channel("general"), both)
        both = f"<@{self.slack.bot.id}> and <@{self.reviewer.bot.id}>, well?"
        return asked, await self.slack.person("alice").says("general", both)

    def answers(self, asked: Any, there: Any) -> tuple[list[str], list[str]]:
        """Names of those who have answered on Discord, and on Slack."""
        of_discord = self.discord.messages(asked.thread) if asked.thread else []
        of_slack = self.slack.messages("general", there)
        apps = (self.slack.bot.id, self.reviewer.bot.id)
        return (
            sorted(each.author.name for each in of_discord if each.application),
            sorted(each.author for each in of_slack if each.author in apps),
        )

    def all_answered(self, asked: Any, there: Any, times: int = 1) -> bool:
        """True if each bot has answered so many times."""
        return [len(each) for each in self.answers(asked, there)] == [2 * times] * 2

    async def delivered(self, node: Node) -> None:
        """Wait until no node has anything to send."""
        async with asyncio.timeout(30):
            for name in NAMES:
                while await node.gateway.store.run(outbox.undelivered_threads, name):  # noqa: ASYNC110
                    await asyncio.sleep(0.01)


@asynccontextmanager
async def office(url: str, folder: Path) -> AsyncGenerator[Office]:
    """Both platforms, each with two bots; all nodes end with the block."""
    async with (
        DiscordSimulator() as discord,
        DiscordSimulator(beside=discord, name="critic") as critic,
        SlackSimulator(rates=False) as slack,
        SlackSimulator(CRITIC, rates=False, beside=slack) as reviewer,
        asyncio.TaskGroup() as group,
    ):
        found = Office(url, folder, discord, critic, slack, reviewer, group)
        try:
            yield found
        finally:
            for node in found.nodes:
                node.ends.set()


async def test_two_accounts_on_each_platform_and_two_nodes_answer_each_question_once(
    tmp_path: Path, postgres_url: str
) -> None:
    async with office(postgres_url, tmp_path) as served:
        first = await served.start()
        for bot in (served.discord, served.critic):
            await bot.connected()
        second = await served.start()
        asked, there = await served.ask_all()
        await served.until(lambda: served.all_answered(asked, there))
        await served.delivered(second)
        alice, home = served.discord.person("alice"), served.discord.home.id
        place = f"{home}/{served.discord.channel('general').id}/{asked.id}/"
        assert await thread_keys(second.gateway) == [
            f"critic/{place}",
            f"discord/{place}",
            f"reviewer/T0HOME/C0GENERAL/{there.ts}/",
            f"slack/T0HOME/C0GENERAL/{there.ts}/",
        ]
        people = [f"discord:{alice.id}"] * 2 + ["slack:T0HOME:U0ALICE"] * 2
        assert await rows(second.gateway, "author") == people

        await first.leave()  # the other one takes over the shards of both bots
        for bot in (served.discord, served.critic):
            await bot.connected()
        assert asked.thread is not None
        both = f"<@{served.discord.bot.id}> and <@{served.critic.bot.id}>, and now?"
        await alice.says(asked.thread, both)
        both = f"<@{served.slack.bot.id}> and <@{served.reviewer.bot.id}>, and now?"
        await served.slack.person("alice").says("general", both, thread=there)
        await served.until(lambda: served.all_answered(asked, there, 2))
        await served.delivered(second)
        assert len(await rows(second.gateway, "id")) == 8
        assert len(await thread_keys(second.gateway)) == 4
        asked, there = await served.ask_all()
        await served.until(lambda: served.all_answered(asked, there))
        await served.delivered(second)
        names = [("critic", "parley"), (served.reviewer.bot.id, served.slack.bot.id)]
        assert served.answers(asked, there) == tuple(map(list, map(sorted, names)))
