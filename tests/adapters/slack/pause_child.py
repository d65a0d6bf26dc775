"""A process that catches up with the simulated workspace and is killed.

    python -m tests.adapters.slack.pause_child API_URL TOKEN FOLDER OFFSET

Its clock is so many seconds ahead.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from pydantic import SecretStr

from adapters.slack.adapter import SlackAdapter
from adapters.slack.config import Config
from gateway.access.authority import Access
from gateway.base.clock import WallClock
from gateway.config.routes import Route
from gateway.gateway import Gateway, Limits
from tests.fakes.new_store import new_store
from tests.gateway.scripted import ScriptedTeams, model, solo

EVERYWHERE = {"adapter": "slack", "channels": ["*"], "dm": True, "users": ["members"]}


class AheadClock(WallClock):
    """The time of the machine, and some seconds more."""

    def __init__(self, offset: float = 0.0) -> None:
        self.offset = offset

    def time(self) -> float:
        """The time now."""
        return super().time() + self.offset


async def main(url: str, token: str, folder: str, offset: str) -> None:
    config = Config(
        bot_token=SecretStr(token), app_token=SecretStr("xapp-1-simulated"), api_url=url
    )
    client = model(*("fine",) * 300)
    access = Access(["slack:T0HOME:U0BOSS"], routes=[Route.model_validate(EVERYWHERE)])
    gateway = Gateway(
        new_store(Path(folder)),
        ScriptedTeams(lambda: solo(client)),
        access=access,
        limits=Limits(parallel_turns=40),
    )
    async with gateway:
        await SlackAdapter(config, clock=AheadClock(float(offset))).run(gateway)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
