"""Dialogs: a question, an input line, a long text, the help."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.events import Key
from textual.widgets import Input, Static, TextArea

from adapters.terminal.commands import Commands
from adapters.terminal.key_guard import TypingGuard
from adapters.terminal.widgets.overlay import Overlay
from gateway.base.terminal_keys import DEFAULT_KEYS

KEYS = (
    ("enter", "send"),
    ("ctrl+j", "new line"),
    ("up, down", "earlier prompts, or the newest queued message"),
    ("esc esc", "stop the team; at rest, in an empty draft: go back to a message"),
    ("ctrl+v", "attach the image of the clipboard"),
    ("pgup, pgdn", "scroll; end follows again"),
    ("tab", "open a long paste beside the cursor"),
    ("c", "copy the code block that has the focus"),
    ("shift+tab", "in the draft: the next mode of approval (cards moved: see below)"),
)
"""Keys that are always the same."""


class InputDialog(Overlay[str | None]):
    """One line of text; None when the person thinks better of it."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape", "dismiss_none", "Back")]

    def __init__(self, label: str, text: str) -> None:
        super().__init__()
        self._label = label
        self._text = text

    def compose(self) -> ComposeResult:
        """The label and the line."""
        with Vertical(classes="box"):
            yield Static(self._label, markup=False)
            yield Input(self._text)
            keys = Content.styled("enter saves   esc goes back", "$muted")
            yield Static(keys, classes="keys")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Close with what was written."""
        self.dismiss(event.value.strip() or None)

    def action_dismiss_none(self) -> None:
        """Close without."""
        self.dismiss(None)


class QuestionDialog(Overlay[bool]):
    """A question; keys of somebody who still types do not agree."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape,n", "dismiss(False)", "No")]

    def __init__(self, title: str, text: str, guard: TypingGuard, keys: str) -> None:
        super().__init__()
        self._title = title
        self._text = text
        self._guard = guard
        self._keys = keys

    def compose(self) -> ComposeResult:
        """The text in a frame, with the keys."""
        with Vertical(classes="box wide") as box:
            box.border_title = Content(self._title)
            yield Static(self._text, markup=False)
            yield Static(Content.styled(self._keys, "$muted"), classes="keys")

    def on_key(self, event: Key) -> None:
        """Agree with y, unless it comes amid other keys."""
        if event.key == "y" and self._guard.quiet_in() <= 0:
            self.dismiss(True)
        self._guard.note_key()


class TextDialog(Overlay[None]):
    """A long text, whole, to scroll and to copy from."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape,q,enter", "dismiss", "Back")]

    def __init__(self, title: str, text: str) -> None:
        super().__init__()
        self._title = title
        self._text = text

    def compose(self) -> ComposeResult:
        """The text in a frame that names it."""
        area = TextArea(self._text, read_only=True, soft_wrap=True)
        area.border_title = Content(self._title)
        area.border_subtitle = Content("esc goes back")
        area.cursor_blink = False
        yield area


class HelpDialog(Overlay[None]):
    """Keys and commands."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape,q,enter", "dismiss", "Back"),
        Binding(",".join(DEFAULT_KEYS["help"]), "dismiss", "Back", id="help"),
    ]

    def __init__(self, commands: Commands) -> None:
        super().__init__()
        self._commands = commands

    def compose(self) -> ComposeResult:
        """Two tables in a frame."""
        commands = [
            (f"/{command.name} {command.argument}".strip(), command.description)
            for command in self._commands
        ]
        by_key = [(keys, does) for _, keys, does in self._commands.by_key()]
        with VerticalScroll(classes="box wide") as box:
            box.border_title = Content("Keys and commands")
            box.border_subtitle = Content("up and down scroll, esc goes back")
            for keys, does in (*KEYS, *by_key, ("", ""), *commands):
                with Horizontal(classes="row"):
                    yield Static(Content.styled(keys, "bold $primary"), classes="keys-column")
                    yield Static(does, markup=False)
