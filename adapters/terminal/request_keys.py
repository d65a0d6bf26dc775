"""The keys of a request: their offers, and what each press means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from adapters.terminal.key_guard import SECOND_THOUGHT, KeyClock, TypingGuard

if TYPE_CHECKING:
    from adapters.terminal.key_guard import Timer
    from gateway.client import AnswerKind
    from gateway.items import RequestItem

KEYS: dict[str, AnswerKind] = {
    "y": "approve",
    "e": "approve_same",
    "f": "approve_below",
    "a": "approve_always",
    "d": "approve_new",
    "n": "deny",
}
LETTERS = {choice: key for key, choice in KEYS.items()}
DIGITS = "123456789"


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision about a request; a refusal may still get a note."""

    item: RequestItem
    choice: AnswerKind
    text: str = ""


@dataclass(frozen=True, slots=True)
class Draft:
    """Text of somebody who types here and means the draft."""

    text: str


@dataclass(frozen=True, slots=True)
class Opening:
    """The wish to see all arguments of a call."""

    item: RequestItem


Meaning: TypeAlias = Decision | Draft | Opening


def offered_keys(item: RequestItem) -> list[tuple[str, str]]:
    """Keys of an approval for the call alone, each with its words."""
    if item.kind != "approval":
        return []
    opens = [("enter", "open")] if item.arguments else []
    return [("y", "approve once"), ("n", "deny with a note"), *opens]


def granting_keys(item: RequestItem) -> list[tuple[str, str]]:
    """Keys of approvals for more than the call, each with its words."""
    return [(LETTERS[kind], told) for kind, told in item.grants]


class RequestKeys:
    """Keys while a request has the focus: y, a, n, digits.

    When it took the focus by itself, a decision waits for a moment, too: a further key shows that
    somebody types, and both keys go to the draft instead. `grants_in_sight` is false where a tiny
    window has no room for them: what cannot be read is not granted.
    """

    def __init__(
        self,
        guard: TypingGuard,
        clock: KeyClock,
        tell: Callable[[Meaning], object],
        *,
        grants_in_sight: Callable[[], bool],
    ) -> None:
        self.item: RequestItem | None = None
        self.sent = False
        """True while a decision is on its way: no second one."""
        self._guard = guard
        self._clock = clock
        self._tell = tell
        self._grants_in_sight = grants_in_sight
        self._by_itself = False
        self._pending: tuple[str, Timer] | None = None

    def show(self, item: RequestItem | None) -> None:
        """Listen to the keys of another request, in a moment."""
        self.forget_pending()
        self.item, self.sent = item, False
        if item is not None:
            self._guard.note_focus()

    def focus(self, *, by_itself: bool, had_it: bool) -> None:
        """Listen to keys, in a moment unless it `had_it` already."""
        self._by_itself = by_itself
        if not had_it:
            self._guard.note_focus()

    def press(self, key: str) -> None:
        """Decide, or give the key to the draft."""
        live = self._guard.keys_live()
        if self._pending is not None:
            self._tell(Draft(self.forget_pending() + key))
        elif not self._decides(key) or (self._by_itself and not live):
            self._tell(Draft(key))
        elif self._by_itself:
            self._pending = (key, self._clock.call_later(SECOND_THOUGHT, self._commit))
        elif live:
            self._decide(key)

    def click(self, key: str) -> None:
        """Decide like a key, without a second thought."""
        if key == "enter" and self.item is not None:
            self._tell(Opening(self.item))
        elif self._guard.keys_live():
            self._decide(key)

    def open(self) -> bool:
        """Show all arguments; False if there are none."""
        if self.item is None or not self.item.arguments:
            return False
        if self._pending is not None:  # somebody types: the key before was for the draft
            self._tell(Draft(self.forget_pending()))
        elif self._guard.keys_live():
            self._tell(Opening(self.item))
        return True

    def forget_pending(self) -> str:
        """Call off a decision that still waits; its key."""
        if self._pending is None:
            return ""
        key, timer = self._pending
        timer.cancel()
        self._pending = None
        return key

    def _commit(self) -> None:
        if self._pending is not None:
            self._decide(self.forget_pending())

    def _decides(self, key: str) -> bool:
        if self.item is None or self.sent:
            return False
        match self.item.kind:
            case "approval":
                told = granting_keys(self.item) if self._grants_in_sight() else []
                return key in {"y", "n", *(letter for letter, _ in told)}
            case "choice":
                return key in DIGITS[: len(self.item.options)]
            case "text" | "choices":
                return False

    def _decide(self, key: str) -> None:
        if self.item is None or not self._decides(key):
            return
        if self.item.kind == "choice":
            self._tell(Decision(self.item, "text", self.item.options[int(key) - 1]))
        else:
            self._tell(Decision(self.item, KEYS[key]))
