"""Kills at any commit, in every queue mode.

Messages join, interrupt or are collected: each of them reaches the team exactly once.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from gateway.access.authority import Access, Admission
from gateway.app.stores import AnyStore
from gateway.conversation import Author, ConversationKey, InboundMessage
from gateway.errors import GatewayError, StoreUnwritable
from gateway.events import MessageJoined, SessionEvent, TurnFinished, TurnStarted
from gateway.gateway import Gateway, Limits
from gateway.registry import ToolRule
from gateway.store.units import counts as count_units
from gateway.store.units import events as event_units
from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from tests.fakes.new_store import new_store
from tests.fakes.tested_store import ChangedStore
from tests.gateway.scripted import Door, ScriptedTeams, calls, model

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(60)]

KEY = ConversationKey(platform="x", root="1")
ANN = Author(id="x:ann", name="Ann")
TEXTS = ["first", "second", "third"]
COMMITS = range(1, 19)


class Everybody(Access):
    def __init__(self, mode: str) -> None:
        super().__init__()
        self.mode = mode

    def judge(self, message: InboundMessage) -> Admission:
        return Admission(mode=self.mode)


class DyingStore(ChangedStore):
    """After so many commits nothing of this process is written any more."""

    left = 0

    @cached_property
    def dead(self) -> asyncio.Event:
        return asyncio.Event()

    async def write(self, unit: Any, then: Any = None, *, alone: bool = False) -> Any:
        if self.left <= 0:
            self.dead.set()
            raise StoreUnwritable("The process is gone.")
        self.left -= 1
        return await super().write(unit, then, alone=alone)


class Scene:
    """A team that waits in its first tool call.

    It answers whatever it receives.
    """

    def __init__(self, folder: Path, mode: str) -> None:
        self.folder = folder
        self.access = Everybody(mode)
        self.door = Door()
        rules = {"wait": ToolRule(action="allow", idempotent=True, output="trusted")}
        self.teams = ScriptedTeams(self.team, rules=rules)

    def team(self) -> RoundRobinGroupChat:
        client = model(calls("wait"), *["ok"] * 20)
        agent = AssistantAgent("solo", client, tools=[self.wait], max_tool_iterations=5)
        return RoundRobinGroupChat([agent], max_turns=1)

    async def wait(self) -> str:
        """Wait."""
        await self.door.pass_through()
        return "waited"

    def gateway(self, store: AnyStore) -> Gateway:
        limits = Limits(collect=0.02, shutdown=0.02)
        return Gateway(store, self.teams, access=self.access, limits=limits)

    async def say(self, gateway: Gateway) -> None:
        """Deliver each message again until it is acknowledged."""
        for text in TEXTS:
            message = InboundMessage(
                key=KEY, author=ANN, text=text, message_id=text, dedupe=(text,)
            )
            await gateway.accept(message)
            if text == TEXTS[0]:
                async with asyncio.timeout(0.2):
                    await self.door.reached.wait()

    async def first_life(self, commits: int) -> None:
        store = DyingStore.of(self.folder)
        store.left = commits
        with suppress(GatewayError, TimeoutError):
            async with self.gateway(store) as gateway:
                with suppress(TimeoutError):
                    await self.say(gateway)
                self.door.open()
                async with asyncio.timeout(0.3):
                    await store.dead.wait()
        self.door.open()

    async def second_life(self) -> tuple[list[SessionEvent], list[str], dict[str, int]]:
        """The whole history, the team's memory of messages, and the outcomes."""
        async with self.gateway(new_store(self.folder)) as gateway:
            await self.say(gateway)
            async with asyncio.timeout(20):
                while True:
                    counts = await gateway.store.run(count_units.counts)
                    if not counts.inbox.get("queued") and "working" not in counts.threads:
                        break
                    await asyncio.sleep(0.01)
            thread = (await gateway.client.threads())[0].id
            events = await gateway.store.run(event_units.events, thread)
            team = self.team()
            parts = [part.data for part in await gateway.store.run(event_units.checkpoints, thread)]
            await team.load_snapshot(parts)
        state = await team.save_state()
        remembered = state["agent_states"]["RoundRobinGroupChatManager"]["message_thread"]
        of_people = [message["content"] for message in remembered if message["source"] == "user"]
        said = [text for content in of_people for text in content.split("\n\n")]
        return events, said, dict(counts.inbox)


@pytest.mark.parametrize("mode", ["queue", "steer", "interrupt", "collect"])
async def test_each_message_is_told_once_wherever_the_process_ends(tmp_path: Path, mode: str):
    for commits in COMMITS:
        scene = Scene(tmp_path / str(commits), mode)
        await scene.first_life(commits)
        events, said, outcomes = await scene.second_life()
        where = f"{mode}, after {commits} commits"
        told = Counter(
            message.text
            for event in events
            for message in (
                event.messages
                if isinstance(event, TurnStarted)
                else (event.message,)
                if isinstance(event, MessageJoined)
                else ()
            )
        )
        assert told == Counter(TEXTS), where
        assert Counter(said) == Counter(TEXTS), where
        assert outcomes.get("turn", 0) + outcomes.get("merged", 0) == len(TEXTS), where
        ends = [event for event in events if isinstance(event, TurnFinished)]
        assert ends[-1].outcome == "done", where
