"""Scenarios of both stores, each in its own process: `scenarios NAME ARGUMENTS...`.

The store is on PostgreSQL if the environment names a database. The answer is one line of JSON.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from itertools import pairwise
from typing import Any

from adapters.slack.simulator.state import Message
from adapters.slack.testing import HOME, RealClock, SlackSimulator
from benchmarks.gateway.scenarios import (
    POSTGRES,
    SENDERS,
    Figures,
    Person,
    bytes_written,
    message,
    opened,
    rest,
    run,
)
from benchmarks.gateway.teams import DoNothing
from benchmarks.platforms.served import BETWEEN, FIRST, served, until
from benchmarks.platforms.slack import adapter
from benchmarks.processes import family_seconds, parent_of
from gateway.gateway import Gateway
from tests.fakes.postgres_wire import EXECUTE, SYNC, CountedWire

COSTS = ("statements", "round trips", "transactions that write", "bytes of the log")
IDLE, AFTER = 10.0, 0.5
"""Seconds without messages, and behind an answer until all of it is noted."""
_BACKEND = "SELECT pg_backend_pid() AS pid"
_LOG = "SELECT pg_current_wal_insert_lsn() - '0/0' AS bytes"


async def busy(threads: int) -> Figures:
    """Five messages in each thread, as fast as they are taken."""
    async with opened(live_teams=threads) as (gateway, store):
        limit = asyncio.Semaphore(SENDERS)

        async def send(thread: int, number: int) -> None:
            async with limit:
                await gateway.accept(message(thread, number))

        await gateway.accept(message(-1, 0))
        await rest(gateway, 1)
        server, cpu, start = await server_cpu(store), time.process_time(), time.perf_counter()
        for number in range(5):
            await asyncio.gather(*(send(thread, number) for thread in range(threads)))
        await rest(gateway, 1 + 5 * threads)
        count = 5 * threads
        return {
            "messages a second": [count / (time.perf_counter() - start)],
            "CPU per message": [(time.process_time() - cpu) / count],
            "CPU of the server per message": [(await server_cpu(store) - server) / count],
        }


async def paced(seconds: float) -> Figures:
    """Seconds to each step, at forty messages a second."""
    figures: Figures = {"accepted": [], "turn_started": [], "message_finished": []}
    sent: dict[int, float] = {}

    async def watch(gateway: Gateway, number: int, thread: str) -> None:
        async with aclosing(gateway.client.events(thread)) as events:
            async for event in events:
                if event.kind in figures and number in sent:
                    figures[event.kind].append(time.perf_counter() - sent[number])

    async with opened(DoNothing()) as (gateway, _), asyncio.TaskGroup() as group:
        watching: list[asyncio.Task[None]] = []
        for number in range(40):
            receipt = await gateway.accept(message(number, -1))
            watching.append(group.create_task(watch(gateway, number, receipt.thread)))
        await rest(gateway, 40)
        count, loop = round(40 * seconds), asyncio.get_running_loop()

        async def send(number: int) -> None:
            start = sent[number % 40] = time.perf_counter()
            await gateway.accept(message(number % 40, number))
            figures["accepted"].append(time.perf_counter() - start)

        due, sending = loop.time(), list[asyncio.Task[None]]()
        for number in range(count):
            due += 1 / 40
            await asyncio.sleep(due - loop.time())
            sending.append(group.create_task(send(number)))
        await asyncio.gather(*sending)
        await rest(gateway, 40 + count)
        for task in watching:
            task.cancel()
    return {
        f"{name}: {what}": [sorted(found)[int(share * len(found))]]
        for name, found in figures.items()
        for what, share in (("p50", 0.5), ("p99", 0.99))
    }


async def written(sizes: list[int]) -> Figures:
    """Bytes that a turn writes, in a thread of so many messages."""
    figures: Figures = {}
    async with opened(DoNothing()) as (gateway, store), Person(gateway) as person:
        said = 0
        for size in sizes:
            while said < size:
                await person.say()
                said += 2
            for _ in range(40):
                before = await bytes_logged(store)
                await person.say()
                said += 2
                figures.setdefault(str(size), []).append(await bytes_logged(store) - before)
    return figures


async def round_trips(turns: int) -> Figures:
    """Statements and waits of a turn on PostgreSQL, counted on their way."""
    async with CountedWire(os.environ[POSTGRES]) as wire:
        os.environ[POSTGRES] = wire.url
        async with opened(DoNothing()) as (gateway, store), Person(gateway) as person:
            for _ in range(10):
                await person.say()
            before, commits = wire.sent.copy(), store.commits
            for _ in range(turns):
                await person.say()
            return {
                "statements": [(wire.sent[EXECUTE] - before[EXECUTE]) / turns],
                "round trips": [(wire.sent[SYNC] - before[SYNC]) / turns],
                "commits": [(store.commits - commits) / turns],
            }


async def served_message(count: int) -> Figures:
    """Cost of a message whose answer Slack's adapter streams.

    One after the other, without what the node does in the same time without any.
    """
    async with (
        CountedWire(os.environ[POSTGRES]) as wire,
        SlackSimulator(clock=RealClock()) as slack,
    ):
        os.environ[POSTGRES] = wire.url
        alice, streaming = slack.person("alice"), DoNothing(*FIRST, pause=BETWEEN)
        operator = f"slack:{HOME}:{alice.id}"
        connected = lambda: len(slack.sockets.live) >= 2  # noqa: E731 (a condition, passed on)
        async with served(adapter(slack), streaming, operator, connected) as gateway:
            store: Any = gateway.store

            async def cost() -> list[float]:
                sent, log = wire.sent, await bytes_logged(store)
                return [time.monotonic(), sent[EXECUTE], sent[SYNC], store.commits, log]

            async def ask(thread: Message | None = None) -> Message:
                begun = len(slack.calls("chat.startStream"))
                if thread is None:
                    thread = await alice.asks("general", "a question")
                else:
                    await alice.says("general", "a question", thread=thread)
                await until(lambda: len(slack.calls("chat.startStream")) > begun)
                await until(lambda: not slack.open_streams)
                await asyncio.sleep(AFTER)
                return thread

            thread = await ask()
            await ask(thread)
            times = [await cost()]
            await asyncio.sleep(IDLE)
            times.append(await cost())
            for _ in range(count):
                await ask()
            times.append(await cost())
            for _ in range(count):
                await ask(thread)
            times.append(await cost())
    idle, *spent = ([b - a for a, b in zip(*each, strict=True)] for each in pairwise(times))
    figures: Figures = {}
    for number, name in enumerate(COSTS, start=1):
        each_second = idle[number] / idle[0]
        for where, found in zip(("in a new thread", "in a thread"), spent, strict=True):
            figures[f"{name}, {where}"] = [(found[number] - each_second * found[0]) / count]
        figures[f"{name}, a second without messages"] = [each_second]
    return figures


async def server_cpu(store: Any) -> float:
    """Seconds of CPU that the database's server has used; 0 without one."""
    if POSTGRES not in os.environ:
        return 0.0
    backend = await store.read(lambda connection: connection.fetch(_BACKEND)[0]["pid"])
    return await asyncio.to_thread(lambda: family_seconds(parent_of(backend)))


async def bytes_logged(store: Any) -> int:
    """Bytes that the store has written so far."""
    if POSTGRES not in os.environ:
        return bytes_written()
    return await store.read(lambda connection: int(connection.fetch(_LOG)[0]["bytes"]))


SCENARIOS: dict[str, Callable[..., Awaitable[Figures]]] = {
    each.__name__: each for each in (busy, paced, written, round_trips, served_message)
}

if __name__ == "__main__":
    run(SCENARIOS)
