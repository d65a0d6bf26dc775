"""The thread list as a screen, for narrow terminals."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import ModalScreen

from adapters.terminal.widgets.thread_list import ThreadList

if TYPE_CHECKING:
    from adapters.terminal.conversation import Conversation


class ThreadsScreen(ModalScreen[None]):
    """Closes when a thread was opened; renaming and deleting happen over it."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape,ctrl+s", "dismiss", "Back")]

    def __init__(self, conversation: Conversation, now: Callable[[], float]) -> None:
        super().__init__()
        self._list = ThreadList(conversation, now)

    def compose(self) -> ComposeResult:
        """The list in a frame."""
        self._list.border_title = "Threads"
        yield self._list

    async def on_mount(self) -> None:
        """Fill it."""
        await self._list.refresh_threads()
        self._list.focus_list()

    def on_thread_list_chosen(self, event: ThreadList.Chosen) -> None:
        """Back to the chat."""
        event.stop()
        self.dismiss()
