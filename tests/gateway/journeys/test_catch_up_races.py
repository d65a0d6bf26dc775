"""Catch-up against live deliveries in every order: each text is heard once."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal, TypeAlias

import pytest

from gateway.access.authority import Access
from gateway.config.routes import Route
from gateway.conversation import Author, ConversationKey, InboundMessage, order_key
from gateway.gateway import Gateway, Limits
from gateway.store.units.copies import broken_promises
from teams.models.replay import ReplayChatCompletionClient
from tests.fakes.new_store import new_store
from tests.fakes.tested_store import UnitStore
from tests.gateway.scripted import ScriptedTeams, model, solo

AUTHORS = ("ann", "ann", "bob", "ann")
"""The authors of the messages that were missed, in their order."""
ROUTE = Route.model_validate({"adapter": "x", "channels": ["*"], "users": ["members"]})

Step: TypeAlias = int | Literal["look", "take", "turn"]
"""A live delivery of one of the messages, or what else happens.

Catch-up looks for messages that are not known, and takes them; a turn ends.
"""


class Race:
    """One conversation in which people wrote while nobody listened."""

    def __init__(self, gateway: Gateway, root: str, mode: str) -> None:
        assert isinstance(gateway.store, UnitStore)
        self._gateway, self._store = gateway, gateway.store
        self._key = ConversationKey(platform="x", channel="c", root=root)
        self._mode = mode
        self._found: list[InboundMessage] = []
        self.messages = [self._message(n, author) for n, author in enumerate(AUTHORS)]

    def _author(self, name: str) -> Author:
        """A person of this race alone, who is not too busy."""
        return Author(id=f"x:{name}{self._key.root}", name=name)

    def _message(self, number: int, author: str) -> InboundMessage:
        ident = f"{self._key.root}{number}"
        return InboundMessage(
            key=self._key,
            author=self._author(author),
            text=f"<{self._key.root} {number}>",
            message_id=ident,
            order_key=order_key(ident),
            dedupe=(self._key.dedupe("create", ident), f"client/{ident}"),
        )

    async def begin(self) -> None:
        """A first turn, so that the conversation has its thread."""
        first = InboundMessage(key=self._key, author=self._author("ann"), text="hello")
        thread = (await self._gateway.accept(first)).thread
        await self.idle()
        await self._gateway.client.send(thread, f"/queue mode {self._mode}")

    async def step(self, step: Step) -> None:
        """Let one thing happen."""
        match step:
            case "look":
                known = await self._gateway.known_keys([each.dedupe[0] for each in self.messages])
                self._found = [each for each in self.messages if each.dedupe[0] not in known]
            case "take":
                await self._gateway.accept_missed(self._found)
            case "turn":
                await self.idle()
            case number:
                await self._gateway.accept(self.messages[number])

    async def idle(self) -> None:
        """Wait until nothing runs or waits."""
        async with asyncio.timeout(20):
            while await self._store.read(self._busy):  # noqa: ASYNC110 (in the store)
                await asyncio.sleep(0.001)

    def _busy(self, connection) -> bool:
        return bool(
            connection.fetch(
                "SELECT 1 FROM threads t WHERE key = :key AND (state <> 'idle' OR EXISTS"
                " (SELECT 1 FROM inbox WHERE thread = t.id AND outcome = 'queued'))",
                {"key": str(self._key)},
            )
        )


def orders(live: Sequence[int]) -> Iterator[tuple[Step, ...]]:
    """All orders in which these are delivered while catch-up is under way."""
    steps: list[Step] = [*live, "look", "take", "turn"]
    for order in itertools.permutations(steps):
        if order.index("look") < order.index("take"):
            yield order


async def play(race: Race, order: Sequence[Step]) -> None:
    """A race in this order, after which everything is delivered again."""
    await race.begin()
    for step in order:
        await race.step(step)
    for number in reversed(range(len(AUTHORS))):
        await race.step(number)
    for step in ("look", "take", "turn"):
        await race.step(step)


def heard(client: ReplayChatCompletionClient, root: str) -> list[int]:
    """Number of times that a conversation's team knows each message."""
    calls = [str(call["messages"]) for call in client.create_calls]
    last = next(call for call in reversed(calls) if f"<{root} " in call)
    return [last.count(f"<{root} {number}>") for number in range(len(AUTHORS))]


@asynccontextmanager
async def gateway_in(folder: Path) -> AsyncGenerator[tuple[Gateway, ReplayChatCompletionClient]]:
    client = model(*["fine"] * 100_000)
    teams = ScriptedTeams(lambda: solo(client))
    limits = Limits(parallel_turns=16, collect=0.0)
    access = Access(["local:operator"], routes=[ROUTE])
    async with Gateway(new_store(folder), teams, access=access, limits=limits) as gateway:
        yield gateway, client


async def race_all(folder: Path, mode: str, all_orders: Sequence[Sequence[Step]]) -> None:
    async with gateway_in(folder) as (gateway, client):
        for number, order in enumerate(all_orders):
            race = Race(gateway, str(10_000 + number), mode)
            await play(race, order)
            assert heard(client, str(10_000 + number)) == [1, 1, 1, 1], order
    assert await new_store(folder).read(broken_promises) == []


async def test_each_text_reaches_the_team_once_in_whatever_order_it_comes(tmp_path: Path) -> None:
    await race_all(tmp_path, "queue", [*orders([1])])


LONG = [
    *itertools.product(
        itertools.combinations(range(4), 2), ["queue", "steer", "interrupt", "collect"]
    ),
    ((0, 1, 3), "queue"),
]
"""All pairs in all modes, and one three in `make nightly`."""


@pytest.mark.chaos
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("live", "mode"),
    [
        ((0, 1), "queue"),
        ((0, 2), "steer"),
        ((0, 3), "interrupt"),
        ((1, 2), "collect"),
        ((1, 3), "steer"),
        ((2, 3), "interrupt"),
        *(pytest.param(*each, marks=pytest.mark.nightly) for each in LONG),
    ],
    ids=str,
)
async def test_each_text_reaches_the_team_once_in_every_order_and_mode(
    tmp_path: Path, live: Sequence[int], mode: str
) -> None:
    await race_all(tmp_path, mode, [*orders(live)])
