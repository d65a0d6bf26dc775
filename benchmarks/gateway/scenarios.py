"""The gateway's scenarios, each in its own process: `scenarios NAME ARGUMENTS...`.

The answer is one line of JSON: samples in seconds or bytes, by name.
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import random
import sqlite3
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, closing, nullcontext
from itertools import accumulate, chain
from pathlib import Path
from typing import Any, Self

from benchmarks.gateway.teams import DoNothing, OneTeam, configured, solo
from gateway.base.collector import rare_collections
from gateway.base.logging import LOG_FILE, flush_log, log_json
from gateway.control.metrics_page import metrics_page
from gateway.conversation import Author, ConversationKey, InboundMessage
from gateway.gateway import Gateway, Limits
from gateway.store.sqlite.store import SqliteStore
from gateway.store.units import search_index

OPERATOR = Author(id="local:operator")
SENDERS = 64
TEXT = "A question of the length that questions in chats have, about one line and a half, no more."
Figures = dict[str, list[float]]
_MANY = "WITH RECURSIVE s (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM s WHERE i + 1 < {}) INSERT"
GENERATED = (
    f"{_MANY.format(':threads')} INTO threads (id, key, team, definition, created_at, updated_at)"
    " SELECT 't' || i, 'slack/T1/C1/' || i || '/', 'solo', '', i, i FROM s",
    f"{_MANY.format(':messages')} INTO turns (id, thread, n, status, destination, started_at)"
    " SELECT 'u' || i, 't' || (i / 50), i % 50 + 1, 'done', '', i FROM s",
    f"{_MANY.format(':messages')} INTO inbox (conversation, thread, turn, kind, outcome, author,"
    " author_name, text, received_at) SELECT '', 't' || (i / 50), 'u' || i, 'message', 'turn',"
    " 'slack:T1:' || (i % 3000), 'Ann', said(i), i FROM s",
    f"{_MANY.format(':messages')} INTO outbox (key, thread, place, item, n, seq, status, first_at,"
    " at) SELECT 'k' || i, 't' || (i / 50), '', 'i', 0, i, 'delivered', i, i FROM s",
    f"{_MANY.format(':messages')} INTO usage SELECT 't' || (i / 50), 'u' || i, 'gpt', '', 'solo',"
    " 'slack:T1', 1000, 200, 0.01, 1, 1700000000 + i FROM s",
    f"{_MANY.format(':threads')} INTO gaps (platform, workspace, place, threaded, since, until,"
    " returned, newest) SELECT 'slack', 'T1', 'slack/T1/C1/' || i || '/', 1, 1, 2, 3, 4 FROM s",
)
"""Statements that fill a store after a long pause: fifty messages and turns in each thread."""
OLDEST = 200_000
"""Messages that have a word which was used in them alone."""


SEARCHES = {
    "a word of every thread": "w0",
    "a word of some threads": "w20000",
    "two words": "w3000 w4000",
    "a word of one thread": "id00000777",
    "a word of the oldest threads": "begun",
    "three letters": "w12",
    "no word": "nowhere",
}


class Chatter:
    """Texts with words as common as those of a language."""

    def __init__(self) -> None:
        self._chance = random.Random(23)
        self._words = [f"w{n}" for n in range(60_000)]
        self._weights = [*accumulate(1 / (n + 2.7) ** 1.2 for n in range(60_000))]

    def said(self, n: int) -> str:
        """The n-th text: sixteen words, and rare ones in some."""
        words = self._chance.choices(self._words, cum_weights=self._weights, k=16)
        more = [f"id{n:08}"] if n % 10 == 7 else []
        return " ".join([*words, *more, *(["begun"] if n < OLDEST else [])])


POSTGRES = "PARLEY_BENCHMARK_POSTGRES"
"""Variable with the URL of an empty database, for a store on PostgreSQL."""


def new_store(folder: Path) -> Any:
    """A new store, on SQLite unless there is a database for it."""
    if not (url := os.environ.get(POSTGRES)):
        return SqliteStore(folder)
    from gateway.store.postgres.database import Database  # here, as SQLite loads nothing of it
    from gateway.store.postgres.store import PostgresStore

    return PostgresStore(Database(url=url), folder)


@asynccontextmanager
async def opened(
    model: DoNothing | None = None, **limits: float
) -> AsyncGenerator[tuple[Gateway, Any]]:
    """A gateway with store and log, as in a `parley serve` process.

    Without a model, the team is that of a config.
    """
    with tempfile.TemporaryDirectory(prefix="parley-benchmark-") as folder:
        store = new_store(Path(folder))
        teams = configured() if model is None else OneTeam(lambda: solo(model))
        log_json(Path(folder, LOG_FILE), "info")
        async with Gateway(
            store,
            teams,
            limits=Limits(**limits),  # pyright: ignore[reportArgumentType]
        ) as gateway:
            with rare_collections():
                yield gateway, store
        flush_log()


def message(thread: int, number: int) -> InboundMessage:
    """A message of a person in a thread."""
    return InboundMessage(
        key=ConversationKey(platform="benchmark", root=str(thread)),
        author=OPERATOR,
        text=TEXT,
        dedupe=(f"{thread}/{number}",),
    )


class Closed(DoNothing):
    """A model that does not answer, so that begun turns stay open."""

    async def create(self, messages: Any, **_: Any) -> Any:
        await asyncio.Event().wait()


async def accept(each: int) -> Figures:
    """Accept messages of 64 people at once.

    Measured without and with a lock that makes each message a commit alone.
    """
    figures: Figures = {}
    for number in range(2 * 3):
        alone = bool(number % 2)
        name = "alone" if alone else "grouped"
        async with opened(Closed(), parallel_turns=1, shutdown=0.1) as (gateway, store):
            await gateway.accept(message(0, -1))
            lock, before = asyncio.Lock() if alone else nullcontext(), store.commits
            start = time.perf_counter()
            latencies = await asyncio.gather(
                *(_sender(gateway, sender, each, lock) for sender in range(SENDERS))
            )
            seconds, count = time.perf_counter() - start, SENDERS * each
            ordered = sorted(chain.from_iterable(latencies))
            for what, value in (
                ("seconds per message", seconds / count),
                ("messages per commit", count / (store.commits - before)),
                ("p50", ordered[len(ordered) // 2]),
                ("p99", ordered[int(0.99 * len(ordered))]),
            ):
                figures.setdefault(f"{name}: {what}", []).append(value)
    return figures


async def _sender(gateway: Gateway, sender: int, each: int, lock: Any) -> list[float]:
    seconds: list[float] = []
    for number in range(each):
        start = time.perf_counter()
        async with lock:
            # No more in a thread than may wait there.
            await gateway.accept(message(sender + SENDERS * (number // 20), number))
        seconds.append(time.perf_counter() - start)
    return seconds


class Person:
    """Writes in one thread and watches it."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._number = 0

    async def say(self) -> dict[str, float]:
        """Write, and measure the seconds to each kind of event."""
        self._number += 1
        start = time.perf_counter()
        receipt = await self._gateway.accept(message(0, self._number))
        seen = {"accepted": time.perf_counter() - start}
        if self._number == 1:
            events = self._gateway.client.events(receipt.thread)
            self._events = await self._stack.enter_async_context(aclosing(events))
        while "turn_finished" not in seen:
            event = await anext(self._events)
            seen.setdefault(event.kind, time.perf_counter() - start)
        return seen

    async def __aenter__(self) -> Self:
        self._stack = AsyncExitStack()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()


async def first_event(count: int) -> Figures:
    """One person, who sees that the team begins, and then its answer."""
    figures: Figures = {}
    async with opened(DoNothing()) as (gateway, _), Person(gateway) as person:
        await person.say()
        for _ in range(count):
            for kind, seconds in (await person.say()).items():
                figures.setdefault(kind, []).append(seconds)
    return figures


async def end_to_end(threads: int, live: int, logs: bool = True) -> Figures:
    """Run five messages in each of so many threads to the end.

    With or without a log.
    """
    if not logs:
        logging.disable()
    async with opened(live_teams=live) as (gateway, store):
        gc.collect()
        held, cpu, start = resident(), time.process_time(), time.perf_counter()
        limit = asyncio.Semaphore(SENDERS)

        async def send(thread: int, number: int) -> None:
            async with limit:
                await gateway.accept(message(thread, number))

        for number in range(5):
            await asyncio.gather(*(send(thread, number) for thread in range(threads)))
        accepted = time.perf_counter() - start
        await rest(gateway, 5 * threads)
        seconds, count = time.perf_counter() - start, 5 * threads
        flush_log()
        cpu = time.process_time() - cpu
        gc.collect()
        return {
            "seconds per message": [seconds / count],
            "CPU per message": [cpu / count],
            "accepted, seconds per message": [accepted / count],
            "messages per commit": [count / store.commits],
            "resident per thread": [(resident() - held) / threads],
        }


async def trickle(seconds: float) -> Figures:
    """CPU of a message where twenty come each second, in forty threads."""
    async with opened(DoNothing()) as (gateway, store):
        for number in range(40):
            await gateway.accept(message(number, -1))
        await rest(gateway, 40)
        count, loop = round(20 * seconds), asyncio.get_running_loop()
        commits, cpu, due = store.commits, time.process_time(), loop.time()
        for number in range(count):
            due += 0.05
            await asyncio.sleep(due - loop.time())
            await gateway.accept(message(number % 40, number))
        await rest(gateway, 40 + count)
        return {
            "CPU per message": [(time.process_time() - cpu) / count],
            "commits per message": [(store.commits - commits) / count],
        }


async def memory(threads: int, messages: int) -> Figures:
    """Resident memory with 100 live teams, after so many threads and messages."""
    async with opened(DoNothing(), live_teams=100) as (gateway, _):
        turns = 0
        for number in range(messages // 2):
            for first in range(0, threads, 500):
                some = range(first, min(first + 500, threads))
                await asyncio.gather(*(gateway.accept(message(each, number)) for each in some))
                turns += len(some)
                await rest(gateway, turns)
        gc.collect()
        return {"resident": [float(resident())]}


async def build(count: int) -> Figures:
    """Build the teams of a config, as each thread's first turn does."""
    teams = configured()
    samples: Figures = {}
    for name in teams.names():
        await teams.build(name, workdir=Path.cwd())
        for _ in range(count):
            start = time.perf_counter()
            await teams.build(name, workdir=Path.cwd())
            samples.setdefault(name, []).append(time.perf_counter() - start)
    return samples


async def written(sizes: list[int]) -> Figures:
    """Bytes that a turn writes, in a thread of so many messages."""
    figures: Figures = {}
    async with opened(DoNothing()) as (gateway, store), Person(gateway) as person:
        said, turns = 0, 40
        for size in sizes:
            while said < size:
                await person.say()
                said += 2
            commits = store.commits
            for _ in range(turns):
                before = bytes_written()
                await person.say()
                said += 2
                figures.setdefault(f"{size}: bytes", []).append(bytes_written() - before)
            figures[f"{size}: commits"] = [(store.commits - commits) / turns]
    return figures


async def figures(messages: int) -> Figures:
    """Show the figures of a generated store, and search it."""
    samples: Figures = {}
    with tempfile.TemporaryDirectory(prefix="parley-benchmark-") as folder:
        store = SqliteStore(Path(folder))
        async with store.own():
            pass
        with closing(sqlite3.connect(store.path)) as connection, connection:
            connection.execute("PRAGMA foreign_keys = OFF")
            connection.create_function("said", 1, Chatter().said)
            for statement in GENERATED:
                connection.execute(statement, {"messages": messages, "threads": messages // 50})
        async with store.own():
            while await store.run(search_index.index_words):
                pass
        async with Gateway(store, OneTeam(lambda: solo(DoNothing()))) as gateway:
            for _ in range(20):
                start = time.perf_counter()
                status = await gateway.client.status()
                seen = time.perf_counter()
                metrics_page(gateway.vitals, status, store.folder, None)
                samples.setdefault("status", []).append(seen - start)
                samples.setdefault("scrape", []).append(time.perf_counter() - start)
            for what, words in SEARCHES.items():
                for _ in range(20):
                    start = time.perf_counter()
                    await gateway.client.threads(search=words)
                    samples.setdefault(f"search, {what},", []).append(time.perf_counter() - start)
    return samples


async def rest(gateway: Gateway, turns: int) -> None:
    """Wait until so many turns were run.

    It looks at a counter, since counting rows would be part of the measurement.
    """
    while gateway.vitals.turns.total() < turns:  # noqa: ASYNC110 (nothing tells of it)
        await asyncio.sleep(0.05)


def resident() -> int:
    """Bytes of this process that are resident."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def bytes_written() -> int:
    """Bytes that this process has handed to write calls."""
    lines = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(lines["wchar"])


SCENARIOS: dict[str, Callable[..., Awaitable[Figures]]] = {
    "accept": accept,
    "first_event": first_event,
    "end_to_end": end_to_end,
    "trickle": trickle,
    "memory": memory,
    "build": build,
    "written": written,
    "figures": figures,
}


def run(scenarios: Mapping[str, Callable[..., Awaitable[Figures]]]) -> None:
    """Run the one that the command line names; its arguments are JSON."""
    name, *arguments = sys.argv[1:]
    figures = asyncio.run(scenarios[name](*map(json.loads, arguments)))  # pyright: ignore[reportArgumentType]
    print(json.dumps(figures))


if __name__ == "__main__":
    run(SCENARIOS)
