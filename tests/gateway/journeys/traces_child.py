"""A process that traces its turns and is killed.

    python -m tests.gateway.journeys.traces_child FOLDER COLLECTOR PART

PART: "accept" takes a message and kills itself before the turn begins; "run" goes on and stays in a
tool until it is killed; "deliver" goes on and ends once all is delivered.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from gateway.access.authority import Access
from gateway.app.tracing import exporting
from gateway.config.tracing import TracingConfig
from gateway.conversation import InboundMessage
from gateway.gateway import Gateway
from gateway.runtime.settings import Limits
from teams.base import Team
from tests.fakes.new_store import new_store
from tests.fakes.scripted_surface import Board, Surface
from tests.gateway.delivery.delivered import ANN, HERE, all_told, served
from tests.gateway.scripted import ScriptedTeams, calls, solo


async def main(folder: Path, part: str) -> None:
    async def linger() -> str:
        """Linger."""
        if part == "run":
            await asyncio.Event().wait()
        return "late"

    def team() -> Team:
        answers = [calls("linger")] if part == "run" else ["Done."]
        return solo(*answers, tools=[linger], messages=9 if part == "run" else 2)

    if part == "accept":
        limits, teams = Limits(parallel_turns=0), ScriptedTeams(team)
        async with Gateway(
            new_store(folder), teams, access=Access([ANN.id]), limits=limits
        ) as gateway:
            await gateway.accept(InboundMessage(key=HERE, author=ANN, text="hi"))
            os.kill(os.getpid(), signal.SIGKILL)
    surface = Surface(Board())
    if part == "run":
        surface.open.clear()  # another process's board would not know what it writes
    async with served(folder, surface, team) as gateway:
        await all_told(gateway)


if __name__ == "__main__":
    with exporting(TracingConfig(endpoint=sys.argv[2])):
        asyncio.run(main(Path(sys.argv[1]), sys.argv[3]))
