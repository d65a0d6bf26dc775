"""Entries: one widget per item of the transcript.

Foreign text is plain `Content` there, never markup.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from adapters.terminal.excerpt import around, ends_of, is_long
from adapters.terminal.text import SENDING, drawable_length, first_lines, format_duration
from adapters.terminal.widgets.columns import Column
from adapters.terminal.widgets.markdown import ReplyMarkdown
from gateway.events import NoticeLevel
from gateway.items import (
    Agent,
    AgentItem,
    HandoffItem,
    HumanItem,
    Item,
    NoticeItem,
    RequestItem,
    ThoughtItem,
    ToolItem,
    ToolState,
)
from gateway.render.sanitize import one_line

CARD_LINES = 20
TAIL_LINES = 8
MUTED = "$muted"
STATES: dict[ToolState, tuple[str, str, str]] = {
    "running": ("●", "$primary", "running"),
    "asking": ("?", "$warning", "waits for you"),
    "decided": ("●", "$primary", "waits for the other calls"),
    "done": ("✓", "$success", "{took}"),
    "denied": ("✗", "$warning", "{decision}"),
    "failed": ("✗", "$error", "failed after {took}"),
    "unknown": ("!", "$warning", "outcome unknown"),
    "stopped": ("■", MUTED, "stopped"),
}
"""Marks, colours and words of tool calls' states."""
FAILURES = ("failed", "unknown")
NOTICES: dict[NoticeLevel, tuple[str, str]] = {
    "info": ("· ", MUTED),
    "warning": ("! ", "$warning"),
    "error": ("✗ ", "$error"),
}
ItemType = TypeVar("ItemType", bound=Item)


def agent_label(agent: Agent) -> tuple[str, str]:
    """The agent's name in its colour, as a part for `Content.assemble`."""
    return agent.name, f"bold $agent-{agent.colour}"


class TextEntry(Static, Generic[ItemType]):
    """An item drawn as one text."""

    def __init__(self, item: ItemType) -> None:
        super().__init__(markup=False)
        self.item = item

    async def show(self, item: ItemType) -> None:
        """Draw the item."""
        self.item = item
        self.draw()

    def draw(self) -> None:
        """Draw the item as it is now."""
        raise NotImplementedError


class AgentEntry(Vertical):
    """An agent's message in Markdown; appended to while it grows.

    Of a long code block or table that is not closed yet, only the last lines follow, as they are.
    """

    def __init__(self, item: AgentItem) -> None:
        super().__init__()
        self.item = item
        self._head = Static(markup=False, classes="head")
        self._body = ReplyMarkdown()
        self._tail = Static(markup=False, classes="tail")
        self._tail.display = False
        self._shown = ""

    def compose(self) -> ComposeResult:
        """Name, then text, then what is not drawn yet."""
        yield self._head
        yield self._body
        yield self._tail

    async def show(self, item: AgentItem) -> None:
        """Draw the item: only what is new, where that is possible."""
        self.item = item
        model = f"  {item.model}" if item.model else ""
        self._head.update(Content.assemble(agent_label(item.agent), (model, MUTED)))
        drawn = drawable_length(item.text) if item.open else len(item.text)
        await self._show_body(item.text[:drawn])
        self._show_tail(item.text[drawn:], item.mark)

    async def _show_body(self, text: str) -> None:
        if text == self._shown:
            return
        if self._shown and text.startswith(self._shown):
            await self._body.append(text[len(self._shown) :])
        elif self.item.open:
            # What `append` adds to what `update` wrote begins a new block, also within a fence.
            await self._body.update("")
            await self._body.append(text)
        else:
            await self._body.update(text)
        self._shown = text

    def _show_tail(self, text: str, mark: str) -> None:
        self._tail.display = bool(text or mark)
        self._tail.update(Content.styled(mark, MUTED))
        if text:
            lines = text.splitlines()
            count = f"… {len(lines)} more lines, formatted once the block is complete\n"
            last = "\n".join(lines[-TAIL_LINES:])
            self._tail.update(Content.assemble((count, MUTED), last))


class Card(TextEntry[ItemType], can_focus=True):
    """A line that opens and closes on Enter or a click."""

    BINDINGS: ClassVar[list[BindingType]] = [("enter", "fold", "Open or close")]

    @dataclass
    class DetailsRequested(Message):
        """The person wants to see the whole text."""

        title: str
        text: str

    folded = True
    hint = ""
    """Its last line, if that is no text of the item."""
    not_shown = ""
    """The text below what is shown."""

    def on_click(self, event: events.Click) -> None:
        """A click does what Enter does."""
        event.stop()
        self.action_fold()

    def action_fold(self) -> None:
        """Open or close."""
        self.folded = not self.folded
        self.draw()

    def reveal(self, place: int | None) -> None:
        """Open, with a line of its result, or a character, in sight."""
        if self.folded:
            self.action_fold()


class HumanEntry(Card[HumanItem], can_focus=False):
    """A person's message, unformatted.

    Of a long one, such as a paste, both ends; the whole opens on a screen of its own.
    """

    _place: int | None = None
    """The character that was found in a long text."""

    def action_fold(self) -> None:
        """Show the whole of a long text."""
        if is_long(self.item.text):
            self.post_message(self.DetailsRequested(self.item.author, self.item.text))

    def reveal(self, place: int | None) -> None:
        """Show the surroundings of a character."""
        self._place = place
        self.draw()

    def draw(self) -> None:
        """The author, and the text below."""
        text = self.item.text
        self.can_focus = is_long(text)
        found = self._place is not None
        shown = ends_of(text) if self._place is None else around(text, self._place)
        between = f"\n{shown.between}, Enter shows all" if shown.between else ""
        self.hint, self.not_shown = (between, shown.rest) if found else ("", "")
        parts = (
            (self.item.author, "bold $primary"),
            (SENDING if self.item.sending else "", MUTED),
            (f"\n{shown.before}" if shown.before else "", "$primary"),
            f"\n{shown.first}" if shown.first else "",
            (between, "$primary"),
            f"\n{shown.last}" if shown.last else "",
            (f"\n{self.item.attached}" if self.item.files else "", MUTED),
        )
        self.update(Column.of(Content.assemble(*parts)))


class ThoughtEntry(Card[ThoughtItem]):
    """Reasoning, folded to one line."""

    def draw(self) -> None:
        """One line that may be cut, or the whole text."""
        text = one_line(self.item.text) if self.folded else "\n" + self.item.text.strip()
        mark = "▸ " if self.folded else "▾ "
        self.set_class(not self.folded, "-unfolded")
        content = Content.assemble(
            (mark, MUTED), agent_label(self.item.agent), (" thinks  ", MUTED), (text, MUTED)
        )
        self.update(content if self.folded else Column.of(content))


class ToolEntry(Card[ToolItem]):
    """A tool call in one line; opened, with arguments and result.

    A failure opens by itself. A long result opens whole on a screen of its own.
    """

    _first = 0
    """The first line of the result on the card."""

    async def show(self, item: ToolItem) -> None:
        """Draw the item."""
        if item.state in FAILURES and item.state != self.item.state:
            self.folded = False
        await super().show(item)

    def on_mount(self) -> None:
        """A failure opens by itself also when it is old."""
        self.folded = self.item.state not in FAILURES

    def action_fold(self) -> None:
        """Closed, open, and for a long result the whole of it."""
        if not self.folded and self._hidden_lines():
            text = f"{self.item.arguments}\n\n{self.item.result}".strip()
            title = f"{self.item.agent.name} · {self.item.tool}"
            self.post_message(self.DetailsRequested(title, text))
            self.folded = True
        else:
            self.folded = not self.folded
        self._first = 0
        self.draw()

    def reveal(self, place: int | None) -> None:
        """Open, with a line of its result in sight."""
        self.folded = False
        self._first = max(0, (place or 0) - CARD_LINES + TAIL_LINES)
        self.draw()

    def draw(self) -> None:
        """The line, and under it what is open."""
        item = self.item
        mark, colour, words = STATES[item.state]
        words = words.format(took=format_duration(item.duration), decision=one_line(item.decision))
        if item.state == "stopped" and item.duration:
            words = f"stopped after {format_duration(item.duration)}"
        parts = [
            (f"{mark} ", colour),
            agent_label(item.agent),
            "  ",
            (item.tool, "bold"),
            (f" {words}", MUTED if item.state == "done" else colour),
        ]
        if item.decision and item.state != "denied":
            parts.append((f" · {one_line(item.decision)}", MUTED))
        if self.folded:
            parts.append((f"  {item.summary}", MUTED))
        else:
            parts += self._details()
        self.set_class(not self.folded, "-unfolded")
        self.update(Content.assemble(*parts))

    def _details(self) -> list[tuple[str, str]]:
        parts: list[tuple[str, str]] = []
        if self.item.arguments:
            parts.append((_indent_lines(self.item.arguments), MUTED))
        lines = self.item.result.splitlines()
        shown, rest = lines[self._first : self._first + CARD_LINES], lines[self._first :]
        self.not_shown = "\n".join(rest[CARD_LINES:])
        if self._first:
            parts.append((f"\n  … {self._first} lines above", "$primary"))
        if shown:
            parts.append((_indent_lines("\n".join(shown)), ""))
        more = len(rest) - len(shown)
        self.hint = f"\n  … {more} more lines, Enter shows them" if more else ""
        if more:
            parts.append((self.hint, "$primary"))
        return parts

    def _hidden_lines(self) -> int:
        return first_lines(self.item.result, CARD_LINES)[1]


class HandoffEntry(TextEntry[HandoffItem]):
    """A hand-off from one agent to another."""

    def draw(self) -> None:
        """One line: both agents, and the message."""
        item = self.item
        text = f"  {one_line(item.text)}" if item.text else ""
        agents = agent_label(item.agent), (" hands over to ", MUTED), agent_label(item.target)
        self.update(Column.of(Content.assemble(("→ ", MUTED), *agents, (text, MUTED))))


class RequestEntry(TextEntry[RequestItem]):
    """A request to a person, and its outcome."""

    def draw(self) -> None:
        """The request, and the answer below."""
        item = self.item
        asked = f" asks to run {item.tool}" if item.kind == "approval" else " asks you"
        prompt = "" if item.kind == "approval" else f"  {item.prompt}"
        parts = [("? ", "$warning"), agent_label(item.agent), (asked, MUTED), prompt]
        if item.outcome:
            by = f" ({item.by})" if item.by else ""
            parts += [("\n  ↳ ", MUTED), (item.outcome, "bold"), (by, MUTED)]
        self.update(Column.of(Content.assemble(*parts)))


class NoticeEntry(TextEntry[NoticeItem]):
    """A line of the gateway's, or of the terminal's own."""

    def draw(self) -> None:
        """The notice, below the command that it answers."""
        item = self.item
        mark, colour = NOTICES[item.level]
        log = item.log and f" {item.log}"
        command = f"{item.command}\n" if item.command else ""
        text = f"{command}{item.text}".replace("\n", "\n  ")
        self.update(Column.of(Content.assemble((mark + text, colour), (log, MUTED))))


Entry: TypeAlias = (
    HumanEntry | AgentEntry | ThoughtEntry | ToolEntry | HandoffEntry | RequestEntry | NoticeEntry
)
_ENTRIES: dict[type[Item], Callable[[Any], Entry]] = {
    HumanItem: HumanEntry,
    AgentItem: AgentEntry,
    ThoughtItem: ThoughtEntry,
    ToolItem: ToolEntry,
    HandoffItem: HandoffEntry,
    RequestItem: RequestEntry,
    NoticeItem: NoticeEntry,
}


def entry_for(item: Item) -> Entry:
    """A new widget for the item, drawn by its `show`."""
    return _ENTRIES[type(item)](item)


async def show_item(entry: Entry, item: Item) -> None:
    """Let a widget show another item of its kind."""
    await entry.show(item)  # pyright: ignore[reportArgumentType]


def _indent_lines(text: str) -> str:
    return "".join(f"\n  {line}" for line in text.splitlines())
