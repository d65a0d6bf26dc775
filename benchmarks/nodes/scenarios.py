"""Throughput, added latency, and the failover of a killed node."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import asynccontextmanager

from benchmarks.nodes.cluster import Cluster, running
from tests.fakes.postgres_server import PostgresServer

Figures = dict[str, list[float]]
SENDERS = 64
"""Messages that are sent and not yet acknowledged, at most."""
RATE = 40
"""Messages a second of the paced scenarios."""
THREADS = 200
"""Threads of the paced scenarios."""
LOOK = 0.1
"""Seconds between two counts of the database's connections."""
PAUSE = 1.0
"""Seconds of a model's answer where nodes are killed: turns are under way then."""
LOAD = "load of the machine"


async def busy(server: PostgresServer, nodes: int, threads: int) -> Figures:
    """Five messages in each thread, as fast as they are taken."""
    async with running(server, nodes) as cluster, _connections(cluster) as connections:
        await _warm_up(cluster)
        driver, first, each = cluster.driver, len(cluster.driver.sent), 5 * threads
        cpu, of_server = cluster.cpu_of_nodes(), await cluster.cpu_of_server()
        start = time.monotonic()
        for number in range(first, first + each):
            await driver.until(lambda n=number: n - len(driver.accepted) < SENDERS)
            _send(cluster, number, THREADS + number % threads)
        await _all_answered(cluster, 600)
        seconds = time.monotonic() - start
        _check(cluster)
        return {
            "messages a second": [each / seconds],
            "CPU of the nodes a message": [(cluster.cpu_of_nodes() - cpu) / each],
            "CPU of PostgreSQL a message": [(await cluster.cpu_of_server() - of_server) / each],
            "connections of a node": [max(connections) / nodes],
            LOAD: [os.getloadavg()[0]],
        }


async def paced(server: PostgresServer, nodes: int, seconds: float) -> Figures:
    """Seconds from a message to each step, at forty a second."""
    async with running(server, nodes) as cluster:
        await _warm_up(cluster)
        driver, first = cluster.driver, len(cluster.driver.sent)
        async for number in _pace(first, seconds):
            _send(cluster, number, number % THREADS)
        await _all_answered(cluster)
        _check(cluster)
        steps = {
            "accepted": driver.accepted,
            "turn begins": driver.began,
            "answer is posted": driver.posted,
        }
        numbers = range(first, len(driver.sent))
        found = {
            f"{step}, {name}": [value]
            for step, times in steps.items()
            for name, value in _parts(times[number] - driver.sent[number] for number in numbers)
        }
        return {**found, LOAD: [os.getloadavg()[0]]}


async def failover(
    server: PostgresServer, nodes: int, kills: int, failover_seconds: float | None = None
) -> Figures:
    """Seconds from a kill until its turns go on, and are answered.

    Its turns are the messages that it had acknowledged and not answered. One that nobody has
    acknowledged is sent again to another node, as platforms do. A node alone is started again at
    once.
    """
    found: list[tuple[float, float]] = []
    cluster_of = running(server, nodes, pause=PAUSE, failover_seconds=failover_seconds)
    async with cluster_of as cluster:
        await _warm_up(cluster)
        for kill in range(kills):
            found += await _kill(cluster, kill % nodes)
        _check(cluster)
    going, answered = zip(*found, strict=True)
    return {
        **{f"its turns go on, {name}": [value] for name, value in _parts(going)},
        **{f"and are answered, {name}": [value] for name, value in _parts(answered)},
        "turns of a killed node": [len(found) / kills],
        LOAD: [os.getloadavg()[0]],
    }


async def _kill(cluster: Cluster, which: int) -> list[tuple[float, float]]:
    """Kill a node under load; start it again at the end."""
    driver, node = cluster.driver, cluster.nodes[which]
    dead, killed = node.pid, 0.0
    owed: list[int] = []
    first = len(driver.sent)
    async for number in _pace(first, 5.0):
        if number - first == 2 * RATE:
            killed = time.monotonic()
            node.kill()
            await driver.until(lambda: dead not in driver.nodes)
            waiting = driver.unanswered()
            owed = [
                each for each in waiting if each in driver.accepted and driver.at.get(each) == dead
            ]
            if not driver.nodes:
                await cluster.started(node)
            driver.send_again([each for each in waiting if each not in driver.accepted])
        _send(cluster, number, number % THREADS)
    await _all_answered(cluster)
    if node.pid not in driver.nodes:
        await cluster.started(node)
    # A turn that the node had told of in its last moment needs only its answer.
    return [
        (driver.resumed.get(number, driver.posted[number]) - killed, driver.posted[number] - killed)
        for number in owed
    ]


async def _warm_up(cluster: Cluster) -> None:
    """Let each thread have a team, and each node its connections."""
    for number in range(THREADS):
        _send(cluster, number, number)
    await _all_answered(cluster)


async def _pace(first: int, seconds: float) -> AsyncGenerator[int]:
    """Numbers of messages, each when it is due."""
    loop = asyncio.get_running_loop()
    due = loop.time()
    for number in range(first, first + round(RATE * seconds)):
        yield number
        due += 1 / RATE
        await asyncio.sleep(due - loop.time())


def _send(cluster: Cluster, number: int, thread: int) -> None:
    """Send to the nodes in turn."""
    nodes = list(cluster.driver.nodes)
    cluster.driver.send(number, thread, nodes[number % len(nodes)])


async def _all_answered(cluster: Cluster, seconds: float = 120.0) -> None:
    """Wait for all answers. Raises RuntimeError if some do not come."""
    driver = cluster.driver
    try:
        await driver.until(lambda: not driver.unanswered(), seconds)
    except TimeoutError as error:
        missing = driver.unanswered()
        begun = [number for number in missing if number in driver.began]
        accepted = [number for number in missing if number in driver.accepted]
        logs = "\n".join(node.log_text[-1500:] for node in cluster.nodes)
        raise RuntimeError(
            f"not answered: {missing}; of them accepted: {accepted}; begun: {begun}\n{logs}"
        ) from error


def _check(cluster: Cluster) -> None:
    """Raise RuntimeError if a message was doubled or refused."""
    driver = cluster.driver
    if driver.doubled.total() or driver.refused:
        raise RuntimeError(f"answered twice: {+driver.doubled}; other words: {driver.refused[:3]}")


@asynccontextmanager
async def _connections(cluster: Cluster) -> AsyncGenerator[list[int]]:
    """Counts of the database's connections, taken all the time."""
    found: list[int] = []

    async def count_them() -> None:
        while True:
            found.append(await cluster.connections())
            await asyncio.sleep(LOOK)

    async with asyncio.TaskGroup() as group:
        counting = group.create_task(count_them())
        yield found
        counting.cancel()


def _parts(samples: Iterable[float]) -> Iterator[tuple[str, float]]:
    ordered = sorted(samples)
    for name, part in (("p50", 0.5), ("p99", 0.99)):
        yield name, ordered[min(int(part * len(ordered)), len(ordered) - 1)]
