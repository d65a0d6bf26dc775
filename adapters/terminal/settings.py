"""Settings of the full-screen chat, which the application and its screens share."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from gateway.base.terminal_keys import USUAL_KEYS, Keys

if TYPE_CHECKING:
    from adapters.terminal.key_guard import KeyClock
    from gateway.events import NoticeLevel
    from gateway.values import Origin

SECOND_PRESS = 2.0
"""Seconds in which a second ctrl+c leaves."""


def do_nothing() -> None:
    """Stand-in for what the application does."""


def do_nothing_with(name: str) -> None:
    """Stand-in for what the application does with a theme."""


async def read_nothing(most: int) -> None:
    """Stand-in for a terminal without an image in its clipboard."""


def do_nothing_about(error: Exception) -> None:
    """Stand-in for the application's dealing with a mistake."""


@dataclass(slots=True, kw_only=True)
class Settings:
    """Start options of the chat; `clock` and `now` are for tests."""

    data_dir: Path
    """Folder of the drafts and the history of prompts."""
    operator: str = "you"
    """Name of who types, until the gateway tells it."""
    thread: str | None = None
    """The thread to open; otherwise the one used last."""
    new: bool = False
    """An empty thread is opened."""
    resume: bool = False
    """The threads are listed over an empty one, those of this config first."""
    origin: Origin | None = None
    """The chat's config, once it is read."""
    keys: Keys = USUAL_KEYS
    """The keys of commands."""
    team: str = ""
    """The team of an empty thread to begin with."""
    first: str = ""
    """A message to send at once."""
    files_below: Path | None = None
    """In a browser, the folder whose files may be attached; None in a terminal."""
    notices: asyncio.Queue[tuple[str, NoticeLevel]] = field(
        default_factory=asyncio.Queue[tuple[str, "NoticeLevel"]]
    )
    """Lines for the transcript that come from no thread."""
    clock: KeyClock | None = None
    now: Callable[[], float] = time.time
    painted: asyncio.Event = field(default_factory=asyncio.Event)
    toggle_mouse: Callable[[], None] = do_nothing
    preview_theme: Callable[[str], None] = do_nothing_with
    """Show a theme without keeping it; "" shows the chosen one again."""
    choose_theme: Callable[[str], None] = do_nothing_with
    lost: Callable[[], None] = do_nothing
    alert: Callable[[str], None] | None = None
    """Calls a person who looks elsewhere; by default the terminal does."""
    read_clipboard: Callable[[int], Awaitable[bytes | str | None]] = read_nothing
    """The terminal's image, a sentence why there is none, or None: it can't tell."""
    survive: Callable[[Exception], None] = do_nothing_about

    @property
    def in_browser(self) -> bool:
        """True for `parley web`, whose chat starts none of the person's programs."""
        return self.files_below is not None

    @property
    def folder(self) -> Path:
        """The folder where typed paths begin."""
        return self.files_below or Path.cwd()

    def tell(self, text: str, level: NoticeLevel) -> None:
        """Show a line in the open transcript."""
        self.notices.put_nowait((text, level))
