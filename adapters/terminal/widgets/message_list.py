"""The person's messages of a thread, to go back to before one."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from adapters.terminal.widgets.overlay import Options, Overlay
from gateway.render.sanitize import one_line

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from gateway.items import HumanItem


class MessageList(Overlay["HumanItem | None"]):
    """Closes with the chosen message, the newest first, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape", "dismiss_none", "Back")]

    def __init__(self, messages: list[HumanItem]) -> None:
        super().__init__()
        self._messages = messages
        self._options = Options(*map(_option, messages), markup=False)

    def compose(self) -> ComposeResult:
        """The list in a frame."""
        self._options.border_title = "Go back to before a message, and edit it"
        self._options.border_subtitle = "enter goes back there   esc closes"
        yield self._options

    def on_mount(self) -> None:
        """Mark the newest message."""
        self._options.focus()
        self._options.action_first()

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.dismiss(self._messages[event.option_index])

    def action_dismiss_none(self) -> None:
        """Close without."""
        self.dismiss(None)


def _option(message: HumanItem) -> Option:
    return Option(Content(one_line(message.text)))
