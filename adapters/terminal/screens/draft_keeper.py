"""The draft on screen, saved while it is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adapters.terminal.drafts import Drafts

if TYPE_CHECKING:
    from pathlib import Path

    from adapters.terminal.conversation import Conversation
    from adapters.terminal.key_guard import KeyClock, Timer
    from adapters.terminal.widgets.composer import Composer
    from gateway.picture import Picture

SOON = 0.3
"""Seconds of typing that a kill may cost."""


class DraftKeeper:
    """Keeps the composer's text with its thread; another thread brings its own."""

    def __init__(self, composer: Composer, clock: KeyClock, folder: Path) -> None:
        self._composer = composer
        self._clock = clock
        self._folder = folder
        self._drafts: Drafts | None = None
        self._thread = ""
        self._model: Picture | None = None
        self._due: Timer | None = None

    def changed(self) -> None:
        """Save soon; typing on does not put that off."""
        if self._due is None:
            self._due = self._clock.call_later(SOON, self._save)

    def opened(self, conversation: Conversation) -> None:
        """Show the draft of the thread that is open now."""
        thread = conversation.thread.id if conversation.thread else ""
        if self._drafts is None:
            self._drafts = Drafts(self._folder)
            self._restore_first(self._drafts, thread)
        elif self._model is conversation.model:  # its first message has created the thread
            if thread != self._thread:
                self._drafts.write(self._thread, "")
                self._drafts.write(thread, self._composer.unsent)
        else:
            self._save()
            self._composer.stop_asking()
            self._composer.set_draft(self._drafts.read(thread))
        self._thread, self._model = thread, conversation.model

    def deleted(self, thread: str) -> None:
        """Forget a thread's draft; one on screen goes to the next thread."""
        if self._drafts is not None:
            self._drafts.write(thread, "")
            if thread == self._thread and self._composer.unsent:
                self._thread = ""

    def close(self) -> None:
        """Save what is not saved yet."""
        if self._drafts is None:
            self._composer.put_aside()  # no thread was opened: the history has it
            return
        self._save()
        self._drafts.close()
        self._drafts = None

    def _restore_first(self, drafts: Drafts, thread: str) -> None:
        if saved := drafts.read(thread):
            self._composer.restore(saved)
        self.changed()

    def _save(self) -> None:
        if self._due is not None:
            self._due.cancel()
            self._due = None
        if self._drafts is not None:
            self._drafts.write(self._thread, self._composer.unsent)
