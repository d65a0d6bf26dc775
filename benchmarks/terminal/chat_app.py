"""A chat that measures itself, with its own gateway: `chat_app.py FOLDER SCENE`.

Scenes: `prose` and `code` stream 20,000 characters at 200 pieces per second as the answer to any
message; `long` opens a thread of 500 exchanges. FOLDER/measured.json tells, once the chat was left,
how long the event loop was held up at worst, and how many widgets were mounted at most.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from adapters.terminal.app import ChatApp
from adapters.terminal.collector import collect_rarely
from adapters.terminal.settings import Settings

if TYPE_CHECKING:
    from gateway.client import Client

RATE = 200
CHARACTERS = 20_000
PIECE = 10
EXCHANGES = 500
FIRST, LAST = "FIRSTWORD", "LASTWORD"
PARAGRAPH = (
    "The second draft keeps the **structure** of the first one, but says in its opening lines "
    "what a reader has to *decide*. See `notes.md` for what was left out, and why.\n\n"
    "- one point that fits on a line\n- another one, with `code` in it\n\n"
)
LINE = "    total += weigh(item, scale=3)  # a line of code like many others\n"


def text_of(scene: str) -> str:
    """An answer of the scene, between two words for a watcher."""
    unit, head, tail = (LINE, "```python\n", "```\n") if scene == "code" else (PARAGRAPH, "", "")
    body = (unit * (CHARACTERS // len(unit) + 1))[:CHARACTERS].rsplit("\n", 1)[0] + "\n"
    return f"{FIRST}\n\n{head}{body}{tail}\n{LAST}\n"


class Watch:
    """Looks at the event loop every few milliseconds while it runs."""

    def __init__(self, app: ChatApp) -> None:
        self.stalls: list[float] = []
        self.widgets = 0
        self._app = app

    async def run(self) -> None:
        """Until cancelled."""
        loop, every = asyncio.get_running_loop(), 0.01
        while True:
            before = loop.time()
            await asyncio.sleep(every)
            self.stalls.append(loop.time() - before - every)
            if len(self.stalls) % 50 == 0:
                self.widgets = max(self.widgets, len(self._app.screen.query("*")))

    def report(self) -> str:
        """The measurements as JSON."""
        ordered = sorted(self.stalls)
        return json.dumps(
            {
                "worst_stall": ordered[-1],
                "p95_stall": ordered[int(0.95 * len(ordered))],
                "widgets": self.widgets,
            }
        )


async def main(folder: Path, scene: str) -> None:
    """Chat until it is left."""
    collect_rarely()
    app = ChatApp(Settings(data_dir=folder))
    watch = Watch(app)

    @asynccontextmanager
    async def connect() -> AsyncGenerator[Client]:
        from benchmarks.gateway.teams import DoNothing, OneTeam, solo
        from gateway.gateway import Gateway
        from gateway.store.sqlite.store import SqliteStore

        text = PARAGRAPH if scene == "long" else text_of(scene)
        pieces = [text[at : at + PIECE] for at in range(0, len(text), PIECE)]
        paced = DoNothing(*pieces, pause=1 / RATE) if scene != "long" else DoNothing(text)
        teams = OneTeam(lambda: solo(paced, stream=scene != "long"))
        async with Gateway(SqliteStore(folder / "store"), teams) as gateway:
            if scene == "long":
                await fill(gateway.client)
            watching = asyncio.get_running_loop().create_task(watch.run())
            try:
                yield gateway.client
            finally:
                watching.cancel()

    async with asyncio.TaskGroup() as group:
        group.create_task(app.hold(connect))
        await app.run_async()
        app.disconnect()
    (folder / "measured.json").write_text(watch.report())


async def fill(client: Client) -> None:
    """Make a thread that has a history."""
    thread = (await client.create_thread()).id
    for number in range(EXCHANGES):
        await client.send(thread, f"Question {number}")
    async for event in client.events(thread):
        if event.kind == "turn_finished" and (await client.thread(thread)).state == "idle":
            break


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
