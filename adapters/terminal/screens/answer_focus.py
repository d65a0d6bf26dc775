"""From a request to its answer: who has the keyboard, and what the composer is for meanwhile."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from adapters.terminal.widgets.composer import Composer, Purpose

if TYPE_CHECKING:
    from adapters.terminal.items import RequestItem
    from adapters.terminal.key_guard import KeyClock, TypingGuard
    from adapters.terminal.widgets.request_card import RequestCard


class AnswerFocus:
    """Moves the focus between the composer and the card, never away from somebody who types."""

    def __init__(
        self, composer: Composer, card: RequestCard, guard: TypingGuard, clock: KeyClock
    ) -> None:
        self._composer = composer
        self._card = card
        self._guard = guard
        self._clock = clock
        self._offered = ""

    def offer(self) -> None:
        """Give the keyboard to a new request, once nobody has typed for a while."""
        item, screen = self._card.item, self._composer.screen
        if item is None or item.request == self._offered or not screen.is_current:
            return
        if self._composer.text or self._composer.purpose or not self._composer.has_focus:
            return
        if (quiet_in := self._guard.quiet_in()) > 0:
            self._clock.call_later(quiet_in, self._offer_again)
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
        """Put what was typed on the card where it was meant to go."""
        self._guard.key()
        self._composer.focus()
        self._composer.insert(text)

    def close(self, open_requests: Collection[str]) -> None:
        """Back to the draft when its request is gone; what was written of the answer stays."""
        purpose = self._composer.purpose
        if purpose is not None and purpose.request not in open_requests:
            written = self._composer.text
            self._composer.done()
            if written and not self._composer.text:
                self._composer.set_draft(written)

    def _offer_again(self) -> None:
        self._composer.call_later(self.offer)

    def _focus_request(self, item: RequestItem, *, by_itself: bool) -> None:
        self._offered = item.request
        if item.kind == "text":
            self._composer.ask(Purpose("answer", item.request), f"Answer {item.agent.name}")
            self._composer.focus()
        else:
            self._card.take_focus(by_itself=by_itself)
