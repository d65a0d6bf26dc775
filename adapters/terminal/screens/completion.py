"""Values behind a command, fetched as it is typed."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from adapters.terminal.commands import Value
from adapters.terminal.errors import notify_errors
from adapters.terminal.mentions import ANYWHERE, BEGUN
from adapters.terminal.text import format_age, thread_title
from gateway.render.sanitize import one_line, sanitize

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.screen import Screen

    from adapters.terminal.conversation import Conversation
    from adapters.terminal.settings import Settings
    from adapters.terminal.widgets.composer import Composer
    from adapters.terminal.widgets.palette import Palette
    from gateway.client import ArgumentKind, ThreadInfo

LISTED = 100
"""Threads to choose from: the ones used last."""


class Completion:
    """Fetches a kind of values once its command is in the draft."""

    def __init__(
        self, screen: Screen[None], palette: Palette, composer: Composer, settings: Settings
    ) -> None:
        self._screen = screen
        self._palette = palette
        self._composer = composer
        self._settings = settings
        self._kind: ArgumentKind = ""
        self._below: Sequence[str] | None = None
        """Paths below the current folder; None until one is being named."""
        self._within: tuple[str, Sequence[str]] = ("", ())
        """The folder that was typed, and what it has."""

    def draft_changed(self, conversation: Conversation | None) -> None:
        """Show what the draft may become; fetch unknown values."""
        draft = self._composer.text
        found = self._palette.commands.with_argument(draft)
        kind = found[0].takes if found else ""
        if kind != self._kind and conversation is not None:
            self._kind = kind
            if kind == "theme":
                self._palette.values[kind] = self._themes()
            elif kind in ("team", "model", "thread"):
                fetch = partial(self._fetch, conversation, kind)
                self._screen.run_worker(fetch, group="values", exclusive=True)
        if draft == "/" and conversation is not None:
            self._screen.run_worker(self._find_prompts, group="prompts", exclusive=True)
        self._look_for_paths(draft)
        self._palette.suggest(draft)

    async def _find_prompts(self) -> None:
        """Offer prompts that were written meanwhile."""
        for trouble in await self._palette.commands.find_prompts():
            self._settings.tell(trouble, "warning")
        if self._composer.purpose is None:
            self._palette.suggest(self._composer.text)

    def _look_for_paths(self, draft: str) -> None:
        """Read the folder that is being named; without any, forget it."""
        named = BEGUN.search(draft)
        typed = named[1].strip('"') if named else ""
        folder = typed.rpartition("/")[0] + "/" if typed.startswith(ANYWHERE) else ""
        if named is None:
            self._below = None
        elif folder and folder != self._within[0]:
            self._screen.run_worker(partial(self._list, typed), group="paths", exclusive=True)
        elif not folder and self._below is None:
            self._below = ()
            self._screen.run_worker(partial(self._list, ""), group="paths", exclusive=True)

    async def _list(self, typed: str) -> None:
        from adapters.terminal import paths  # not at the start

        folder, fence = self._settings.folder, self._settings.files_below
        with notify_errors(self._screen):
            if typed:
                found = await asyncio.to_thread(paths.list_in, typed, folder, fence)
                self._within = typed.rpartition("/")[0] + "/", found
            else:
                self._below = await asyncio.to_thread(paths.list_below, folder)
            self._palette.paths = self._matching
            if self._composer.purpose is None:
                self._palette.suggest(self._composer.text)

    def _matching(self, typed: str) -> Sequence[str]:
        from adapters.terminal import paths  # not at the start

        if not typed.startswith(ANYWHERE):
            return paths.matching_paths(self._below or (), typed)
        known = self._within[1] if typed.rpartition("/")[0] + "/" == self._within[0] else ()
        return paths.matching_paths(known, typed)

    async def _fetch(self, conversation: Conversation, kind: ArgumentKind) -> None:
        with notify_errors(self._screen):
            self._palette.values[kind] = await self._values(conversation, kind)
            if self._composer.purpose is None:
                self._palette.suggest(self._composer.text)

    async def _values(self, conversation: Conversation, kind: ArgumentKind) -> list[Value]:
        match kind:
            case "team" | "model":
                choices = await conversation.client.choices(kind)
                return [Value(clean(each.name), clean(each.description)) for each in choices]
            case _:
                threads = await listed_threads(conversation)
                return [Value(name, self._about(thread)) for name, thread in threads.items()]

    def _about(self, thread: ThreadInfo) -> str:
        ago = format_age(self._settings.now() - thread.updated_at)
        return clean(f"{thread.team}, {ago}, {thread.state}")

    def _themes(self) -> list[Value]:
        """The themes; the one that is shown comes first."""
        themes = self._screen.app.available_themes
        names = sorted(themes, key=lambda name: (name != self._screen.app.theme, name))
        return [Value(name, "dark" if themes[name].dark else "light") for name in names]


async def listed_threads(conversation: Conversation) -> dict[str, ThreadInfo]:
    """The last threads by title, or by id where that is ambiguous."""
    named: dict[str, ThreadInfo] = {}
    for thread in await conversation.client.threads(limit=LISTED):
        title = clean(thread_title(thread))
        named[title if thread.title and title not in named else thread.id] = thread
    return named


def clean(text: str) -> str:
    """Foreign text as one harmless line."""
    return one_line(sanitize(text))
