"""The faults: each is over when all nodes serve again."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager

from tests.chaos.nodes.node import Node
from tests.chaos.nodes.plan import Fault
from tests.chaos.nodes.watch import NotSeen, Watch
from tests.fakes.postgres_server import PostgresServer

JUMPS = (-30.0, 30.0)


class Faults:
    """Faults of nodes and of their database.

    `config` writes a config for so many reloads.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        server: PostgresServer,
        watch: Watch,
        config: Callable[[int], str],
    ) -> None:
        self._nodes = nodes
        self._server = server
        self._watch = watch
        self._config = config
        self._reloads = 0
        self.wrong: list[str] = []
        """Mistakes of nodes, in words."""

    async def all_serve(self) -> None:
        """Wait until each node serves. Raises NotSeen if one ends."""
        for node in self._nodes:
            await self._serves(node)

    async def meet(self, fault: Fault) -> None:
        """Let it happen, and wait until all nodes serve again."""
        node = self._nodes[fault.node]
        dice = random.Random(fault.dice)
        match fault.kind:
            case "kill":
                await node.kill()
                await node.start()
            case "freeze":
                await self._freeze(node)
            case "black hole":
                await self._black_hole(node)
            case "cut":
                await self._cut(node, dice)
            case "restart" | "crash":
                await asyncio.to_thread(self._server.restart, immediate=fault.kind == "crash")
            case "roll":
                await self._roll()
            case "reload":
                await self._reload(node)
            case "jump":
                node.clock.advance(dice.choice(JUMPS))
        await self.all_serve()

    async def _serves(self, node: Node) -> None:
        await self._watch.until(
            lambda: node.serves or not node.running, f"node {node.number} does not serve"
        )
        if not node.running:
            raise NotSeen(f"node {node.number} ended with {await node.ended()}")

    async def _freeze(self, node: Node) -> None:
        """Let it stand still until it is declared dead."""
        async with self._fenced(node):
            node.freeze()
            try:
                await self._dead(node)
            finally:
                node.thaw()

    async def _black_hole(self, node: Node) -> None:
        """Cut it off from the database until it is declared dead."""
        async with self._fenced(node):
            node.proxy.silence()
            try:
                await self._dead(node)
            finally:
                node.proxy.speak()

    async def _dead(self, node: Node) -> None:
        await self._watch.until(
            lambda: not any(map(node.is_named, self._watch.nodes)),
            f"node {node.number} is not declared dead",
        )

    @asynccontextmanager
    async def _fenced(self, node: Node) -> AsyncGenerator[None]:
        """See that it is refused something meanwhile, and serves anew."""
        before = node.fenced
        node.watch_for_serving()
        yield
        await self._serves(node)
        if node.fenced == before:
            self.wrong.append(f"node {node.number} was dead, and nothing of it was refused")

    async def _cut(self, node: Node, dice: random.Random) -> None:
        node.proxy.was_cut.clear()
        node.proxy.cut = dice.choice(("before", "after"))
        await self._watch.until(node.proxy.was_cut.is_set, f"node {node.number} commits nothing")

    async def _roll(self) -> None:
        """End all nodes in order, one by one, and start new ones."""
        for node in self._nodes:
            await self.end(node)
            await node.start()
            await self._serves(node)

    async def end(self, node: Node) -> None:
        """End a node in order."""
        node.terminate()
        await self._watch.until(lambda: not node.running, f"node {node.number} does not end")
        if code := await node.ended():
            self.wrong.append(f"node {node.number} ended with {code}: {node.log_end()}")

    async def _reload(self, node: Node) -> None:
        self._reloads += 1
        for each in self._nodes:
            each.configure(self._config(self._reloads))
        code, said = await node.command("reload")
        if code:
            self.wrong.append(f"node {node.number} did not reload: {said}")
