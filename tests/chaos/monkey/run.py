"""A monkey at the terminal of a live team, and its judge."""

from __future__ import annotations

import asyncio
import logging
import tempfile
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, chdir, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from textual.drivers.headless_driver import HeadlessDriver
from textual.events import Key, MouseDown, MouseScrollDown, MouseScrollUp, MouseUp, Paste, Resize
from textual.geometry import Size
from textual.pilot import Pilot
from textual.widgets._toast import Toast

from adapters.terminal.app import ChatApp
from adapters.terminal.screens.chat import ChatScreen
from adapters.terminal.screens.draft_keeper import SOON
from adapters.terminal.settings import Settings
from adapters.terminal.widgets.composer import Composer
from gateway.app.assemble import own_gateway
from gateway.app.load import load_config
from gateway.errors import causes
from gateway.items import AgentItem, HumanItem, ToolItem
from tests.chaos.monkey.steps import Step
from tests.fakes.failing_model import OVERLOADED
from tests.fakes.new_store import new_store

if TYPE_CHECKING:
    from gateway.client import Client

PATIENCE = 30.0
"""Seconds a busy machine may take to follow a burst of events."""
BEGINS, LONGEST_REST = 1.0, 10.0
"""Seconds in which a turn begins, and those that it may take."""
ROUNDS = 2
"""Queues that a key passes: the application's, a widget's, the screen's."""
MOST_OPEN = 10
"""Presses of escape that lead out of anything."""
CONFIG = """
[models.auto]
provider = "auto"
model = "gpt-4o"
[models.failing]
provider = "tests.fakes.failing_model:FailingModel"
[teams.demo]
type = "demo"
[teams.failing]
type = "round_robin"
max_turns = 1
agents.weak = { model = "failing" }
[logging]
level = "error"
"""
SCENES = (HumanItem, AgentItem, ToolItem)
"""Items that a thread has after a restart, too."""


class Violation(Exception):
    """Something that must hold did not, after the step with this number."""

    def __init__(self, step: int, text: str) -> None:
        super().__init__(text)
        self.step = step


class _Errors(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if record.exc_info:
            text += "\n" + logging.Formatter().formatException(record.exc_info)
        if OVERLOADED not in text:
            self.texts.append(text)


async def run_monkey(steps: Sequence[Step]) -> None:
    """Do the steps over a fresh store. Raises Violation."""
    errors = _Errors()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "config.toml").write_text(CONFIG)
        (folder / "notes.txt").write_text("Buy milk.")
        loaded = load_config(folder / "config.toml")
        logging.getLogger().addHandler(errors)
        try:
            async with own_gateway(loaded, new_store(folder / "store")) as gateway:
                with chdir(folder):
                    await _Terminal(gateway.client, folder, errors, steps).run()
        finally:
            logging.getLogger().removeHandler(errors)


class _Terminal:
    """Terminals, one after the other: a monkey may leave, or kill one."""

    def __init__(
        self, client: Client, folder: Path, errors: _Errors, steps: Sequence[Step]
    ) -> None:
        self._client = client
        self._folder = folder
        self._errors = errors
        self._steps = steps
        self._at = 0
        self._kept: tuple[str, str] | None = None
        """The thread of a draft that nothing may change, and the draft."""
        self._seen: tuple[str, list[str]] = ("", [])
        """The thread that was open last, while nothing ran, and what it showed."""
        self._app: ChatApp
        self._pilot: Pilot[int]

    async def run(self) -> None:
        while self._at < len(self._steps):
            thread = self._kept[0] if self._kept else self._seen[0] or None
            settings = Settings(data_dir=self._folder, thread=thread or None, new=thread == "")
            async with self._running(ChatApp(settings)):
                await self._check_transcript()
                await self._use()

    @asynccontextmanager
    async def _running(self, app: ChatApp) -> AsyncGenerator[None, None]:
        @asynccontextmanager
        async def connect() -> AsyncGenerator[Client, None]:
            yield self._client

        self._app = app
        async with asyncio.TaskGroup() as group:
            group.create_task(app.hold(connect))
            try:
                async with app.run_test(size=(80, 24), notifications=True) as pilot:
                    self._pilot = pilot
                    await self._until(lambda: self._screen.conversation is not None)
                    try:
                        yield
                    finally:
                        if not app._exit:
                            app.exit(0)
                        await self._until(lambda: not app.is_running)
            finally:
                app.disconnect()
        if app.return_value or app.failure:
            raise self._violation(f"The chat ended with {app.return_value}: {app.failure}")

    async def _use(self) -> None:
        """Go on with the steps until they end or this terminal does."""
        while self._at < len(self._steps):
            step = self._steps[self._at]
            self._at += 1
            await self._do(step)
            await asyncio.sleep(0)
            if self._left or step[0] == "kill":
                return

    async def _do(self, step: Step) -> None:
        match step:
            case ("key", *keys):
                for key in keys:
                    self._press(key)
            case ("paste", text):
                self._app.post_message(Paste(text))
            case ("click", x, y):
                self._mouse(MouseDown, x, y)
                self._mouse(MouseUp, x, y)
            case ("wheel", x, y, way):
                self._mouse(MouseScrollUp if way == "u" else MouseScrollDown, x, y)
            case ("resize", width, height):
                self._resize(Size(width, height))
            case ("pause", seconds):
                await asyncio.sleep(seconds)
            case ("say", text):
                await self._say(text)
            case ("draft", text):
                await self._begin_draft(text)
            case (name,):
                await getattr(self, f"_{name}")()
            case _:
                raise ValueError(f"no such step: {step}")

    # what it does

    def _press(self, key: str) -> None:
        self._app.post_message(Key(key, key if len(key) == 1 else None))

    def _mouse(self, kind: Any, x: float, y: float) -> None:
        width, height = self._app.size
        at = int(x * width), int(y * height)
        self._app.post_message(kind(None, *at, 0, 0, 1, False, False, False, *at))

    def _resize(self, size: Size) -> None:
        driver = self._app._driver
        assert isinstance(driver, HeadlessDriver)
        driver._size = size
        self._app.post_message(Resize(size, size))

    async def _say(self, text: str) -> None:
        await self._go_to_composer()
        if not self._left:
            self._app.post_message(Paste(text))
            self._press("enter")

    async def _rest(self) -> None:
        """Wait a while for the end of a turn, or a question."""
        for rests in (False, True):
            with suppress(TimeoutError):
                async with asyncio.timeout(LONGEST_REST if rests else BEGINS):
                    while not self._left and self._rests != rests:
                        await asyncio.sleep(0.01)

    # what must hold

    async def _look(self) -> None:
        await self._settle()
        if self._errors.texts:
            raise self._violation(self._errors.texts[0])
        if self._left:
            return
        if self._app.screen.focused is None:
            raise self._violation(f"Nothing has the focus on {self._app.screen}.")
        self._check_notices()

    def _check_notices(self) -> None:
        """See that no notice covers a request or the draft."""
        seen = self._screen._compositor.visible_widgets.items()
        shown = {widget: region.intersection(clip) for widget, (region, clip) in seen}
        below = [shown[each] for each in (self._screen._card, self._composer) if each in shown]
        for widget, region in shown.items():
            if isinstance(widget, Toast) and any(region.overlaps(each) for each in below):
                raise self._violation(f"A notice at {region} covers one of {below}.")

    async def _check_transcript(self) -> None:
        """See that a restart changes nothing that the thread shows."""
        thread, told = self._seen
        conversation = self._screen.conversation
        assert conversation is not None
        await self._until(lambda: not conversation.loading)
        now = self._told()
        if _messages(now) > _messages(told):  # one was on its way at the kill, and has arrived
            told = now
        if thread == self._thread and self._rests and now != told:
            gone = [each for each in told if each not in now]
            new = [each for each in now if each not in told]
            raise self._violation(f"After a restart, {gone} is gone, {new} is new.")
        self._seen = ("", [])

    @property
    def _rests(self) -> bool:
        conversation = self._screen.conversation
        return conversation is not None and conversation.model.activity != "working"

    def _told(self) -> list[str]:
        conversation = self._screen.conversation
        assert conversation is not None
        items = [conversation.model.items[key] for key in conversation.model.keys]
        return [f"{each}" for each in items if isinstance(each, SCENES)]

    async def _settle(self) -> None:
        """Wait until those who take events have taken them."""
        try:
            async with asyncio.timeout(PATIENCE):
                for _ in range(ROUNDS):
                    for pump in (self._app, self._app.focused, self._app.screen, self._composer):
                        taken = asyncio.Event()
                        if pump is not None and pump.call_later(taken.set):
                            while not (taken.is_set() or self._left or pump._closing):
                                await asyncio.sleep(0.001)
        except TimeoutError:
            raise self._violation("The chat takes no more events.") from None

    async def _go_to_composer(self) -> None:
        for _ in range(MOST_OPEN):
            await self._settle()
            if self._left or self._writing:
                return
            self._press("escape")
        await self._settle()
        if not (self._left or self._writing):
            raise self._violation(
                f"Escape does not lead to the composer: {self._app.screen_stack}, "
                f"focus on {self._app.focused}."
            )

    async def _begin_draft(self, text: str) -> None:
        await self._go_to_composer()
        if self._left:
            return
        self._press("ctrl+end")
        for key in text:
            self._press(key)
        await self._settle()
        if self._left:
            return
        if text not in self._composer.text:
            raise self._violation(f"{text!r} was typed, the draft is {self._composer.text!r}.")
        self._kept = self._thread, self._composer.unsent

    async def _drafted(self) -> None:
        kept, self._kept = self._kept, None
        if kept is None or self._left:
            self._kept = kept
            return
        await self._go_to_composer()
        if self._left:
            self._kept = kept
            return
        thread, draft = kept
        conversation = self._screen.conversation
        assert conversation is not None
        # The first message of an empty thread may just have made it: then the draft went with it.
        if thread != self._thread and self._composer.unsent != draft:
            conversation.open(await self._client.thread(thread) if thread else None)
        if self._composer.unsent != draft:
            raise self._violation(f"The draft was {draft!r}, it is {self._composer.unsent!r}.")

    async def _kill(self) -> None:
        """See that a kill would lose nothing that was typed."""
        await self._settle()
        if self._left:
            return
        if self._rests and self._thread:
            self._seen = self._thread, self._told()
        unsent = self._composer.unsent
        async with asyncio.timeout(PATIENCE):
            while self._saved() != unsent:
                await asyncio.sleep(SOON)
                if self._composer.unsent != unsent:
                    return  # what was being sent came back, or an answer was taken

    def _saved(self) -> str:
        name = f"{quote(self._thread, safe='') or 'new thread'}.draft"
        file = self._folder / "drafts" / "1" / name
        return file.read_text() if file.exists() else ""

    # the chat

    @property
    def _left(self) -> bool:
        return self._app._exit

    @property
    def _screen(self) -> ChatScreen:
        screen = self._app.screen_stack[0]
        assert isinstance(screen, ChatScreen)
        return screen

    @property
    def _composer(self) -> Composer:
        return self._screen._composer

    @property
    def _thread(self) -> str:
        conversation = self._screen.conversation
        return conversation.thread.id if conversation and conversation.thread else ""

    @property
    def _writing(self) -> bool:
        alone = len(self._app.screen_stack) == 1
        return alone and self._composer.has_focus and self._composer.purpose is None

    async def _until(self, ready: Any) -> None:
        try:
            async with asyncio.timeout(PATIENCE):
                while not ready():
                    await asyncio.sleep(0.01)
        except TimeoutError:
            raise self._violation("The chat did not begin or end.") from None

    def _violation(self, text: str) -> Violation:
        return Violation(self._at, text)


async def violation_of(steps: Sequence[Step]) -> Violation | None:
    """The violation in these steps, or None."""
    try:
        await run_monkey(steps)
    except Violation as violation:
        return violation
    except BaseExceptionGroup as group:  # of the task groups around it
        found = next((cause for cause in causes(group) if isinstance(cause, Violation)), None)
        if found is None:
            raise
        return found
    return None


def _messages(told: list[str]) -> int:
    return sum(each.startswith("HumanItem(") for each in told)
