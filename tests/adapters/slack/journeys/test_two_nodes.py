"""Two nodes keep Slack's rates together."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from adapters.slack.simulator.state import Message
from adapters.slack.testing import SlackSimulator
from gateway.rates import RateLimit, SharedRate
from gateway.runtime.shared_rates import SharedRates
from tests.adapters.slack.desk import advancing
from tests.adapters.slack.running import RunningGateway, one, running
from tests.fakes.new_store import new_store

THREADS = 6
WORDS = " ".join(f"word{number}" for number in range(80))
Share = Callable[[RateLimit], SharedRate]


@asynccontextmanager
async def nodes(
    slack: SlackSimulator, folder: Path, number: int, shared: Share | None
) -> AsyncGenerator[list[RunningGateway]]:
    """Gateways with their own surfaces, in one workspace."""
    async with AsyncExitStack() as stack:
        begun: list[RunningGateway] = []
        for node in range(number):
            place = folder / f"node{node}"
            team = lambda: one(slack.clock, WORDS, pause=0.3)  # noqa: E731
            context = running(slack, place, team, shared=shared)
            begun.append(await stack.enter_async_context(context))
        yield begun


async def refusals(
    slack: SlackSimulator, folder: Path, number: int, shared: Share | None = None
) -> Counter[str]:
    """Refusals while the nodes answer in as many threads, by method."""
    async with nodes(slack, folder, number, shared) as begun, advancing(slack):
        asked: list[tuple[RunningGateway, Message]] = []
        for thread in range(THREADS):
            node = begun[thread % number]
            person = ("alice", "bob")[thread // 2 % 2]
            asked.append((node, await node.ask(person, f"question {thread}")))
        await slack.until(lambda: all(node.finished(thread) for node, thread in asked))
        await slack.until(lambda: all("word79" in said(*each) for each in asked))
    assert slack.open_streams == []
    return Counter(call.method for call in slack.calls() if call.status == 429)


def said(node: RunningGateway, thread: Message) -> str:
    return " ".join(each.text for each in node.messages(thread))


@asynccontextmanager
async def shared_rates(
    slack: SlackSimulator, folder: Path, several: Callable[[], bool]
) -> AsyncGenerator[SharedRates]:
    """Rates in a store that goes by the workspace's time."""
    store = new_store(folder / "shared", clock=slack.clock.time)
    async with store.own():
        rates = SharedRates(store, several)
        yield rates
        await rates.close()


@pytest.mark.sqlite
@pytest.mark.chaos  # seconds
@pytest.mark.timeout(60)
async def test_slack_refuses_two_nodes_no_more_often_than_one(tmp_path: Path) -> None:
    counted: list[Counter[str]] = []
    for number, share in ((1, False), (2, False), (2, True)):
        folder = tmp_path / f"{number}{share}"
        async with SlackSimulator() as slack:
            if not share:
                counted.append(await refusals(slack, folder, number))
                continue
            async with shared_rates(slack, folder, lambda: True) as rates:
                counted.append(await refusals(slack, folder, number, rates.rate))
    alone, apart, together = counted
    assert together.total() <= alone.total() < apart.total()
