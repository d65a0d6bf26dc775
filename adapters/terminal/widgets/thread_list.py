"""The list of threads: search, open, rename, delete. It fetches by pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from adapters.terminal.errors import notify_errors
from adapters.terminal.place import OWN, list_place, platform_name, waits
from adapters.terminal.text import deletion_notice, format_age, quoted_title, thread_title
from adapters.terminal.widgets.dialogs import InputDialog
from adapters.terminal.widgets.overlay import Options, Overlay, ask
from gateway.base.terminal_keys import DEFAULT_KEYS

if TYPE_CHECKING:
    from adapters.terminal.conversation import Conversation
    from gateway.client import ThreadInfo

Row: TypeAlias = tuple[str, str, str, str, bool]
"""A row's content: state, age, title, lines below it, and whether it is open."""
PAGE = 50
SEARCH = "search"
KEYS = "enter open  n new  r rename  del delete  u undo  / search  p platform"
MUTED = "$muted"
STATES = {"working": ("●", "$primary"), "waiting": ("?", "$warning"), "parked": ("!", "$error")}


class ThreadList(Vertical):
    """Threads, the newest first. `now()` is in seconds since the epoch.

    `own_first` has those of other configs last.
    """

    class Chosen(Message):
        """The person has opened a thread."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("n", "new", "New"),
        ("r", "rename", "Rename"),
        ("delete", "delete", "Delete"),
        ("u", "undo", "Undo a deletion"),
        ("slash", "search", "Search"),
        ("p", "platform", "Platform"),
    ]

    def __init__(
        self, conversation: Conversation, now: Callable[[], float], *, own_first: bool = False
    ) -> None:
        super().__init__()
        self._own_first = own_first
        self.threads: list[ThreadInfo] = []
        self._conversation = conversation
        self._now = now
        self._whole = False
        self._platform = ""
        self._platforms = [OWN]
        """Those with a thread, as far as they were seen."""
        self._rows: list[Row] = []
        self._search_line = Input(placeholder=SEARCH, compact=True)
        self._options = Options(markup=False, compact=True)

    def focus_list(self) -> None:
        """Let the keyboard walk the list."""
        self._options.focus()
        if self._options.highlighted is None:
            self._options.action_first()

    async def refresh_threads(self) -> None:
        """Fetch the shown threads again; the marked one stays marked.

        A list that nobody has seen yet gets its widgets now.
        """
        if not self.children:
            keys = Static(KEYS, markup=False)
            await self.mount(self._search_line, self._options, keys)
        wanted = max(PAGE, len(self.threads))
        threads = await self._fetch(wanted, 0)
        self._whole = len(threads) < wanted
        marked = self._marked() if self._options.has_focus else None
        self.threads = self._kept(threads)
        self._draw(marked.id if marked else self._open_thread)

    @on(Input.Changed)
    async def _search(self, event: Input.Changed) -> None:
        event.stop()
        self.threads = []
        await self.refresh_threads()

    @on(Input.Submitted)
    def _from_search(self, event: Input.Submitted) -> None:
        event.stop()
        self.focus_list()

    @on(OptionList.OptionHighlighted)
    async def _near_the_end(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        if not self._whole and event.option_index >= len(self.threads) - 1:
            page = await self._fetch(PAGE, len(self.threads))
            self._whole = len(page) < PAGE
            page = self._kept(page)
            self.threads = self.threads + page
            rows = [self._row(thread) for thread in page]
            self._rows = self._rows + rows
            self._options.add_options([_option(*row) for row in rows])

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        if event.option_index < len(self.threads):  # a search may have shortened the list
            self._conversation.open(self.threads[event.option_index])
            self.post_message(self.Chosen())

    def action_new(self) -> None:
        """Start an empty thread."""
        self._conversation.open(None)
        self.post_message(self.Chosen())

    @work
    async def action_rename(self) -> None:
        """Ask for the marked thread's new title."""
        marked = self._marked()
        if marked and (title := await ask(self.screen, InputDialog("Title", marked.title))):
            with notify_errors(self):
                await self._conversation.rename(marked.id, title)
            await self.refresh_threads()

    async def action_delete(self) -> None:
        """Take the marked thread out of the list; delete it soon."""
        if marked := self._marked():
            place = self.threads.index(marked)
            self._conversation.delete_soon(marked.id)
            self.notify(deletion_notice(marked), markup=False)
            await self.refresh_threads()
            if self.threads:
                self._options.highlighted = min(place, len(self.threads) - 1)

    async def action_undo(self) -> None:
        """Keep the thread that was deleted last."""
        if kept := self._conversation.deletions.undo():
            await self.refresh_threads()
            self._draw(kept)
            if marked := self._marked():
                self.notify(f"{quoted_title(marked)} is kept.", markup=False)
        else:
            self.notify("There is no deletion to undo.", markup=False)

    def action_search(self) -> None:
        """Type what to look for."""
        self._search_line.focus()

    async def action_platform(self) -> None:
        """Show the threads of the next platform alone, then all again."""
        around = ["", *self._platforms]
        self._platform = around[(around.index(self._platform) + 1) % len(around)]
        only = f" in {platform_name(self._platform)}" if self._platform else ""
        self._search_line.placeholder = f"{SEARCH}{only}"
        self.threads = []
        await self.refresh_threads()

    async def _fetch(self, limit: int, offset: int) -> list[ThreadInfo]:
        search = self._search_line.value.strip()
        with notify_errors(self):
            found = await self._conversation.client.threads(
                search=search,
                platform=self._platform,
                own_first=self._own_first,
                limit=limit,
                offset=offset,
            )
            self._platforms = list(
                dict.fromkeys([*self._platforms, *(thread.platform for thread in found)])
            )
            return found
        return []

    def _kept(self, found: list[ThreadInfo]) -> list[ThreadInfo]:
        return [thread for thread in found if thread.id not in self._conversation.deletions]

    @property
    def _open_thread(self) -> str:
        return self._conversation.thread.id if self._conversation.thread else ""

    def _marked(self) -> ThreadInfo | None:
        index = self._options.highlighted
        return self.threads[index] if index is not None and index < len(self.threads) else None

    def _draw(self, marked: str) -> None:
        options = self._options
        rows = [self._row(thread) for thread in self.threads]
        if rows != self._rows:  # a list that is set anew loses its place
            self._rows = rows
            options.set_options([_option(*row) for row in rows])
        ids = [thread.id for thread in self.threads]
        options.highlighted = ids.index(marked) if marked in ids else None

    def _row(self, thread: ThreadInfo) -> Row:
        ago = format_age(self._now() - thread.updated_at)
        lines = (*list_place(thread), *waits(thread))
        details = "".join(f"\n      {line}" for line in lines)
        return thread.state, ago, thread_title(thread), details, thread.id == self._open_thread


class ThreadsScreen(Overlay[None]):
    """Closes when a thread was opened; renaming and deleting happen over it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape", "dismiss", "Back"),
        Binding(",".join(DEFAULT_KEYS["sessions"]), "dismiss", "Back", id="sessions"),
    ]

    def __init__(
        self, conversation: Conversation, now: Callable[[], float], *, own_first: bool = False
    ) -> None:
        super().__init__()
        self._list = ThreadList(conversation, now, own_first=own_first)

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


def _option(state: str, ago: str, title: str, details: str, here: bool) -> Option:
    mark, colour = STATES.get(state, (" ", ""))
    parts = [(f"{mark} ", colour), (f"{ago:>3} ", MUTED), (title, "bold" if here else "")]
    if details:
        parts.append((details, colour if state == "waiting" else MUTED))
    return Option(Content.assemble(*parts))
