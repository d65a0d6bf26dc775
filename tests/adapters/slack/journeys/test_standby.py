"""A node that leaves the search for missed messages to another one."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from adapters.awaited_files import AwaitedFiles
from adapters.slack import adapter
from adapters.slack.testing import SlackSimulator
from gateway.backfill import pauses
from gateway.backfill.pauses import ALIVE
from gateway.client import Receipt
from gateway.conversation import InboundMessage
from gateway.errors import StoreUnreachable
from gateway.inbound.capabilities import HostLeases
from gateway.inbound.intake import Intake
from tests.adapters.slack.inbound.test_catch_up import away
from tests.adapters.slack.serving import served

LEASE = "slack catch-up"


class Standby:
    """A node whose database can be away.

    Another one has the lease unless it is `ours`. `refused` names what the database did not answer.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.away = self.ours = False
        self.refused: list[str] = []
        hold, accept = HostLeases.hold, Intake.take

        async def hold_lease(leases: HostLeases, lease: str) -> bool:
            self._check(lease)
            return await hold(leases, lease) and (self.ours or lease != LEASE)

        async def accept_message(intake: Intake, message: InboundMessage) -> Receipt:
            self._check(message.text)
            return await accept(intake, message)

        monkeypatch.setattr(HostLeases, "hold", hold_lease)
        monkeypatch.setattr(Intake, "take", accept_message)
        monkeypatch.setattr(pauses, "MARK_EVERY", 0.002)
        monkeypatch.setattr(adapter, "LOOK_EVERY", 0.002)
        monkeypatch.setattr(pauses, "FROZEN", math.inf)  # minutes go by at once

    def _check(self, what: str) -> None:
        if self.away:
            self.refused.append(what)
            raise StoreUnreachable("no database")


async def test_a_database_that_is_away_for_a_moment_does_not_end_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = Standby(monkeypatch)
    async with SlackSimulator(rates=False) as slack, served(slack, tmp_path) as run:
        node.away = True
        await run.until(lambda: LEASE in node.refused or run.adapter.done())
        node.away = False
        asked = await slack.person("ann").asks("general", "still there?")
        await run.until(lambda: slack.messages("general", asked)[1:] or run.adapter.done())
        assert not run.adapter.done()


async def test_what_it_could_not_store_is_left_to_the_node_that_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = Standby(monkeypatch)
    async with SlackSimulator(rates=False) as slack, served(slack, tmp_path) as run:
        node.away = True
        await slack.person("ann").asks("general", "is this lost?")
        await run.until(lambda: "is this lost?" in node.refused)
        await away(slack, 600)
        await run.gateway.marks.keep(
            "slack", ALIVE, f"{slack.clock.time():.3f}"
        )  # by the other node
        node.away = False
        await run.noted()
        node.ours = True
        await run.until(lambda: slack.clock.advance(1) or run.asked)
        assert await run.inbox("text") == ["is this lost?"]


async def test_the_minute_that_slack_leaves_out_is_left_to_the_node_that_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = Standby(monkeypatch)
    async with SlackSimulator(rates=False) as slack, served(slack, tmp_path) as run:
        slack.hold()
        slack.world.quota.most = 0
        await slack.person("ann").asks("general", "are you there?")
        slack.clock.advance(61)
        slack.release()
        await run.noted()
        node.ours = True
        await run.until(lambda: slack.clock.advance(1) or run.asked)
        assert await run.inbox("text") == ["are you there?"]


async def test_files_that_a_dead_node_was_fetching_are_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = Standby(monkeypatch)
    node.ours = True
    async with SlackSimulator(rates=False) as slack, served(slack, tmp_path) as run:
        with monkeypatch.context() as elsewhere:
            elsewhere.setattr(AwaitedFiles, "look", leave)
            bot = f"<@{slack.bot.id}>"
            await slack.person("ann").uploads("general", "list.txt", b"buy bread", text=bot)
            await run.accepted(1)
        await run.until(lambda: run.asked)
        assert "buy bread" in str(run.heard())


async def leave(_: AwaitedFiles) -> None:
    """Leave files to the node that accepted them."""
