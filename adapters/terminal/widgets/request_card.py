"""The request card: a request that takes no keys from typists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from adapters.terminal.key_guard import SECOND_THOUGHT, KeyClock, TypingGuard
from adapters.terminal.widgets.arguments import card_widgets

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
MUTED = "$muted"
FOR_THREAD = "for this thread:"
BETWEEN = 3
"""Columns between two keys."""
DIGITS = "123456789"


class KeyButton(Static):
    """A key with what it does; a click does the same."""

    @dataclass
    class Pressed(Message):
        """The button was clicked."""

        key: str

    def __init__(self, key: str, label: str) -> None:
        super().__init__(Content.assemble((key, "bold $primary"), (f" {label}", "")), markup=False)
        self._key = key

    def on_click(self, event: events.Click) -> None:
        """Press the key for the mouse."""
        event.stop()
        self.post_message(self.Pressed(self._key))


class RequestCard(Vertical, can_focus=True):
    """The oldest open request; focused, it reacts to y, a, n, digits.

    When it took the focus by itself, a decision waits for a moment, too: a further key shows that
    somebody types, and both keys go to the draft instead.
    """

    @dataclass
    class Decided(Message):
        """A decision about a request; a refusal may still get a note."""

        item: RequestItem
        choice: AnswerKind
        text: str = ""

    @dataclass
    class Typed(Message):
        """Somebody types here who means the draft."""

        text: str

    @dataclass
    class Opened(Message):
        """The person wants to see all arguments of a call."""

        item: RequestItem

    class FocusRequested(Message):
        """The card was clicked, and wants the focus."""

    def __init__(self, guard: TypingGuard, clock: KeyClock) -> None:
        super().__init__()
        self.item: RequestItem | None = None
        self.display = False
        self._guard = guard
        self._clock = clock
        self._sending = ""
        self._by_itself = False
        self._listens = False
        self._pending: tuple[str, Timer] | None = None
        self._count = 0
        self._title = Static(markup=False, classes="title")
        self._scroll = VerticalScroll(can_focus=False)
        self._body = Static(markup=False)
        self._arguments = Vertical(classes="arguments")
        self._buttons = Horizontal(classes="buttons")
        self._grants = Horizontal(classes="buttons grants")

    def compose(self) -> ComposeResult:
        """The title, the scrolling body and the buttons."""
        yield self._title
        with self._scroll:
            yield self._body
            yield self._arguments
        yield self._buttons
        yield self._grants

    async def show(self, requests: Sequence[RequestItem]) -> None:
        """Show the oldest of the open requests, or nothing."""
        item = requests[0] if requests else None
        self._count = len(requests)
        if item is not None and item == self.item:
            self._draw_title()
            return
        self._forget_pending()
        self.item, self._sending = item, ""
        self.display = item is not None
        if item is not None:
            self._guard.note_focus()
            self._draw_title()
            self._body.update(body := _body(item))
            self._body.display = bool(body)
            await self._arguments.remove_children()
            await self._arguments.mount_all(card_widgets(item.arguments))
            self._scroll.scroll_home(animate=False)
            await self._grants.remove_children()
            await self._grants.mount_all(_grants(item))
            self._grants.set_class(bool(item.grants), "-offered")
            self._stack_grants()
            await self._buttons.remove_children()
            await self._buttons.mount_all(_buttons(item))

    def on_resize(self) -> None:
        """Have all that may be granted in sight."""
        self._stack_grants()

    def _stack_grants(self) -> None:
        """Stack approvals for the thread where a line is too short."""
        told = self.item.grants if self.item is not None else ()
        width = len(FOR_THREAD) + sum(len(text) + BETWEEN + 2 for _, text in told)
        self._grants.set_class(width > self.content_size.width, "-stacked")

    def take_focus(self, *, by_itself: bool) -> None:
        """Listen to keys, in a moment."""
        self._by_itself = by_itself
        if not self.has_focus:
            self._guard.note_focus()
            self.focus(scroll_visible=False)

    def mark_sent(self, request: str) -> None:
        """The decision is on its way: no second one."""
        self._sending = request
        self._draw_title()

    def mark_failed(self) -> None:
        """The decision did not arrive: another one may be made."""
        self._sending = ""
        self._draw_title()

    def on_click(self, event: events.Click) -> None:
        """A click on the card is a wish to answer it."""
        event.stop()
        self.post_message(self.FocusRequested())

    def on_key_button_pressed(self, event: KeyButton.Pressed) -> None:
        """A click decides like a key."""
        event.stop()
        if event.key == "enter" and self.item is not None:
            self.post_message(self.Opened(self.item))
        elif self._guard.keys_live():
            self._decide(event.key)

    def on_focus(self) -> None:
        """Show that keys go here."""
        self._listens = True
        self._draw_title()

    def on_blur(self) -> None:
        """A decision that still waits is not made."""
        self._forget_pending()
        self._listens = False
        self._draw_title()

    def on_key(self, event: events.Key) -> None:
        """Decide, scroll, or give the key to the draft."""
        match event.key:
            case "up" | "down":
                self._scroll.scroll_relative(y=-1 if event.key == "up" else 1, animate=False)
            case "pageup" | "pagedown":
                step = self._scroll.size.height * (-1 if event.key == "pageup" else 1)
                self._scroll.scroll_relative(y=step, animate=False)
            case "enter" if self.item is not None and self.item.arguments:
                self._open(self.item)
            case _ if event.is_printable and event.character:
                self._printable(event.character)
            case _:
                return
        event.stop()
        event.prevent_default()

    def _open(self, item: RequestItem) -> None:
        if self._pending is not None:  # somebody types: the key before was for the draft
            self.post_message(self.Typed(self._forget_pending()))
        elif self._guard.keys_live():
            self.post_message(self.Opened(item))

    def _printable(self, key: str) -> None:
        live = self._guard.keys_live()
        if self._pending is not None:
            before = self._forget_pending()
            self.post_message(self.Typed(before + key))
        elif not self._decides(key) or (self._by_itself and not live):
            self.post_message(self.Typed(key))
        elif self._by_itself:
            timer = self._clock.call_later(SECOND_THOUGHT, self._commit)
            self._pending = (key, timer)
        elif live:
            self._decide(key)

    def _commit(self) -> None:
        if self._pending is not None:
            self._decide(self._forget_pending())

    def _forget_pending(self) -> str:
        if self._pending is None:
            return ""
        key, timer = self._pending
        timer.cancel()
        self._pending = None
        return key

    def _decides(self, key: str) -> bool:
        if self.item is None or self._sending:
            return False
        match self.item.kind:
            case "approval":
                # What cannot be read is not granted: a tiny window has no room for them.
                told = self.item.grants if self._grants.display else ()
                return key in {"y", "n", *(LETTERS[kind] for kind, _ in told)}
            case "choice":
                return key in DIGITS[: len(self.item.options)]
            case "text":
                return False

    def _decide(self, key: str) -> None:
        if self.item is None or not self._decides(key):
            return
        if self.item.kind == "choice":
            self.post_message(self.Decided(self.item, "text", self.item.options[int(key) - 1]))
        else:
            self.post_message(self.Decided(self.item, KEYS[key]))

    def _draw_title(self) -> None:
        item = self.item
        if item is None:
            return
        agent = (item.agent.name, f"bold $agent-{item.agent.colour}")
        asked = (
            [(" asks to run ", ""), (item.tool, "bold")] if item.kind == "approval" else [" asks"]
        )
        rest = f"  (1 of {self._count})" if self._count > 1 else ""
        if self._sending:
            hint = "  sending…"
        elif self._listens:
            hint = "  esc returns to the draft"
        elif item.kind == "text" and self._count == 1:
            hint = ""  # the next message answers, as is said below
        else:
            hint = "  ctrl+t to answer"
        self._title.update(Content.assemble(agent, *asked, (rest, MUTED), (hint, MUTED)))


def _body(item: RequestItem) -> Content:
    if item.kind == "approval":
        said_above = item.agent.name in item.prompt and item.prompt.endswith(f" {item.tool}.")
        parts = ["" if said_above else item.prompt, "" if item.arguments else "no arguments"]
        return Content.styled("\n".join(filter(None, parts)), MUTED)
    rows = [
        Content.assemble((f"\n{number} ", "bold $primary"), option)
        for number, option in zip(_numbers(item), item.options, strict=True)
    ]
    return Content.assemble(item.prompt, *rows)


def _numbers(item: RequestItem) -> list[str]:
    return [DIGITS[index] if index < len(DIGITS) else "·" for index in range(len(item.options))]


def _buttons(item: RequestItem) -> list[Static]:
    match item.kind:
        case "approval":
            return [
                KeyButton("y", "approve once"),
                KeyButton("n", "deny with a note"),
                *([KeyButton("enter", "open")] if item.arguments else []),
            ]
        case "choice":
            return [Static(Content.styled("type a digit, or write an answer", MUTED))]
        case "text":
            return [Static(Content.styled("your next message answers", MUTED))]


def _grants(item: RequestItem) -> list[Static]:
    """Approvals of more than the call, each with its words."""
    if not item.grants:
        return []
    for_thread = item.grants[0][0] != "approve_new"
    head = [Static(Content.styled(FOR_THREAD, MUTED))] if for_thread else []
    return [*head, *(KeyButton(LETTERS[kind], told) for kind, told in item.grants)]
