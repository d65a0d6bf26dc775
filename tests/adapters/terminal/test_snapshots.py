"""Pictures of the chat at both sizes.

`pytest --snapshot-update` takes new pictures.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from textual.events import Paste
from textual.pilot import Pilot

from adapters.terminal.app import ChatApp
from adapters.terminal.key_guard import INERT
from adapters.terminal.screens.chat import ChatScreen
from adapters.terminal.settings import Settings
from adapters.terminal.widgets.composer import Composer
from adapters.terminal.widgets.palette import Palette
from gateway import events
from gateway.client import Choice
from gateway.values import ArgumentDiff
from tests.adapters.terminal.running import (
    approval,
    began,
    called,
    delta,
    ended,
    returned,
    said,
    speaker,
)
from tests.fakes.hand_clock import HandClock
from tests.fakes.scripted_client import NOW, ScriptedClient

pytestmark = pytest.mark.timeout(60)

SIZES = [(80, 24), (120, 40)]
PLAN = """I will split the work:

1. reproduce the failure
2. fix it, then have it **reviewed**

```python
def wait_for(condition, timeout):
    while not condition():
        time.sleep(0.1)
```

The test *sleeps*; see `queue.py`.
"""

PROGRAM = '''"""Waiting for a condition."""

import time


def wait_for(condition, timeout=5.0):
    """True once the condition holds, False when the time is over."""
    until = time.monotonic() + timeout
    while time.monotonic() < until:
        if condition():
            return True
        time.sleep(0.1)  # the test may take longer
    return False
'''

Act = Callable[[Pilot[Any], ScriptedClient, str], Awaitable[None]]


async def settled(pilot: Pilot[Any]) -> None:
    """Wait until the picture is stable for longer than a redraw."""
    before, same = "", 0
    async with asyncio.timeout(40):
        while same < 7:
            await pilot.pause(0.1)
            now = pilot.app.export_screenshot(simplify=True)
            same = same + 1 if now == before else 0
            before = now


async def nothing(pilot: Pilot[Any], client: ScriptedClient, thread: str) -> None:
    pass


async def streaming(pilot: Pilot[Any], client: ScriptedClient, thread: str) -> None:
    await client.happen(
        thread,
        began("please fix the flaky test in tests/test_queue.py"),
        speaker("planner"),
        events.Thought(thread="", agent="planner", text="A sleep in a test is a smell."),
        said("planner", "m1", PLAN),
        events.Usage(thread="", agent="planner", prompt_tokens=812, completion_tokens=120),
        events.WorkHandedOff(
            thread="", agent="planner", target="coder", text="reproduce, then fix"
        ),
        speaker("coder"),
        called("coder", "c1", "shell", '{"command": "pytest -q tests/test_queue.py"}'),
        returned("coder", "c1", "shell", "1 failed", duration=1.4),
        delta("coder", "m2", "It fails now and then. I change the sl"),
        events.MessageQueued(
            thread="", message=events.HumanText(inbox=9, author="you", text="also the changelog")
        ),
    )


async def tool_failed(pilot: Pilot[Any], client: ScriptedClient, thread: str) -> None:
    await client.happen(
        thread,
        began("run the tests"),
        speaker("coder"),
        called("coder", "c1", "shell", '{"command": "pytest", "cwd": "/srv"}'),
        returned(
            "coder", "c1", "shell", "sh: pytest: not found\nexit 127", failed=True, duration=0.1
        ),
        called("coder", "c2", "deploy", "{}"),
        returned("coder", "c2", "deploy", "It is not known whether it ran.", unknown=True),
        said("coder", "m", "There is no pytest here."),
        ended(),
    )


async def request_card(pilot: Pilot[Any], client: ScriptedClient, thread: str) -> None:
    arguments = '{"path": "no\\u202etes.txt", "mode": "w"}'
    await client.happen(
        thread,
        began("write it down"),
        speaker("coder"),
        called("coder", "c1", "write_file", arguments),
        approval("coder", "r1", "write_file", arguments, "c1", "It changes a file."),
        approval("coder", "r2", "shell", '{"command": "sync"}'),
        ended("waiting"),
    )
    await settled(pilot)
    await pilot.press("ctrl+t")


async def arguments(pilot: Pilot[Any], client: ScriptedClient, thread: str) -> None:
    whole = json.dumps({"path": "queue/wait.py", "content": PROGRAM, "notes": {"mode": 420}})
    await client.happen(
        thread, began("go"), approval("coder", "r1", "write_file", whole), ended("waiting")
    )
    await settled(pilot)
    await pilot.press("ctrl+t")
    assert isinstance(pilot.app, ChatApp)
    clock = pilot.app._settings.clock
    assert isinstance(clock, HandClock)
    clock.advance(INERT)
    await pilot.press("enter")


async def change(pilot: Pilot[Any], client: ScriptedClient, thread: str) -> None:
    whole = json.dumps({"path": "queue/wait.py", "content": PROGRAM.replace("5.0", "30.0")})
    changed = "@ 4 lines unchanged\n \n \n-def wait_for(timeout=5.0):\n+def wait_for(timeout=30.0):"
    asked = replace(
        approval("coder", "r1", "write_file", whole),
        below=(("path", "queue"),),
        diff=ArgumentDiff(arguments=("content",), lines=changed),
    )
    await client.happen(thread, began("go"), asked, ended("waiting"))
    await settled(pilot)
    await pilot.press("ctrl+t")


async def sessions(pilot: Pilot[Any], client: ScriptedClient, thread: str) -> None:
    client.add_thread("Quarterly report", ago=3700)
    client.add_thread("Trip to Lisbon", ago=90_000)
    waiting = client.add_thread("Release 1.2", ago=40_000)
    await client.happen(waiting, ended("waiting"))
    await pilot.press("ctrl+s")


async def elsewhere(pilot: Pilot[Any], client: ScriptedClient, thread: str) -> None:
    where: dict[str, Any] = {"platform": "slack", "channel": "C1", "state": "waiting"}
    where |= {"place": "#general", "members": 12}
    client.add_thread("Ship it", id="s", ago=60, asks="coder", asked="Bob", **where)
    client.add_thread("Broken build", ago=90, asks="planner", queued=2, **where)
    client.add_thread("Trip to Lisbon", ago=90_000)
    await pilot.press("ctrl+s")
    await settled(pilot)
    await pilot.press("home", "down", "enter")
    await client.happen("s", began("ship it"), speaker("coder"), ended())
    await settled(pilot)
    if pilot.app.size.width >= 100:
        await pilot.press("ctrl+s")


async def error(pilot: Pilot[Any], client: ScriptedClient, thread: str) -> None:
    wrong = "The model's key is missing or was refused. Correct it and try again."
    words = (
        "The provider did not accept the key: Incorrect API key provided: [secret]. You can find "
        "your API key at https://platform.openai.com/account/api-keys (model 'gpt-4.1-mini' at "
        "https://api.openai.com/v1). Check the API key (OPENAI_API_KEY) and what it may do. Or set "
        "api_key_env in [models.auto]."
    )
    await client.happen(
        thread,
        began("hello"),
        speaker("helper", "gpt-x"),
        events.Notice(thread="", text=wrong, level="error", incident="3f9ac1", for_operator=words),
        ended("failed", wrong),
    )


async def finding(pilot: Pilot[Any], client: ScriptedClient, thread: str) -> None:
    await streaming(pilot, client, thread)
    await settled(pilot)
    pilot.app.post_message(Paste("one line of a log\n" * 240))
    await settled(pilot)
    await pilot.press("ctrl+f", *"TEST", "enter")


async def choosing(pilot: Pilot[Any], client: ScriptedClient, thread: str) -> None:
    client.offered["team"] = [
        Choice(name="support", description="Answers customers: desk, expert"),
        Choice(name="research", description="Reads and reports: reader, critic, writer"),
        Choice(name="release", description="Builds and checks a release: builder, tester"),
    ]
    pilot.app.screen_stack[0].query_one(Composer).insert("/new re")
    async with asyncio.timeout(40):
        while not pilot.app.screen_stack[0].query_one(Palette).display:
            await pilot.pause(0.01)
    await pilot.press("down")


LONG = (pytest.mark.chaos, pytest.mark.nightly)


@pytest.mark.parametrize(
    "size", [SIZES[0], pytest.param(SIZES[1], marks=LONG)], ids=["80x24", "120x40"]
)
@pytest.mark.parametrize(
    "act",
    [
        pytest.param(nothing, id="empty"),
        pytest.param(streaming, id="streaming"),
        pytest.param(tool_failed, id="tool-failed"),
        pytest.param(request_card, id="request"),
        pytest.param(error, id="error"),
        # The tests of each widget say what these show.
        pytest.param(arguments, id="arguments", marks=LONG),
        pytest.param(change, id="change", marks=LONG),
        pytest.param(sessions, id="sessions", marks=pytest.mark.chaos),
        pytest.param(elsewhere, id="elsewhere", marks=pytest.mark.chaos),
        pytest.param(finding, id="finding", marks=pytest.mark.chaos),
    ],
)
def test_the_chat_looks_as_before(
    snap_compare: Any, tmp_path: Path, size: tuple[int, int], act: Act
):
    assert picture(snap_compare, tmp_path, size, act)


@pytest.mark.chaos
def test_a_wide_chat_looks_as_before(snap_compare: Any, tmp_path: Path):
    assert picture(snap_compare, tmp_path, (160, 48), streaming)


@pytest.mark.chaos
def test_the_chat_looks_as_before_in_light_colours(snap_compare: Any, tmp_path: Path):
    assert picture(snap_compare, tmp_path, (80, 24), streaming, theme="parley-light")


def test_the_teams_to_choose_from_look_as_before(snap_compare: Any, tmp_path: Path):
    assert picture(snap_compare, tmp_path, (80, 24), choosing)


def picture(
    snap_compare: Any, folder: Path, size: tuple[int, int], act: Act, theme: str = ""
) -> bool:
    client = ScriptedClient()
    app = ChatApp(
        Settings(data_dir=folder, clock=HandClock(), now=lambda: NOW + 12, new=act is nothing),
        theme=theme,
    )
    app.animation_level = "none"

    @asynccontextmanager
    async def connect() -> AsyncGenerator[ScriptedClient, None]:
        yield client

    async def run_before(pilot: Pilot[Any]) -> None:
        thread = "" if act is nothing else client.add_thread("Fix flaky test")
        pilot.app.run_worker(app.hold(connect))
        screen = app.screen_stack[0]
        assert isinstance(screen, ChatScreen)
        async with asyncio.timeout(40):
            while screen.conversation is None:
                await pilot.pause(0.01)
        await act(pilot, client, thread)
        await settled(pilot)

    return snap_compare(app, terminal_size=size, run_before=run_before)
