"""The request card: a request that takes no keys from typists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual import events
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from adapters.terminal.key_guard import KeyClock, TypingGuard
from adapters.terminal.request_keys import (
    DIGITS,
    Meaning,
    RequestKeys,
    granting_keys,
    offered_keys,
)
from adapters.terminal.widgets.arguments import card_widgets
from gateway.base.terminal_keys import USUAL_KEYS, Keys

if TYPE_CHECKING:
    from gateway.items import RequestItem

MUTED = "$muted"
FOR_THREAD = "for this thread:"
BETWEEN = 3
"""Columns between two keys."""


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
    """The oldest open request, and its keys while it is focused."""

    @dataclass
    class Pressed(Message):
        """A key or a click had a meaning."""

        meaning: Meaning

    class FocusRequested(Message):
        """The card was clicked, and wants the focus."""

    def __init__(self, guard: TypingGuard, clock: KeyClock, keys: Keys = USUAL_KEYS) -> None:
        super().__init__()
        self.display = False
        self._to_answer = keys.hint("answer", "to answer")
        self._keys = RequestKeys(guard, clock, self._tell, grants_in_sight=self._shows_grants)
        self._listens = False
        self._count = 0
        self._title = Static(markup=False, classes="title")
        self._scroll = VerticalScroll(can_focus=False)
        self._body = Static(markup=False)
        self._arguments = Vertical(classes="arguments")
        self._buttons = Horizontal(classes="buttons")
        self._grants = Horizontal(classes="buttons grants")

    @property
    def item(self) -> RequestItem | None:
        """The request that is shown."""
        return self._keys.item

    def _tell(self, meaning: Meaning) -> None:
        self.post_message(self.Pressed(meaning))

    def _shows_grants(self) -> bool:
        return self._grants.display

    async def _mount(self) -> None:
        """Make the widgets, with the first request: many chats have none."""
        await self.mount(self._title, self._scroll, self._buttons, self._grants)
        await self._scroll.mount(self._body, self._arguments)

    async def show(self, requests: Sequence[RequestItem]) -> None:
        """Show the oldest of the open requests, or nothing."""
        item = requests[0] if requests else None
        self._count = len(requests)
        if item is not None and item == self.item:
            self._draw_title()
            return
        self._keys.show(item)
        if item is not None and not self.children:
            await self._mount()
        self.display = item is not None
        if item is not None:
            self._draw_title()
            self._body.update(body := body_of(item))
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
        self._keys.focus(by_itself=by_itself, had_it=self.has_focus)
        if not self.has_focus:
            self.focus(scroll_visible=False)

    def mark_sent(self, *, sent: bool) -> None:
        """A decision is on its way, or did not arrive."""
        self._keys.sent = sent
        self._draw_title()

    def on_click(self, event: events.Click) -> None:
        """A click on the card is a wish to answer it."""
        event.stop()
        self.post_message(self.FocusRequested())

    def on_key_button_pressed(self, event: KeyButton.Pressed) -> None:
        """A click decides like a key."""
        event.stop()
        self._keys.click(event.key)

    def on_focus(self) -> None:
        """Show that keys go here."""
        self._listens = True
        self._draw_title()

    def on_blur(self) -> None:
        """A decision that still waits is not made."""
        self._keys.forget_pending()
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
            case "enter" if self._keys.open():
                pass
            case _ if event.is_printable and event.character:
                self._keys.press(event.character)
            case _:
                return
        event.stop()
        event.prevent_default()

    def _draw_title(self) -> None:
        item = self.item
        if item is None:
            return
        agent = (item.agent.name, f"bold $agent-{item.agent.colour}")
        asked = (
            [(" asks to run ", ""), (item.tool, "bold")] if item.kind == "approval" else [" asks"]
        )
        rest = f"  (1 of {self._count})" if self._count > 1 else ""
        if self._keys.sent:
            hint = "  sending…"
        elif self._listens:
            hint = "  esc returns to the draft"
        elif item.kind in ("text", "choices") and self._count == 1:
            hint = ""  # the next message answers, as is said below
        else:
            hint = f"  {self._to_answer}"
        self._title.update(Content.assemble(agent, *asked, (rest, MUTED), (hint, MUTED)))


def body_of(item: RequestItem) -> Content:
    """The question below the title, with the options of a choice."""
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
    typed = item.kind == "choices"  # a message answers, which may name any of them
    count = range(1, len(item.options) + 1)
    return [str(each) if typed or each <= len(DIGITS) else "·" for each in count]


def _buttons(item: RequestItem) -> list[Static]:
    match item.kind:
        case "approval":
            return [KeyButton(*each) for each in offered_keys(item)]
        case "choice":
            return [Static(Content.styled("type a digit, or write an answer", MUTED))]
        case "choices":
            return [Static(Content.styled("type numbers with commas, or write an answer", MUTED))]
        case "text":
            return [Static(Content.styled("your next message answers", MUTED))]


def _grants(item: RequestItem) -> list[Static]:
    """Approvals of more than the call, each with its words."""
    if not item.grants:
        return []
    for_thread = item.grants[0][0] != "approve_new"
    head = [Static(Content.styled(FOR_THREAD, MUTED))] if for_thread else []
    return [*head, *(KeyButton(*each) for each in granting_keys(item))]
