"""The composer: the field for messages, answers and notes."""

from dataclasses import dataclass
from typing import Literal

from textual import events
from textual.content import Content
from textual.message import Message

from adapters.terminal.history import History
from adapters.terminal.mentions import pasted_path
from adapters.terminal.widgets.folding_area import FoldingArea
from adapters.terminal.widgets.palette import Palette, Suggestion

HINTS = "/ commands  @ agents"
TAKES_BACK = "up edits a queued message, backspace drops it"
SCROLLING = {"pageup": -1, "pagedown": 1}


@dataclass(frozen=True, slots=True)
class Purpose:
    """The purpose of a text that is no message."""

    kind: Literal["answer", "note"]
    request: str


class Composer(FoldingArea):
    """A growing text field.

    Enter sends, ctrl+j breaks the line, up and down walk the history.
    """

    @dataclass
    class Submitted(Message):
        """The person sends this text: a message, or what `purpose` says."""

        text: str
        purpose: Purpose | None
        typed: str = ""
        """The text with labels in place of what was pasted."""

    class UpAtTop(Message):
        """Up in an empty draft: edit the newest queued message."""

    class BackspaceWhenEmpty(Message):
        """Backspace in an empty draft: what waits may go."""

    @dataclass
    class Scroll(Message):
        """Scroll the transcript by pages or lines, or to its end."""

        pages: int = 0
        lines: int = 0

    @dataclass
    class PathPasted(Message):
        """A pasted text is a path, perhaps of a file."""

        text: str
        path: str

    class ImageWanted(Message):
        """ctrl+v: attach the image of the clipboard."""

    class ModeRequested(Message):
        """shift+tab: the next mode of approval."""

    class LeaveRequested(Message):
        """ctrl+d in an empty draft: the person leaves."""

    class Typed(Message):
        """A key was pressed here."""

    def __init__(self, history: History, palette: Palette) -> None:
        super().__init__()
        self.cursor_blink = False
        self.purpose: Purpose | None = None
        self.takes_back = False
        """True while up and backspace reach a queued message."""
        self.holds_files = False
        """Files are attached: they go without a text, too."""
        self._history = history
        self._palette = palette
        self._aside = ""
        self._label, self._title = "Message the team", ""
        self.placeholder = self._usual

    def address(self, label: str, title: str) -> None:
        """Say whom a message reaches; `title` stays above the draft."""
        if (label, title) != (self._label, self._title):
            self._label, self._title = label, title
            if not self.purpose:
                self.placeholder, self.border_title = self._usual, self._usual_title

    def ask(self, purpose: Purpose, label: str) -> None:
        """Take an answer; the draft is kept aside until `stop_asking`."""
        if not self.purpose:
            self._aside = self.text
        self.purpose = purpose
        self.border_title = Content(label)
        self.placeholder = "Enter sends, esc goes back"
        self.set_draft("")
        self.add_class("-asking")

    def stop_asking(self) -> None:
        """Back to messages, with the draft that was kept aside."""
        if self.purpose:
            self.purpose = None
            self.border_title = self._usual_title
            self.placeholder = self._usual
            self.set_draft(self._aside)
            self.remove_class("-asking")

    def offer_back(self, takes_back: bool) -> None:
        """Let up and backspace in an empty draft reach queued messages."""
        if takes_back != self.takes_back:
            self.takes_back = takes_back
            if not self.purpose:
                self.placeholder = self._usual

    def give_back(self, text: str) -> None:
        """Put an unsent text before what was written since."""
        if text.startswith("@") and " " not in text:  # an agent's name alone: its task comes next
            text = f"{text} "
        if self.purpose:
            self._aside = f"{text}\n{self._aside}".rstrip("\n")
        else:
            self.set_draft(f"{text}\n{self.text}".rstrip("\n"))

    def put_aside(self) -> bool:
        """Clear the draft, which up restores; False if it is empty."""
        if not self.text:
            return False
        if not self.purpose:
            self._history.add(self.whole)
        self.set_draft("")
        return True

    @property
    def unsent(self) -> str:
        """Everything unsent: a draft, an answer, or both."""
        aside = self._folds.whole(self._aside) if self.purpose else ""
        return "\n".join(filter(None, (aside, self.whole)))

    def restore(self, draft: str) -> None:
        """Bring a draft back, under one that is being written."""
        if self.text or self.purpose:
            self._history.add(draft)
        else:
            self.set_draft(draft)

    @property
    def _usual(self) -> str:
        return f"{self._label}…   {TAKES_BACK if self.takes_back else HINTS}"

    @property
    def _usual_title(self) -> Content | None:
        return Content(self._title) if self._title else None

    def set_draft(self, text: str) -> None:
        """Replace the draft; the cursor stands behind it."""
        self.text = text
        self.move_cursor(self.document.end)

    def undo(self) -> None:
        """Undo what was typed last."""
        if self.history.undo_stack:
            self._go_to_start()
            super().undo()

    def redo(self) -> None:
        """Do again what was undone."""
        if self.history.redo_stack:
            self._go_to_start()
            super().redo()

    def _go_to_start(self) -> None:
        # Textual looks at the cursor's line before it puts the cursor where it was.
        self.move_cursor((0, 0), record_width=False)

    async def _on_key(self, event: events.Key) -> None:
        self.post_message(self.Typed())
        if self._handled(event.key):
            event.stop()
            event.prevent_default()
            return
        await super()._on_key(event)

    def _handled(self, key: str) -> bool:
        return (
            (self.purpose is None and self._in_palette(key))
            or self._writing(key)
            or self._walking(key)
            or self._scrolling(key)
        )

    def _in_palette(self, key: str) -> bool:
        self._palette.suggest(self.text)  # who types fast is ahead of the messages about it
        if not self._palette.display:
            return False
        match key:
            case "up" | "down":
                self._palette.move(-1 if key == "up" else 1)
            case "tab":
                self._complete()
            case "enter" if (choice := self._palette.choice) and not choice.is_in(self.text):
                self.take(choice)
            case _:
                return False
        return True

    def pasted(self, text: str) -> None:
        """Tell of a pasted path."""
        if self.purpose is None and (path := pasted_path(text)):
            self.post_message(self.PathPasted(text, path))

    def take_out(self, text: str) -> None:
        """Remove a text from the draft, where it stands last."""
        before, found, after = self.text.rpartition(text)
        if found and self.purpose is None:
            self.set_draft(before + after)

    def take(self, choice: Suggestion) -> None:
        """Write what was chosen, and send a choice that runs."""
        self.set_draft(choice.draft)
        if choice.runs:
            self._submit()

    def _complete(self) -> None:
        if choice := self._palette.choice:
            self.set_draft(choice.draft)

    def _writing(self, key: str) -> bool:
        match key:
            case "enter":
                self._submit()
            case "ctrl+j" | "shift+enter":
                self.insert("\n")
            case "tab" if self.unfold():
                pass
            case "shift+tab":
                self.post_message(self.ModeRequested())
            case "ctrl+d" if not self.text and not self.purpose:
                self.post_message(self.LeaveRequested())
            case "ctrl+v" if not self.purpose:
                self.post_message(self.ImageWanted())
            case "ctrl+underscore":
                self.undo()
            case "backspace" if not self.text and (self.takes_back or self.holds_files):
                self.post_message(self.BackspaceWhenEmpty())
            case _:
                return False
        return True

    def _submit(self) -> None:
        text, typed, purpose = self.whole.strip(), self.text.strip(), self.purpose
        if text or (purpose.kind == "note" if purpose else self.holds_files):
            self.set_draft("")
            if text and not purpose:
                self._history.add(text)
            self.post_message(self.Submitted(text, purpose, typed))

    def _walking(self, key: str) -> bool:
        at_top = self.navigator.is_first_wrapped_line(self.cursor_location)
        at_bottom = self.navigator.is_last_wrapped_line(self.cursor_location)
        match key:
            case "up" if at_top and not self.text and self.takes_back and not self.purpose:
                self.post_message(self.UpAtTop())
            case "up" if at_top and self.selection.is_empty:
                if (older := self._history.older(self.text)) is not None:
                    self.set_draft(older)
            case "down" if at_bottom and self.selection.is_empty:
                if (newer := self._history.newer()) is not None:
                    self.set_draft(newer)
            case _:
                return False
        return True

    def _scrolling(self, key: str) -> bool:
        single = "\n" not in self.text
        at_end = self.cursor_location == self.document.end
        match key:
            case "pageup" | "pagedown":
                self.post_message(self.Scroll(pages=SCROLLING[key]))
            case "shift+up" | "shift+down" if single:
                self.post_message(self.Scroll(lines=-1 if key == "shift+up" else 1))
            case "end" if at_end:
                self.post_message(self.Scroll())
            case _:
                return False
        return True
