"""Film of a hand-off, a growing answer and an approval: docs/images/chat.svg.

`python docs/film.py` takes pictures of the terminal while a scripted team works. CSS alone shows
them one after the other; who wants no motion sees the last.
"""

from __future__ import annotations

import asyncio
import json
import re
import tempfile
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

from adapters.terminal.widgets.transcript import Transcript
from gateway import events
from gateway.values import ArgumentDiff
from tests.adapters.terminal.running import (
    Chat,
    approval,
    began,
    called,
    chatting,
    delta,
    ended,
    returned,
    said,
    speaker,
)
from tests.adapters.terminal.test_snapshots import settled
from tests.fakes.scripted_client import ScriptedClient

FILM = Path(__file__).parent / "images" / "chat.svg"
QUESTION = "Our queue test fails now and then. Please fix it."
PLAN = "It waits too briefly for the queue. The coder can change that."
FOUND = "The test allows 5 seconds, and the queue takes up to 12."
DONE = "The test waits 30 seconds now, and it passed 20 times in a row."
CALL = json.dumps({"path": "tests/wait.py", "content": "def wait_for(timeout=30.0): ..."})
DIFF = "@ 4 lines unchanged\n \n-def wait_for(timeout=5.0):\n+def wait_for(timeout=30.0):"
SHELL = json.dumps({"command": "pytest tests/test_queue.py"})
WHY = "It changes a file."
FONT = "'Fira Code', 'DejaVu Sans Mono', Menlo, Consolas, monospace"
CHANGE = ArgumentDiff(arguments=("content",), lines=DIFF)


async def scenes(chat: Chat, thread: str) -> AsyncGenerator[float]:
    """Let it happen; after each scene, the seconds that its picture stays."""
    happen = chat.client.happen
    for end in (14, 34, len(QUESTION)):
        chat.composer.clear()
        chat.composer.insert(QUESTION[:end])
        yield 0.35
    yield 0.6
    chat.composer.clear()
    await happen(thread, began(QUESTION), speaker("planner"))
    yield 0.7
    for start, end in ((0, 12), (12, 36)):
        await happen(thread, delta("planner", "m1", PLAN[start:end]))
        yield 0.35
    await happen(thread, said("planner", "m1", PLAN))
    yield 1.2
    handed = events.WorkHandedOff(thread="", agent="planner", target="coder", text="fix the test")
    await happen(thread, handed, speaker("coder"))
    await happen(thread, called("coder", "c1", "shell", SHELL))
    yield 1.2
    await happen(thread, returned("coder", "c1", "shell", "1 failed", duration=12.4))
    await happen(thread, said("coder", "m2", FOUND))
    yield 1.2
    asked = replace(approval("coder", "r1", "write_file", CALL, prompt=WHY), diff=CHANGE)
    await happen(thread, asked, ended("waiting"))
    await settled(chat.pilot)
    await chat.press("ctrl+t")
    yield 3.0
    await happen(
        thread, events.InputResolved(thread="", request="r1", outcome="approved", by="you")
    )
    await happen(thread, began(), speaker("coder"), called("coder", "c2", "write_file", CALL))
    await happen(thread, returned("coder", "c2", "write_file", "written", duration=0.1))
    yield 0.8
    for start, end in ((0, 22), (22, 40)):
        await happen(thread, delta("coder", "m3", DONE[start:end]))
        yield 0.35
    await happen(thread, said("coder", "m3", DONE), ended())
    yield 4.0


async def taken() -> list[tuple[str, float]]:
    """The pictures, and the seconds of each."""
    client = ScriptedClient()
    client.team_agents = dict.fromkeys(("planner", "coder"), "demo-model")
    thread = client.add_thread("Flaky queue test")
    found: list[tuple[str, float]] = []
    with tempfile.TemporaryDirectory() as folder:
        async with chatting(client, Path(folder), alive=True) as chat:
            chat.app.animation_level = "none"
            # The length of its bar depends on how busy the machine is.
            chat.app.screen.query_one(Transcript).styles.scrollbar_size_vertical = 0
            async for seconds in scenes(chat, thread):
                await settled(chat.pilot)
                found.append((chat.app.export_screenshot(simplify=True), seconds))
    return found


def film(pictures: list[tuple[str, float]]) -> str:
    """One picture that shows each of the pictures for its seconds."""
    whole = sum(seconds for _, seconds in pictures)
    box = re.search(r'viewBox="([^"]+)"', pictures[0][0])
    assert box
    style = [f".frame {{ visibility: hidden; animation: {whole:g}s step-end infinite; }}"]
    frames: list[str] = []
    at = 0.0
    for number, (picture, seconds) in enumerate(pictures):
        start, end = (100 * each / whole for each in (at, at + seconds))
        shown = f"{start:.2f}% {{ visibility: visible; }} {end:.2f}% {{ visibility: hidden; }}"
        style.append(f"@keyframes f{number} {{ 0% {{ visibility: hidden; }} {shown} }}")
        style.append(f".f{number} {{ animation-name: f{number}; }}")
        body = picture[picture.index("<style>") : picture.rindex("</svg>")]
        body = re.sub(r"@font-face \{.*?\n    \}", "", body, flags=re.DOTALL)
        body = re.sub(r"terminal-\d*-?", f"f{number}-", body)
        body = re.sub(r"font-family: Fira Code[^;]*;", f"font-family: {FONT};", body)
        frames.append(f'<g class="frame f{number}">{body}</g>')
        at += seconds
    last = f".f{len(pictures) - 1} {{ visibility: visible; }}"
    style.append(
        f"@media (prefers-reduced-motion: reduce) {{ .frame {{ animation: none; }} {last} }}"
    )
    head = f'<svg class="rich-terminal" viewBox="{box[1]}" xmlns="http://www.w3.org/2000/svg">'
    lines = [head, "<style>", *style, "</style>", *frames, "</svg>"]
    return re.sub(r"[ \t]+\n", "\n", "\n".join(lines)) + "\n"


if __name__ == "__main__":
    FILM.write_text(film(asyncio.run(taken())), encoding="utf-8")
