"""The focus of answers: the composer or the request card."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from adapters.terminal.widgets.composer import Composer, Purpose

if TYPE_CHECKING:
    from adapters.terminal.key_guard import KeyClock, TypingGuard
    from adapters.terminal.widgets.request_card import RequestCard
    from gateway.items import RequestItem


class AnswerFocus:
    """Moves focus to requests, never away from somebody who types."""

    def __init__(
        self, composer: Composer, card: RequestCard, guard: TypingGuard, clock: KeyClock
    ) -> None:
        self._composer = composer
        self._card = card
        self._guard = guard
        self._clock = clock
        self._offered = ""

    def offer(self) -> None:
        """Focus a new request once typing has paused."""
        item, screen = self._card.item, self._composer.screen
        if item is None or item.request == self._offered or not screen.is_current:
            return
        if self._composer.text or self._composer.purpose or not self._composer.has_focus:
            return
        if (quiet_in := self._guard.quiet_in()) > 0:
            self._clock.call_later(quiet_in, lambda: self._composer.call_later(self.offer))
        else:
            self._focus_request(item, by_itself=True)

    def answer_open_request(self) -> None:
        """Answer the request on the card, as the person wishes."""
        if self._card.item is not None and self._composer.purpose is None:
            self._focus_request(self._card.item, by_itself=False)

    def ask_for_note(self, item: RequestItem) -> None:
        """Let the composer take a refusal's note."""
        label = f"Deny {item.tool}: a note, or just Enter"
        self._composer.ask(Purpose("note", item.request), label)
        self._composer.focus()

    def type(self, text: str) -> None:
        """Move text that was typed on the card to the composer."""
        self._guard.note_key()
        self._composer.focus()
        self._composer.insert(text)

    def close(self, open_requests: Collection[str]) -> None:
        """Return to the draft when its request is gone.

        The written part of the answer stays.
        """
        purpose = self._composer.purpose
        if purpose is not None and purpose.request not in open_requests:
            written = self._composer.text
            self._composer.stop_asking()
            if written and not self._composer.text:
                self._composer.set_draft(written)

    def _focus_request(self, item: RequestItem, *, by_itself: bool) -> None:
        self._offered = item.request
        if item.kind in ("text", "choices"):
            self._composer.ask(Purpose("answer", item.request), f"Answer {item.agent.name}")
            self._composer.focus()
        else:
            self._card.take_focus(by_itself=by_itself)
