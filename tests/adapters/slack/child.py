"""A process that serves the simulated workspace, for tests that kill it.

    python -m tests.adapters.slack.child API_URL TOKEN FOLDER THREAD USER

It asks its team a question in the thread, unless it did so before, and writes what comes of it.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from pydantic import SecretStr

from adapters.slack.config import Config
from adapters.slack.connection.web_api import SlackClients
from adapters.slack.outbound.surface import SlackSurface
from adapters.slack.testing import HOME
from gateway.access.authority import Access
from gateway.conversation import Author, ConversationKey, InboundMessage
from gateway.delivery.service import delivering
from gateway.gateway import Gateway, Limits
from gateway.registry import ToolRule
from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.base import Team
from teams.conditions import TextMentionTermination
from teams.models import CreateResult
from tests.fakes.new_store import new_store
from tests.fakes.scripted_model import ScriptedModel, calls
from tests.gateway.scripted import ScriptedTeams

WORDS = [f"word{n}" for n in range(60)]
PAUSE = 0.04


class Slow(ScriptedModel):
    """A model that takes its time."""

    async def create_stream(self, *args, **more):
        async for piece in super().create_stream(*args, **more):
            if not isinstance(piece, CreateResult):
                await asyncio.sleep(PAUSE)
            yield piece


def team() -> Team:
    """Says something, asks for leave to pay, and says that it has."""

    async def pay() -> str:
        """Pay."""
        return "paid"

    said = [f"{word} " for word in WORDS]
    writer = AssistantAgent("writer", Slow(said, speaker="writer"), model_client_stream=True)
    payer = AssistantAgent(
        "payer",
        Slow(calls(("pay", {})), "All is paid. END", speaker="payer"),
        tools=[pay],
        max_tool_iterations=3,
        model_client_stream=True,
    )
    return RoundRobinGroupChat([writer, payer], termination_condition=TextMentionTermination("END"))


async def main(url: str, token: str, folder: str, key: str, user: str) -> None:
    thread = ConversationKey.parse(key)
    author = Author(id=f"slack:{HOME}:{user}", name="someone")
    config = Config(
        bot_token=SecretStr(token),
        app_token=SecretStr("xapp-1-simulated"),
        api_url=url,
    )
    teams = ScriptedTeams(team, rules={"pay": ToolRule(action="ask")})
    async with (
        SlackClients(config) as clients,
        Gateway(
            new_store(Path(folder)),
            teams,
            access=Access([author.id]),
            limits=Limits(shutdown=0.1),
        ) as gateway,
    ):
        surface = SlackSurface(clients)
        async with surface.maintained(), delivering(gateway.delivery, surface):
            asked = InboundMessage(
                key=thread, author=author, text="do it", dedupe=(f"asked/{key}",)
            )
            await gateway.accept(asked)
            await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
