"""The chat under a Pilot with a scripted client, and event helpers."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from textual._compositor import Compositor
from textual.events import Key
from textual.pilot import Pilot

from adapters.terminal import redraw_pace
from adapters.terminal.app import ChatApp
from adapters.terminal.screens.chat import ChatScreen
from adapters.terminal.settings import Settings
from adapters.terminal.widgets.composer import Composer
from adapters.terminal.widgets.request_card import RequestCard
from adapters.terminal.widgets.transcript import Transcript
from gateway import events
from tests.fakes.hand_clock import HandClock
from tests.fakes.scripted_client import NOW, ScriptedClient

MOST_OPEN = 8
"""Presses of escape that lead out of anything."""
LOOK = 0.02
"""Seconds between two looks: a look costs as much as what is waited for."""
PAINT = Compositor.render_update
PATIENCE = 40.0
"""Seconds a busy machine may take for anything."""


@dataclass
class Chat:
    """A running chat: what a test looks at and does."""

    pilot: Pilot[int]
    app: ChatApp
    client: ScriptedClient
    clock: HandClock

    @property
    def screen(self) -> ChatScreen:
        screen = self.app.screen_stack[0]
        assert isinstance(screen, ChatScreen)
        return screen

    @property
    def composer(self) -> Composer:
        return self.screen.query_one(Composer)

    @property
    def card(self) -> RequestCard:
        return self.screen.query_one(RequestCard)

    @property
    def transcript(self) -> Transcript:
        return self.screen.query_one(Transcript)

    @property
    def thread(self) -> str:
        assert self.screen.conversation is not None
        assert self.screen.conversation.thread is not None
        return self.screen.conversation.thread.id

    async def until(self, ready: Callable[[], Any]) -> None:
        """Let the app go on until something is so.

        It still is when the app has come to rest.
        """
        async with asyncio.timeout(PATIENCE):
            while not ready():
                await asyncio.sleep(LOOK)
                if ready():
                    await self.pilot.pause(0)

    async def until_shown(self, *texts: str) -> None:
        await self.until(lambda: missing(self.text(), texts) == [])

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)

    def at_once(self, *keys: str) -> None:
        """Press keys faster than the screen follows."""
        for key in keys:
            self.app.post_message(Key(key, key if len(key) == 1 else None))

    async def escape_to_composer(self) -> None:
        """Leave whatever is open, as a person does."""
        for _ in range(MOST_OPEN):
            await self.press("escape")
            if len(self.app.screen_stack) == 1 and self.composer.has_focus:
                return
        raise AssertionError(f"escape does not lead out of {self.app.screen_stack}")

    async def type(self, text: str) -> None:
        """Paste a text into the draft and send it."""
        self.composer.insert(text)
        await self.pilot.press("enter")

    async def happen(self, *happened: events.SessionEvent, thread: str = "") -> None:
        await self.client.happen(thread or self.thread, *happened)

    def text(self) -> str:
        """The screen's text by lines; empty during a new layout."""
        width, height = self.app.size
        compositor = self.app.screen._compositor
        if compositor.size != self.app.size:
            return ""
        lines = ["".join(segment.text for segment in strip) for strip in compositor.render_strips()]
        assert len(lines) == height or not lines
        return "\n".join(line[:width].rstrip() for line in lines)


def missing(shown: str, texts: Sequence[str]) -> list[str]:
    return [text for text in texts if text not in shown]


def paint_nothing(compositor: Compositor, full: bool = False, **how: Any) -> Any:
    """Paint pictures of the whole screen alone.

    No terminal is there to show its changes.
    """
    if full:
        return PAINT(compositor, full, **how)
    compositor._dirty_regions.clear()


@asynccontextmanager
async def chatting(
    client: ScriptedClient,
    folder: Path,
    *,
    size: tuple[int, int] = (80, 24),
    mistakes: bool = False,
    alive: bool = False,
    there: asyncio.Event | None = None,
    **settings: Any,
) -> AsyncGenerator[Chat, None]:
    """Run the chat until the block ends, without mistakes of its own.

    With `mistakes` it may make some. Alive, or with mistakes, it paints each change; else it paints
    what a test looks at, and at last what is shown at the end. Only alive it draws at its own pace;
    else at once, however fast events come. The gateway is `there` at once, or when that event is
    set.
    """

    @asynccontextmanager
    async def connect() -> AsyncGenerator[ScriptedClient, None]:
        if there is not None:
            await there.wait()
        try:
            yield client
        finally:
            await client.aclose()

    patch = pytest.MonkeyPatch()
    if not alive:
        patch.setattr(redraw_pace, "SHORTEST", 0.0)
        patch.setattr(redraw_pace, "LONGEST", 0.0)
    if not (alive or mistakes):
        patch.setattr(Compositor, "render_update", paint_nothing)
    clock = HandClock()
    app = ChatApp(Settings(data_dir=folder, clock=clock, now=lambda: NOW + 12, **settings))
    async with asyncio.TaskGroup() as group:
        group.create_task(app.hold(connect))
        try:
            async with app.run_test(size=size, notifications=True) as pilot:
                chat = Chat(pilot, app, client, clock)
                if there is None:
                    await chat.until(lambda: chat.screen.conversation is not None)
                await pilot.pause()
                try:
                    yield chat
                finally:
                    if app.return_value is None:
                        chat.text()
                        app.exit()  # as a person leaves: what draws ends before what it draws on
                    await chat.until(lambda: not app.is_running)
        finally:
            app.disconnect()
            patch.undo()
    assert mistakes or not app.incidents.ids


# Events without their thread, which the scripted client knows.


def speaker(agent: str, model: str = "demo-model") -> events.SpeakerStarted:
    return events.SpeakerStarted(thread="", agent=agent, model=model)


def delta(agent: str, message: str, text: str) -> events.TextDelta:
    return events.TextDelta(thread="", agent=agent, message=message, text=text)


def said(agent: str, message: str, text: str) -> events.MessageFinished:
    return events.MessageFinished(thread="", agent=agent, message=message, text=text)


def called(
    agent: str, call: str, tool: str, arguments: str = "{}", **how: Any
) -> events.ToolStarted:
    return events.ToolStarted(
        thread="", agent=agent, call=call, tool=tool, arguments=arguments, **how
    )


def returned(agent: str, call: str, tool: str, result: str, **how: Any) -> events.ToolFinished:
    return events.ToolFinished(thread="", agent=agent, call=call, tool=tool, result=result, **how)


def ended(outcome: events.TurnOutcome = "done", reason: str = "") -> events.TurnFinished:
    return events.TurnFinished(thread="", outcome=outcome, reason=reason)


def began(*texts: str, first: int = 100) -> events.TurnStarted:
    messages = tuple(
        events.HumanText(inbox=first + index, author="you", text=text)
        for index, text in enumerate(texts)
    )
    return events.TurnStarted(thread="", messages=messages)


def approval(
    agent: str, request: str, tool: str, arguments: str = "{}", call: str = "", prompt: str = ""
) -> events.InputRequested:
    return events.InputRequested(
        thread="",
        request=request,
        request_kind="approval",
        agent=agent,
        prompt=prompt,
        tool=tool,
        arguments=arguments,
        call=call,
    )


def asked(agent: str, request: str, prompt: str, *options: str) -> events.InputRequested:
    return events.InputRequested(
        thread="",
        request=request,
        request_kind="choice" if options else "text",
        agent=agent,
        prompt=prompt,
        options=options,
    )
