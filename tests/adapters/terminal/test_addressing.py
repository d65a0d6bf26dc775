"""A name behind an at sign, typed to a real gateway."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from adapters.terminal.app import ChatApp
from adapters.terminal.settings import Settings
from gateway.client import Client
from teams import RoundRobinGroupChat
from teams.base import Team
from teams.conditions import MaxMessageTermination
from tests.adapters.terminal.running import Chat
from tests.fakes.agents import Talker
from tests.fakes.hand_clock import HandClock
from tests.gateway.scripted import ScriptedTeams, opened

NAMES = ("planner", "coder")


def team() -> Team:
    agents = [Talker(name, f"{name} speaks") for name in NAMES]
    return RoundRobinGroupChat(agents, termination_condition=MaxMessageTermination(2))


@asynccontextmanager
async def chatting(folder: Path) -> AsyncGenerator[Chat]:
    """The chat on a gateway of its own."""

    @asynccontextmanager
    async def connect() -> AsyncGenerator[Client]:
        async with opened(folder, ScriptedTeams(team, participants=NAMES)) as gateway:
            yield gateway.client

    clock = HandClock()
    app = ChatApp(Settings(data_dir=folder, clock=clock, new=True))
    async with asyncio.TaskGroup() as group:
        group.create_task(app.hold(connect))
        try:
            async with app.run_test(size=(80, 24)) as pilot:
                chat = Chat(pilot, app, None, clock)  # pyright: ignore[reportArgumentType] (a gateway)
                await chat.until(lambda: chat.screen.conversation is not None)
                yield chat
                app.exit()
                await chat.until(lambda: not app.is_running)
        finally:
            app.disconnect()


async def test_a_completed_name_alone_says_what_is_missing_and_with_a_task_it_is_called_first(
    tmp_path: Path,
):
    async with chatting(tmp_path) as chat:
        await chat.press(*"@c")
        await chat.until_shown("▸ @coder")
        await chat.press("enter", "enter")
        await chat.until_shown("What should coder do?")
        assert chat.composer.text.startswith("@coder")
        await chat.press(*"go", "enter")
        await chat.until_shown("coder speaks")
        assert "planner speaks" not in chat.text()
