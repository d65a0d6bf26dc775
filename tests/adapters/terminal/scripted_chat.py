"""A chat with a scripted client, as a program: `scripted_chat.py FOLDER SCENE`."""

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from adapters.terminal import Settings, run_chat

FOLDER, SCENE = Path(sys.argv[1]), sys.argv[2]
HOSTILE = "\x1b]52;c;aGk=\x07\x1b]0;title\x07\x1b[2J\x9b31m[/nope] \u202egnp.exe"


@asynccontextmanager
async def connect() -> AsyncGenerator:
    from gateway.errors import StoreUnwritable
    from gateway.events import TextDelta
    from tests.adapters.terminal.running import approval, began, called, ended, said, speaker
    from tests.fakes.scripted_client import ScriptedClient

    if SCENE == "refused":
        raise StoreUnwritable("The folder can't be written.")
    if SCENE == "mistake":

        async def draw(self: object, items: object) -> None:
            secret = "sk-value-of-a-variable"
            raise ZeroDivisionError(len(secret))

        from adapters.terminal.widgets.transcript import Transcript

        Transcript.draw = draw  # pyright: ignore[reportAttributeAccessIssue]
    client = ScriptedClient()
    thread = client.add_thread(HOSTILE)
    await client.happen(
        thread,
        began(HOSTILE),
        speaker(HOSTILE),
        called(HOSTILE, "c", HOSTILE, '{"a": "\\u001b]52;c;aGk=\\u0007"}'),
        said(HOSTILE, "m", HOSTILE),
    )

    leaving = asyncio.Event()

    async def stream() -> None:
        while not leaving.is_set():
            await client.happen(
                thread, TextDelta(thread=thread, agent="a", message="s", text="word ")
            )
            await asyncio.sleep(0.01)

    async def flood() -> None:
        for number in range(300):
            text = f"word {number:_>60}\n\n" * 10
            await client.happen(thread, said("a", f"s{number}", text))
            await asyncio.sleep(0.01)
        await client.happen(thread, said("a", "t", "high tide"))
        (FOLDER / "flooded").write_text("")

    async with asyncio.TaskGroup() as group:
        if SCENE == "stream":
            group.create_task(stream())
        elif SCENE == "flood":
            group.create_task(flood())
        else:
            ask = approval(HOSTILE, "r", HOSTILE, HOSTILE, prompt=HOSTILE)
            await client.happen(thread, ask, ended("waiting"))
        try:
            yield client
        finally:
            leaving.set()
            if SCENE == "hangs":
                await asyncio.sleep(3600)
            (FOLDER / "closed").write_text("")


sys.exit(run_chat(connect, Settings(data_dir=FOLDER)))
