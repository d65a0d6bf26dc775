"""Discord's scenarios, each in its own process: `discord NAME COUNT`."""

from __future__ import annotations

import time

from pydantic import SecretStr

from adapters.discord import Config
from adapters.discord.adapter import DiscordAdapter
from adapters.discord.testing import Channel, DiscordSimulator, Message
from benchmarks.gateway.scenarios import Closed
from benchmarks.gateway.teams import DoNothing
from benchmarks.platforms.served import (
    PIECES,
    RATE,
    THREADS,
    Figures,
    Speaking,
    answer,
    served,
    started,
    time_first,
    until,
)
from gateway.store.units import outbox

POST = ("POST", "/messages")


def adapter(discord: DiscordSimulator) -> DiscordAdapter:
    """The real adapter, pointed at the simulator."""
    return DiscordAdapter(
        Config(
            token=SecretStr(discord.token),
            api_url=discord.api_url,
            gateway_url=discord.gateway_url,
        )
    )


async def first(count: int) -> Figures:
    """From a mention to the bot's first message in a new thread."""
    async with DiscordSimulator() as discord:
        general, alice = discord.channel("general"), discord.person("alice")
        person = f"discord:{alice.id}"
        figures: Figures = {"first": [], "token": []}
        model = Speaking()
        async with served(adapter(discord), model, person, lambda: discord.gateway.sessions) as it:
            for number in range(count):
                before = len(discord.calls(*POST))
                await time_first(
                    figures,
                    model,
                    lambda number=number: alice.mentions(general, f"question {number}"),
                    lambda before=before: len(discord.calls(*POST)) > before,
                )
                await until(lambda number=number: it.vitals.turns["done"] > number)
        return figures


async def start(count: int) -> Figures:
    """From the start of the process `parley serve` to its session."""
    async with DiscordSimulator() as discord:
        table = (
            '[[routes]]\nadapter = "discord"\nchannels = "*"\nusers = "members"\n'
            f'guild = "{discord.home.id}"\n'
            f'[adapters.discord]\ntoken = "{discord.token}"\napi_url = "{discord.api_url}"\n'
            f'gateway_url = "{discord.gateway_url}"\n'
        )
        return await started(count, table, lambda: discord.gateway.open_sessions)


async def burst(count: int) -> Figures:
    """A burst of messages in the bot's threads, until all are stored."""
    async with DiscordSimulator() as discord:
        general, alice = discord.channel("general"), discord.person("alice")
        person = f"discord:{alice.id}"
        ready = lambda: discord.gateway.sessions  # noqa: E731 (a condition, passed on)
        async with served(adapter(discord), Closed(), person, ready, parallel=1) as gateway:
            asked = [await alice.mentions(general, f"thread {n}") for n in range(THREADS)]
            await until(lambda: all(_threads(discord, asked)))
            threads = _threads(discord, asked)
            start = time.perf_counter()
            for number in range(count):
                thread = threads[number % THREADS]
                assert thread is not None
                await alice.says(thread, f"more {number}")
            total = THREADS + count
            await until(lambda: sum(gateway.vitals.accepted.values()) >= total)
            return {"events per second": [count / (time.perf_counter() - start)]}


def _threads(discord: DiscordSimulator, asked: list[Message]) -> list[Channel | None]:
    return [discord.world.channels.get(message.id) for message in asked]


async def calls(streams: int) -> Figures:
    """API calls for parallel answers of 1,000 tokens."""
    async with DiscordSimulator() as discord:
        general, alice = discord.channel("general"), discord.person("alice")
        person = f"discord:{alice.id}"
        model = DoNothing(*PIECES, pause=1 / RATE)
        ready = lambda: discord.gateway.sessions  # noqa: E731 (a condition, passed on)
        async with served(adapter(discord), model, person, ready) as gateway:
            for number in range(streams):
                await alice.mentions(general, f"question {number}")
            await until(lambda: gateway.vitals.turns["done"] == streams)
            ended = time.perf_counter()
            while await gateway.store.run(outbox.undelivered_threads, "discord"):
                pass
            late = time.perf_counter() - ended
        made = discord.calls()
        edits = [call for call in made if call.method == "PATCH" and "/messages/" in call.route]
        threads = {call.parameters["channel_id"] for call in edits}
        places = [discord.world.channels[int(thread)] for thread in threads]
        posts = [call for call in made if (call.method, call.route[-9:]) == POST]
        return {
            "calls": [(len(edits) + len(posts)) / streams],
            "edits": [len(edits) / streams],
            "most a minute": [float(max(map(discord.edits_per_minute, places), default=0))],
            "refused": [float(len(discord.avoidable_429s))],
            "late": [late],
        }


if __name__ == "__main__":
    answer({"start": start, "first": first, "burst": burst, "calls": calls})
