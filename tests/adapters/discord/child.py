"""A process that serves a test's simulated Discord until killed:

python -m tests.adapters.discord.child FOLDER API_URL GATEWAY_URL TEAM
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from adapters.discord import Config
from adapters.discord.adapter import DiscordAdapter
from gateway.access.authority import Access
from gateway.config.routes import Route
from gateway.gateway import Gateway
from gateway.registry import ToolRule
from teams.base import Team
from tests.fakes.new_store import new_store
from tests.fakes.scripted_model import ScriptedModel, says
from tests.gateway.scripted import ScriptedTeams, calls, solo

WORDS = [f"word{n} " for n in range(60)]


def ring(bell: str) -> str:
    """Ring a bell."""
    with Path(os.environ["RUNG"]).open("a") as file:
        file.write(f"{bell}\n")
    return f"{bell} rung"


def talks() -> Team:
    """An agent that says the same words each time, 20 ms apart."""
    return solo(_SlowModel([*WORDS, "end."]), model_client_stream=True)


def rings() -> Team:
    """An agent that wants to ring the bell."""
    wanted = calls("ring", ring='{"bell": "big"}')
    return solo(ScriptedModel(wanted, "It rang.", speaker="solo"), tools=[ring], messages=9)


def echoes() -> Team:
    """An agent that says what it was told last."""
    return solo(_EchoModel("", speaker="solo"))


class _EchoModel(ScriptedModel):
    async def create(self, messages, **more):
        said = messages[-1].content
        return says(f"You said: {said}")


class _SlowModel(ScriptedModel):
    def __init__(self, words: list[str]) -> None:
        super().__init__(words, speaker="solo")

    async def create_stream(self, *arguments, **more):
        async for piece in super().create_stream(*arguments, **more):
            await asyncio.sleep(0.02)
            yield piece


async def serve(folder: str, api: str, gateway_url: str, team: str) -> None:
    make = {"talks": talks, "rings": rings, "echoes": echoes}[team]
    teams = ScriptedTeams(make, rules={"ring": ToolRule(action="ask")})
    route = Route(adapter="discord", channels=["*"], dm=True, users=["members"])
    operators = filter(None, os.environ.get("OPERATORS", "").split(","))
    access = Access(list(operators), routes=[route])
    token = SecretStr(os.environ["TOKEN"])
    threads: Any = os.environ.get("THREADS", "public")
    config = Config(token=token, api_url=api, gateway_url=gateway_url, threads=threads)
    async with Gateway(new_store(Path(folder)), teams, access=access) as gateway:
        ahead = float(os.environ.get("CLOCK_AHEAD", "0"))
        await DiscordAdapter(config, clock=lambda: time.time() + ahead).run(gateway)


if __name__ == "__main__":
    asyncio.run(serve(*sys.argv[1:]))
