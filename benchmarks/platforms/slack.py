"""Slack's scenarios, each in its own process: `slack NAME COUNT`."""

from __future__ import annotations

import asyncio
import time
from collections import Counter

from adapters.slack import Config
from adapters.slack.adapter import SlackAdapter
from adapters.slack.testing import HOME, RealClock, SlackSimulator
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


def adapter(slack: SlackSimulator) -> SlackAdapter:
    """The real adapter, pointed at the simulator."""
    given = {"bot_token": slack.bot_token, "app_token": slack.app_token, "api_url": slack.api_url}
    return SlackAdapter(Config.model_validate(given))


async def first(count: int) -> Figures:
    """From a mention to the call that begins to stream the answer."""
    async with SlackSimulator(clock=RealClock()) as slack:
        alice = slack.person("alice")
        operator = f"slack:{HOME}:{alice.id}"
        connected = lambda: len(slack.sockets.live) >= 2  # noqa: E731 (a condition, passed on)
        figures: Figures = {"first": [], "token": []}
        async with served(adapter(slack), model := Speaking(), operator, connected):
            for number in range(count):
                begun = len(slack.calls("chat.startStream"))
                await time_first(
                    figures,
                    model,
                    lambda number=number: alice.asks("general", f"question {number}"),
                    lambda begun=begun: len(slack.calls("chat.startStream")) > begun,
                )
                await until(lambda: not slack.open_streams)
        return figures


async def start(count: int) -> Figures:
    """From the start of `parley serve` to both of its sockets."""
    async with SlackSimulator(clock=RealClock()) as slack:
        table = (
            '[[routes]]\nadapter = "slack"\nchannels = "*"\nusers = "members"\n[adapters.slack]\n'
            f'bot_token = "{slack.bot_token}"\napp_token = "{slack.app_token}"\n'
            f'api_url = "{slack.api_url}"\n'
        )
        return await started(count, table, lambda: len(slack.sockets.live) >= 2)


async def burst(count: int) -> Figures:
    """A burst of messages in the bot's threads, until all are acknowledged."""
    async with SlackSimulator(clock=RealClock(), rates=False) as slack:
        alice = slack.person("alice")
        operator = f"slack:{HOME}:{alice.id}"
        connected = lambda: len(slack.sockets.live) >= 2  # noqa: E731 (a condition, passed on)
        async with served(adapter(slack), Closed(), operator, connected, parallel=1):
            threads = [await alice.asks("general", f"thread {n}") for n in range(THREADS)]
            await until(lambda: not slack.unacknowledged)
            start = time.perf_counter()
            for number in range(count):
                await alice.says("general", f"more {number}", thread=threads[number % THREADS])
            await until(lambda: not slack.unacknowledged)
            return {"events per second": [count / (time.perf_counter() - start)]}


async def calls(streams: int) -> Figures:
    """API calls for parallel answers of 1,000 tokens."""
    async with SlackSimulator(clock=RealClock()) as slack:
        alice = slack.person("alice")
        operator = f"slack:{HOME}:{alice.id}"
        connected = lambda: len(slack.sockets.live) >= 2  # noqa: E731 (a condition, passed on)
        model = DoNothing(*PIECES, pause=1 / RATE)
        async with served(adapter(slack), model, operator, connected) as gateway:
            async with asyncio.TaskGroup() as group:
                for number in range(streams):
                    group.create_task(alice.asks("general", f"question {number}"))
            await until(lambda: gateway.vitals.turns["done"] == streams)
            ended = time.perf_counter()
            await until(lambda: not slack.open_streams and not slack.busy)
            late = time.perf_counter() - ended
        made = Counter(call.method for call in slack.calls())
        refused = sum(bool(call.error) for call in slack.calls())
        return {
            "calls": [sum(made[m] for m in made if m.startswith(("chat.", "agents."))) / streams],
            "appends": [made["chat.appendStream"] / streams],
            "most a minute": [float(slack.per_minute("chat.appendStream"))],
            "refused": [float(refused)],
            "late": [late],
        }


if __name__ == "__main__":
    answer({"start": start, "first": first, "burst": burst, "calls": calls})
