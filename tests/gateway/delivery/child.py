"""A process that writes to a file platform and kills itself.

    python -m tests.gateway.delivery.child FOLDER FILE CALL WHEN

It asks its team unless it did so before, and ends once all is delivered. CALL and WHEN say at which
of its calls it dies, before or after the call took effect; "never" lets it live.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

from gateway.surface import Line, Part, Place, Speech
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.scripted_surface import Board, Surface
from tests.gateway.delivery.delivered import all_told, say, served
from tests.gateway.scripted import solo

WORDS = [f"word{n} " for n in range(12)]


class FileSurface(Surface):
    """Its messages stand in a file, which outlives the process."""

    def __init__(self, file: Path, call: str, when: str) -> None:
        super().__init__(Board())
        self._file = file
        self._call_to_die_at = call
        self._when = when

    def _write(self, **line: object) -> None:
        with self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def _die(self, call: str, when: str) -> None:
        if (call, when) == (self._call_to_die_at, self._when):
            os.kill(os.getpid(), signal.SIGKILL)

    async def post(self, place: Place, part: Part) -> str:
        self._die("post", "before")
        self._write(id=part.key, text=_text(part), unsure=part.unsure)
        self._die("post", "after")
        return part.key

    async def edit(self, place: Place, message: str, part: Part) -> None:
        self._die("edit", "before")
        self._write(id=message, text=_text(part), unsure=part.unsure, edit=True)
        self._die("edit", "after")

    async def find(self, place: Place, key: str, since: float, *, speech: bool) -> str | None:
        lines = self._file.read_text("utf-8").splitlines() if self._file.exists() else []
        return next((key for line in lines if json.loads(line)["id"] == key), None)


def _text(part: Part) -> str:
    assert isinstance(part.content, Speech | Line)
    return part.content.text


async def main(folder: Path, file: Path, call: str, when: str) -> None:
    async def pause() -> None:
        await asyncio.sleep(0.01)

    class Slow(ScriptedModel):
        async def create_stream(self, *args, **more):
            async for piece in super().create_stream(*args, **more):
                await pause()
                yield piece

    def team():
        return solo(Slow(list(WORDS), speaker="solo"), model_client_stream=True)

    async with served(folder, FileSurface(file, call, when), team) as gateway:
        if not await gateway.client.threads():
            await say(gateway, "count")
        await all_told(gateway)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4]))
