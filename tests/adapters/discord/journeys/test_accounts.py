"""Several accounts on Discord: two bots in one server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from adapters.discord.adapter import DiscordAdapter
from adapters.discord.testing import Channel, DiscordSimulator, Message
from gateway.access.authority import Access
from gateway.config.routes import Route
from gateway.gateway import Gateway
from gateway.store.units import outbox
from tests.adapters.accounts import rows, thread_keys
from tests.adapters.discord.serving import config_of, thread_of
from tests.fakes.new_store import new_store
from tests.gateway.scripted import ScriptedTeams, model, solo

EVERYWHERE: dict[str, Any] = {"channels": ["*"], "dm": True, "users": ["members"]}


@asynccontextmanager
async def serving(
    folder: Path,
    accounts: dict[str, DiscordSimulator],
    *,
    route: dict[str, Any] = EVERYWHERE,
    answers: Sequence[str] = ("fine",) * 20,
    **settings: Any,
) -> AsyncGenerator[Gateway]:
    """A gateway with an adapter for each account, once all are connected."""
    teams = ScriptedTeams(lambda: solo(model(*answers)))
    routes = [Route.model_validate({**route, "adapter": name}) for name in accounts]
    gateway = Gateway(new_store(folder), teams, access=Access(routes=routes))
    async with gateway, asyncio.TaskGroup() as group:
        running = [
            group.create_task(
                DiscordAdapter(config_of(discord, **settings).named(name)).run(gateway)
            )
            for name, discord in accounts.items()
        ]
        for discord in accounts.values():
            await discord.connected()
        yield gateway
        await delivered(gateway, accounts)
        for task in running:
            task.cancel()


async def delivered(gateway: Gateway, accounts: dict[str, DiscordSimulator]) -> None:
    async with asyncio.timeout(20):
        for name in accounts:
            while await gateway.store.run(outbox.undelivered_threads, name):  # noqa: ASYNC110 (in the store)
                await asyncio.sleep(0.01)


def bots_in(discord: DiscordSimulator, channel: Channel) -> list[tuple[str, str]]:
    found: list[Message] = discord.messages(channel)
    return [(each.author.name, each.content.split("\n")[-1]) for each in found if each.application]


async def test_a_message_that_mentions_both_bots_is_a_message_to_each(tmp_path: Path) -> None:
    async with (
        DiscordSimulator() as discord,
        DiscordSimulator(beside=discord, name="critic") as other,
    ):
        general = discord.channel("general")
        accounts = {"discord": discord, "critic": other}
        async with serving(tmp_path, accounts) as gateway:
            alice = discord.person("alice")
            text = f"<@{discord.bot.id}> and <@{other.bot.id}>, well?"
            asked = await alice.says(general, text)
            both = [("critic", "fine"), ("parley", "fine")]
            await discord.until(
                lambda: asked.thread and sorted(bots_in(discord, thread_of(asked))) == both
            )
            assert await rows(gateway, "author") == [f"discord:{alice.id}"] * 2
            keys = await thread_keys(gateway)
            place = f"{discord.home.id}/{general.id}/{asked.id}/"
            assert keys == [f"critic/{place}", f"discord/{place}"]
        async with serving(tmp_path, accounts) as gateway:
            await alice.says(thread_of(asked), f"<@{other.bot.id}> and now?")
            await discord.until(lambda: len(bots_in(discord, thread_of(asked))) == 3)
            await delivered(gateway, accounts)
            assert bots_in(discord, thread_of(asked))[2] == ("critic", "fine")
            assert len(await rows(gateway, "id")) == 3


async def test_one_bot_that_is_called_answers_alone(tmp_path: Path) -> None:
    async with (
        DiscordSimulator() as discord,
        DiscordSimulator(beside=discord, name="critic") as other,
    ):
        accounts = {"discord": discord, "critic": other}
        async with serving(tmp_path, accounts) as gateway:
            asked = await discord.person("alice").says(
                discord.channel("general"), f"<@{other.bot.id}> well?"
            )
            await discord.until(lambda: asked.thread and bots_in(discord, thread_of(asked)))
            await delivered(gateway, accounts)
            assert bots_in(discord, thread_of(asked)) == [("critic", "fine")]
            (key,) = await thread_keys(gateway)
            assert key.startswith("critic/")


@pytest.mark.parametrize("webhooks", [False, True])
async def test_bots_never_answer_each_other_though_a_route_names_them(
    tmp_path: Path, webhooks: bool
) -> None:
    async with (
        DiscordSimulator() as discord,
        DiscordSimulator(beside=discord, name="critic") as other,
    ):
        accounts = {"discord": discord, "critic": other}
        bots = [str(discord.bot.id), str(other.bot.id)]
        route = {**EVERYWHERE, "mention": "always", "bots": bots}
        alice, general = discord.person("alice"), discord.channel("general")
        async with serving(
            tmp_path, accounts, route=route, threads="none", webhooks=webhooks
        ) as gateway:
            await alice.says(general, "Hello, both")
            await discord.until(lambda: len(discord.texts(general)) == 2)
            await delivered(gateway, accounts)
            assert await rows(gateway, "author") == [f"discord:{alice.id}"] * 2


async def test_an_existing_store_goes_on_with_its_keys(tmp_path: Path) -> None:
    async with DiscordSimulator() as discord:
        alice, general = discord.person("alice"), discord.channel("general")
        async with serving(tmp_path, {"discord": discord}) as gateway:
            asked = await alice.mentions(general, "Before?")
            await discord.until(lambda: asked.thread and bots_in(discord, thread_of(asked)))
            (before,) = await gateway.client.threads()
        async with (
            DiscordSimulator(beside=discord, name="critic") as other,
            serving(tmp_path, {"discord": discord, "critic": other}) as gateway,
        ):
            await alice.says(thread_of(asked), "After?")
            await discord.until(lambda: len(bots_in(discord, thread_of(asked))) == 2)
            await delivered(gateway, {"discord": discord, "critic": other})
            (after,) = await gateway.client.threads()
            assert after.id == before.id
            assert bots_in(discord, thread_of(asked)) == [("parley", "fine")] * 2
