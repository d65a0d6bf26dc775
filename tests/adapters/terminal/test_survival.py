"""Mistakes of our own: a notice each, and the chat goes on."""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

import pytest
from textual.app import ComposeResult
from textual.geometry import Size
from textual.widgets import Static

from adapters.terminal.widgets.bars import HeadBar
from adapters.terminal.widgets.overlay import Overlay, show
from adapters.terminal.widgets.transcript import Transcript
from tests.adapters.terminal.running import Chat, began, chatting, said
from tests.fakes.scripted_client import ScriptedClient

pytestmark = pytest.mark.timeout(60)


def _raise(*_: object) -> None:
    raise ZeroDivisionError("sk-secret")


async def _raise_later(*_: object) -> None:
    _raise()


class Broken(Static):
    """Fails at whatever a test names."""

    def __init__(self, where: str) -> None:
        super().__init__("fine")
        self.where = where

    def on_mount(self) -> None:
        if self.where == "mount":
            _raise()

    def render(self) -> str:
        if self.where == "render":
            _raise()
        return "fine"

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        if self.where == "layout":
            _raise()
        return 1

    def compose(self) -> ComposeResult:
        if self.where == "compose":
            _raise()
        return []

    def on_click(self) -> None:
        _raise()


class BrokenDialog(Overlay[None]):
    BINDINGS = [("escape", "dismiss", "Back")]  # noqa: RUF012 (typed by the base)

    def compose(self) -> ComposeResult:
        yield Static("half of it")
        _raise()


async def _mount(chat: Chat, where: str) -> None:
    await chat.screen.query_one("#thread").mount(Broken(where), before=0)


MISTAKES: dict[str, Callable[[Chat], object]] = {
    "action": lambda chat: setattr(chat.screen, "action_command", _raise),
    "worker": lambda chat: chat.screen.run_worker(_raise_later),
    "timer": lambda chat: chat.screen.set_timer(0.001, _raise),
    "callback": lambda chat: chat.screen.call_later(_raise),
    "next callback": lambda chat: chat.composer.call_next(_raise),
    "app callback": lambda chat: chat.app.call_later(_raise),
    "loop callback": lambda chat: asyncio.get_running_loop().call_soon(_raise),
    "markup": lambda chat: chat.screen.query_one("#thread").mount(Static("[/nope]")),
    "dialog": lambda chat: show(chat.screen, BrokenDialog()),
    **{
        where: lambda chat, where=where: _mount(chat, where)
        for where in ("compose", "mount", "layout", "render")
    },
}


FIRST = {"action", "worker", "render"}
"""Tried in `make test`; the others in `make chaos`."""


@pytest.mark.parametrize(
    "mistake",
    [
        pytest.param(make, marks=[] if name in FIRST else pytest.mark.chaos, id=name)
        for name, make in MISTAKES.items()
    ],
)
async def test_a_mistake_is_a_notice_with_an_id_of_the_log(
    mistake: Callable[[Chat], object], tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    client = ScriptedClient()
    async with chatting(client, tmp_path, new=True, mistakes=True) as chat:
        chat.composer.insert("a draft")
        result = mistake(chat)
        if asyncio.iscoroutine(result):
            await result
        await chat.press("ctrl+o")
        await chat.until_shown("Something went wrong in Parley")
        await chat.escape_to_composer()
        assert chat.composer.text == "a draft"
        chat.app.clear_notifications()
        await chat.press("!", "enter")
        await chat.until(lambda: client.sent)
        await chat.happen(said("helper", "m", "And on it goes."))
        await chat.until_shown("a draft!", "And on it goes.")
        (incident,) = chat.app.incidents.ids
    told = [entry for entry in caplog.records if entry.levelno >= logging.ERROR]
    assert [f"incident {incident}" in entry.getMessage() for entry in told] == [True]


async def test_a_mistake_in_each_frame_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    client = ScriptedClient()
    thread = client.add_thread("one")
    async with chatting(client, tmp_path, mistakes=True) as chat:
        monkeypatch.setattr(Transcript, "draw", _raise_later)
        monkeypatch.setattr(HeadBar, "render", _raise)
        for number in range(5):
            await chat.happen(began(f"message {number}"), thread=thread)
            chat.screen.query_one(HeadBar).refresh(layout=True)
            await chat.pilot.pause()
        await chat.until(lambda: len(chat.app.incidents.ids) == 2)
        await chat.pilot.pause()
        assert len(chat.app.incidents.ids) == 2
        monkeypatch.undo()
        await chat.happen(said("helper", "m", "All is well again."), thread=thread)
        await chat.until_shown("All is well again.")


async def test_a_composer_that_cannot_be_drawn_gives_its_text_to_the_history(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    async with chatting(ScriptedClient(), tmp_path, new=True, mistakes=True) as chat:
        draw = type(chat.composer).render_line

        def draw_but_one(composer: object, y: int) -> object:
            return _raise() if "poison" in chat.composer.text else draw(chat.composer, y)

        monkeypatch.setattr(type(chat.composer), "render_line", draw_but_one)
        chat.composer.insert("poison")
        await chat.until(lambda: chat.app.incidents.ids and chat.composer.text == "")
        monkeypatch.undo()
        await chat.press("up")
        assert chat.composer.text == "poison"
