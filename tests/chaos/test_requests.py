"""Kills at any commit while people approve, edit and rerun.

Each of their acts counts exactly once.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from gateway.access.authority import Access, Admission
from gateway.app.stores import AnyStore
from gateway.client import Answer
from gateway.conversation import Author, ConversationKey, InboundMessage
from gateway.errors import GatewayError
from gateway.events import (
    InputRequested,
    InputResolved,
    InputSupported,
    MessageFinished,
    Notice,
    SessionEvent,
    TurnStarted,
)
from gateway.gateway import Gateway, Limits
from gateway.interactions import Click
from gateway.registry import ToolRule
from gateway.store.units import audit as audit_units
from gateway.store.units import events as event_units
from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.base import Team
from teams.models import CreateResult
from teams.models.replay import ReplayChatCompletionClient
from tests.chaos.test_modes import DyingStore
from tests.fakes.new_store import new_store
from tests.gateway.scripted import CAN_CALL, ScriptedTeams, calls

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(60)]

KEY = ConversationKey(platform="x", root="1")
ANN = Author(id="x:ann", name="Ann")
BOSSES = (Author(id="x:boss1", name="One"), Author(id="x:boss2", name="Two"))
COMMITS = range(2, 22)


class Everybody(Access):
    def __init__(self) -> None:
        super().__init__([boss.id for boss in BOSSES])

    def judge(self, message: InboundMessage) -> Admission:
        return Admission()


class Sender(ReplayChatCompletionClient):
    """Sends first, and answers once it has seen what came of that."""

    def __init__(self) -> None:
        super().__init__(["never"], model_info=CAN_CALL)

    async def create(self, messages: Any, **more: Any) -> CreateResult:  # pyright: ignore[reportIncompatibleMethodOverride]
        sent = any(part.type == "FunctionExecutionResultMessage" for part in messages)
        said = [str(part.content) for part in messages if part.type == "UserMessage"]
        if not sent:
            return calls("send")
        return CreateResult(
            finish_reason="stop",
            content=f"Done: {said[-1].splitlines()[-1]}",
            usage=calls("x").usage,
            cached=False,
        )


class Scene:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.sent = 0
        rule = ToolRule(action="ask", quorum=2)
        self.teams = ScriptedTeams(self.team, rules={"send": rule})

    def team(self) -> Team:
        agent = AssistantAgent("solo", Sender(), tools=[self.send], max_tool_iterations=5)
        return RoundRobinGroupChat([agent], max_turns=1)

    async def send(self) -> str:
        """Send it."""
        self.sent += 1
        return "sent"

    def gateway(self, store: AnyStore) -> Gateway:
        return Gateway(store, self.teams, access=Everybody(), limits=Limits(shutdown=0.02))

    async def act(self, gateway: Gateway) -> None:
        """People's acts, repeated until acknowledged."""
        thread = (await gateway.accept(message("m1", "hello", "create"))).thread
        [request] = await self.happened(gateway, thread, InputRequested)
        for boss in BOSSES:
            click = Click(request=request.request, answer=Answer(kind="approve"))
            await gateway.accept(
                InboundMessage(key=KEY, author=boss, click=click, dedupe=(f"click {boss.id}",))
            )
        await self.happened(gateway, thread, MessageFinished)
        await gateway.accept(message("m1", "hello again", "edit", event="edit"))
        offers = [
            notice
            for notice in await self.happened(gateway, thread, Notice)
            if notice.command.startswith("/again")
        ]
        again = InboundMessage(
            key=KEY, author=ANN, text=offers[0].command, dedupe=("pressed again",)
        )
        await gateway.accept(again)
        await self.happened(gateway, thread, MessageFinished, 2)

    async def happened(
        self, gateway: Gateway, thread: str, kind: type[Any], count: int = 1
    ) -> list[Any]:
        """The thread's events of a kind, once there are so many."""
        while True:
            events = await gateway.store.run(event_units.events, thread)
            found = [event for event in events if isinstance(event, kind)]
            if len([e for e in found if not isinstance(e, Notice) or e.command]) >= count:
                return found
            await asyncio.sleep(0.005)

    async def first_life(self, commits: int) -> None:
        store = DyingStore.of(self.folder)
        store.left = commits
        with suppress(GatewayError, TimeoutError):
            async with self.gateway(store) as gateway, asyncio.timeout(2):
                acting = asyncio.ensure_future(self.act(gateway))
                dying = asyncio.ensure_future(store.dead.wait())
                await asyncio.wait([acting, dying], return_when=asyncio.FIRST_COMPLETED)
                for task in (acting, dying):
                    task.cancel()
                await asyncio.gather(acting, dying, return_exceptions=True)

    async def second_life(self) -> tuple[list[SessionEvent], Counter[str]]:
        """The whole history, and counts of audit entries."""
        async with self.gateway(new_store(self.folder)) as gateway, asyncio.timeout(20):
            await self.act(gateway)
            thread = (await gateway.client.threads())[0].id
            audit = await gateway.store.run(audit_units.audit, thread)
            return await gateway.store.run(event_units.events, thread), Counter(
                row.what for row in audit
            )


def message(number: str, text: str, what: str, **more: Any) -> InboundMessage:
    dedupe = (f"{what} {number}",)
    return InboundMessage(key=KEY, author=ANN, text=text, message_id=number, dedupe=dedupe, **more)


async def test_each_act_counts_once_wherever_the_process_ends(tmp_path: Path) -> None:
    for commits in COMMITS:
        scene = Scene(tmp_path / str(commits))
        await scene.first_life(commits)
        events, audit = await scene.second_life()
        where = f"after {commits} commits"
        assert audit == {"asked": 1, "supported": 1, "answered": 1}, where
        assert scene.sent <= 1, where  # a crash may hide whether it was sent, and nobody repeats it
        assert len([e for e in events if isinstance(e, InputSupported)]) == 1, where
        assert len([e for e in events if isinstance(e, InputResolved)]) == 1, where
        offers = [e for e in events if isinstance(e, Notice) and e.command.startswith("/again")]
        assert len(offers) == 1, where
        told = [m.text for e in events if isinstance(e, TurnStarted) for m in e.messages]
        assert told == ["hello", "hello again"], where
        said = [e.text for e in events if isinstance(e, MessageFinished)]
        assert said == ["Done: hello", "Done: hello again"], where
