"""Nodes on one database, with the driver behind them."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from benchmarks.nodes.driver import Driver
from benchmarks.nodes.process import CONFIG, URL, Node, Site
from benchmarks.processes import family_seconds, parent_of
from tests.fakes.postgres_server import PostgresServer

START_SECONDS = 90.0
_CONNECTIONS = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Nodes that serve, their driver, and a connection to their database."""

    nodes: list[Node]
    driver: Driver
    database: psycopg.AsyncConnection

    async def started(self, node: Node) -> None:
        """Start a node and wait until it serves."""
        node.start()
        try:
            await self.driver.until(lambda: node.pid in self.driver.nodes, START_SECONDS)
        except TimeoutError as error:
            raise RuntimeError(f"A node does not serve:\n{node.log_text[-3000:]}") from error

    async def connections(self) -> int:
        """Connections that the nodes have to the database now."""
        cursor = await self.database.execute(_CONNECTIONS)
        found = await cursor.fetchone()
        assert found is not None
        return int(found[0])

    async def cpu_of_server(self) -> float:
        """Seconds of CPU that the database's server has used."""
        backend = self.database.info.backend_pid
        return await asyncio.to_thread(lambda: family_seconds(parent_of(backend)))

    def cpu_of_nodes(self) -> float:
        """Seconds of CPU that the nodes have used."""
        return sum(family_seconds(node.pid) for node in self.nodes)


@asynccontextmanager
async def running(
    server: PostgresServer,
    number: int,
    *,
    pause: float = 0.0,
    failover_seconds: float | None = None,
) -> AsyncGenerator[Cluster]:
    """Start so many nodes on an empty database of the server."""
    url = server.new_url()
    more = "" if failover_seconds is None else f", failover_seconds = {failover_seconds:g}"
    driver = Driver()
    async with (
        driver.listening() as port,
        await psycopg.AsyncConnection.connect(url, autocommit=True) as database,
    ):
        with tempfile.TemporaryDirectory(prefix="parley-benchmark-") as folder:
            site = Site(Path(folder))
            config = CONFIG.format(url=URL, more=more, port=port, pause=pause)
            nodes = [Node(Path(folder, f"node{n}"), config, site, url) for n in range(number)]
            cluster = Cluster(nodes=nodes, driver=driver, database=database)
            try:
                for node in nodes:
                    await cluster.started(node)
                yield cluster
            finally:
                for node in nodes:
                    await asyncio.to_thread(node.stop)
