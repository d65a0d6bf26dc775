"""The full-screen chat application: themes, quitting and the gateway's connection."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager, suppress
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.theme import ThemeProvider
from textual.worker import WorkerFailed

from adapters.terminal.attention import sequence
from adapters.terminal.chosen_theme import ChosenTheme
from adapters.terminal.driver import OutputDriver, TerminalDriver, stop_job
from adapters.terminal.errors import Incidents, describe_error, surviving
from adapters.terminal.key_guard import SecondPress
from adapters.terminal.screens.chat import ChatScreen
from adapters.terminal.settings import SECOND_PRESS, Settings, do_nothing
from adapters.terminal.survival import broken_widget, outlive_errors
from adapters.terminal.themes import PARLEY_DARK, PARLEY_LIGHT, theme_variables
from adapters.terminal.widgets.overlay import Search, show
from gateway.base.background import import_in_background
from gateway.base.terminal_keys import DEFAULT_KEYS

if TYPE_CHECKING:
    from rich.console import RenderableType
    from textual.dom import DOMNode
    from textual.message import Message
    from textual.notifications import Notify
    from textual.widget import Widget

    from gateway.client import Client

LATER = (
    "adapters.terminal.conversation",
    "adapters.terminal.screens.searches",
    "adapters.terminal.widgets.thread_list",
    "adapters.terminal.widgets.transcript",
)
"""Modules of a connected chat, which the first paint does not wait for."""
RETRY = 1.0
"""Seconds before a gateway that is gone is looked for again."""

Connect = Callable[[], AbstractAsyncContextManager["Client"]]


def _driver_of(settings: Settings) -> type[OutputDriver]:
    if not settings.in_browser:
        return TerminalDriver
    from adapters.terminal.browser_driver import BrowserDriver  # only for `parley web`

    return BrowserDriver


class ChatApp(App[int], inherit_bindings=False):
    """Returns the exit code of the process."""

    TITLE = "Parley"
    CSS_PATH = "styles/parley.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-tiny"), (66, "-narrow"), (100, "-wide"), (140, "-roomy")]  # noqa: RUF012 (typed by the base)
    VERTICAL_BREAKPOINTS = [(0, "-short"), (14, "-tall")]  # noqa: RUF012
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(",".join(DEFAULT_KEYS["quit"]), "interrupt", id="quit", priority=True),
        Binding(
            ",".join(DEFAULT_KEYS["commands"]), "command_palette", id="commands", priority=True
        ),
        Binding("ctrl+q", "quit", "Quit", show=False, priority=True),
        Binding("ctrl+z", "suspend_process", "Back to the shell", show=False, priority=True),
    ]

    def __init__(self, settings: Settings, *, theme: str = "", mouse: bool = True) -> None:
        super().__init__(driver_class=_driver_of(settings))
        if settings.keys.chose:
            self.set_keymap(settings.keys.keymap)
        self.incidents = Incidents()
        self.failure = ""
        """Why the chat could not go on, as a sentence."""
        self._settings = settings
        self._previewing = False
        self._theme_to_keep = ""
        settings.toggle_mouse, settings.lost = self.toggle_mouse, self.lost
        settings.survive, settings.read_clipboard = self.survive, self.read_clipboard
        settings.alert = settings.alert or self.alert
        self._leave_key = SecondPress(
            settings.clock.time if settings.clock else time.monotonic, SECOND_PRESS
        )
        self._chat: ChatScreen | None = None
        self._wake = asyncio.Event()
        self._left = False
        self._shown = False
        self._told = ""
        """Why there was no gateway when that was last said."""
        self._mouse = mouse
        self.register_theme(PARLEY_DARK)
        self.register_theme(PARLEY_LIGHT)
        self._chosen_theme = ChosenTheme(settings.data_dir / "theme", theme)
        wanted = (self._chosen_theme.read(), theme, PARLEY_DARK.name)
        self.theme = next(name for name in wanted if name in self.available_themes)
        self._theme_to_keep = self.theme
        settings.preview_theme, settings.choose_theme = self.preview_theme, self.choose_theme

    def get_default_screen(self) -> Screen[None]:
        """The chat."""
        self._chat = ChatScreen(self._settings)
        return self._chat

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """The agents' colours and the muted one, in every theme."""
        return theme_variables(dark=self.current_theme.dark)

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        """Paint, unless the terminal is too slow: its driver does that later."""
        if not (isinstance(self._driver, OutputDriver) and self._driver.behind):
            super()._display(screen, renderable)

    @property
    def lent(self) -> bool:
        """True while another program, an editor, uses the terminal."""
        return isinstance(self._driver, OutputDriver) and self._driver.lent

    def is_quiet(self) -> bool:
        """True while nobody types and no team works."""
        return isinstance(self.screen_stack[0], ChatScreen) and self.screen_stack[0].is_quiet

    async def hold(self, connect: Connect) -> None:
        """Be connected from the first paint until the person has left.

        When the gateway is gone, because another process owned it, connect again: perhaps this
        one owns it then.
        """
        await self._settings.painted.wait()
        await import_in_background(*LATER)
        while not self._left:
            self._wake.clear()
            try:
                async with connect() as client:
                    self.call_later(self._show_thread, client)
                    await self._wake.wait()
                    if self._left:
                        await self._delete_the_rest(client)
            except Exception as error:
                if not self._shown:
                    self.fail(error)
                    return
                self._tell_of_lost_gateway(error)
            if not self._left:
                await asyncio.sleep(RETRY)

    async def _delete_the_rest(self, client: Client) -> None:
        """Delete now what nobody can undo any more."""
        from gateway.errors import log_incident  # not at the start

        conversation = self._chat.conversation if self._chat else None
        if conversation is not None:
            try:
                await conversation.end_modes(client, closes=True)
            except Exception as error:
                log_incident(error, "a mode of approval could not be ended")
        for thread in conversation.deletions.finish() if conversation else ():
            try:
                await client.delete_thread(thread)
            except Exception as error:  # it stays, and the others are still deleted
                log_incident(error, "a thread could not be deleted")

    def on_notify(self, event: Notify) -> None:
        """Drop notices that say the same, or have no room.

        Notices that are higher than the screen would hide the draft, and stay painted.
        """
        shown = [each for each in self._notifications if each.message != event.notification.message]
        most = self._chat.most_notices if self._chat else 1
        kept = shown[-(most - 1) :] if most > 1 else []
        for notice in list(self._notifications):
            if notice not in kept:
                self._unnotify(notice, refresh=False)

    def lost(self) -> None:
        """The gateway is gone."""
        self._wake.set()

    def disconnect(self) -> None:
        """The screen is given back; the line to the gateway may go."""
        self._left = True
        self._wake.set()
        self._settings.painted.set()

    def _tell_of_lost_gateway(self, error: Exception) -> None:
        """Say once why there is no gateway, unless only the owner changes."""
        from gateway.errors import GatewayClosed, GatewayError, StoreInUse  # not at the start

        if not isinstance(error, GatewayError):
            self.survive(error)
        elif not isinstance(error, GatewayClosed | StoreInUse) and str(error) != self._told:
            self._told = str(error)
            self.notify(describe_error(error), severity="error", markup=False)

    def fail(self, error: Exception) -> None:
        """Exit with a sentence for the error and its exit code."""
        self.failure = describe_error(error)
        self.exit(getattr(error, "exit_code", 1))

    def survive(self, error: Exception) -> None:
        """Tell of a mistake of our own, and go on.

        What can't be drawn is hidden: nothing else would be drawn with it in the way.
        """
        if self._exit:
            return  # what was still drawn on is being taken down
        cause = error.error if isinstance(error, WorkerFailed) else error
        cause = cause if isinstance(cause, Exception) else error
        told = self.incidents.tell(cause)
        with suppress(Exception):  # what tells of mistakes may have one itself: it was logged
            self._hide_broken(cause)
            if told:
                self.notify(told, severity="error", markup=False)

    def _hide_broken(self, error: Exception) -> None:
        broken, chat = broken_widget(error), self.screen_stack[0]
        match broken:
            case None:
                pass
            case ChatScreen():
                self.fail(error)
            case Screen():
                broken.dismiss()
            case _ if isinstance(chat, ChatScreen) and chat.writes_in(broken):
                chat.put_draft_aside()
            case _:
                broken.display = False

    def _handle_exception(self, error: Exception) -> None:
        """Go on after a mistake; end if there is nothing left.

        Textual would print a traceback with the values of all variables, secrets among them.
        """
        if self.is_running:
            self.survive(error)
        else:
            self.fail(error)

    async def _dispatch_message(self, message: Message) -> None:
        with surviving(self._handle_exception):
            await super()._dispatch_message(message)

    def _register_child(
        self, parent: DOMNode, child: Widget, before: int | None, after: int | None
    ) -> None:
        outlive_errors(child, self._handle_exception)
        super()._register_child(parent, child, before, after)

    def _start_widget(self, parent: Widget, widget: Widget) -> None:
        outlive_errors(widget, self._handle_exception)  # a scroll bar
        super()._start_widget(parent, widget)

    def on_mount(self) -> None:
        """Hear of mistakes in callbacks of the event loop."""
        asyncio.get_running_loop().set_exception_handler(self._on_loop_error)

    def preview_theme(self, name: str) -> None:
        """Show a theme without keeping it; "" ends that."""
        self._previewing = True
        self.theme = name or self._theme_to_keep
        self._previewing = False

    def choose_theme(self, name: str) -> None:
        """Show a theme from now on."""
        self.theme = name
        self.watch_theme(name)  # which a preview may have shown already

    def watch_theme(self, theme: str) -> None:
        """Keep a theme that is no preview."""
        if self.is_running and not self._previewing and theme != self._theme_to_keep:
            self._theme_to_keep = theme
            self._chosen_theme.keep(theme)

    def on_unmount(self) -> None:
        """Leave the event loop as it was."""
        asyncio.get_running_loop().set_exception_handler(None)

    def _on_loop_error(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if "handle" in context and isinstance(error, Exception):
            self.survive(error)
        else:
            loop.default_exception_handler(context)

    async def _show_thread(self, client: Client) -> None:
        screen = self.screen_stack[0]
        if isinstance(screen, ChatScreen):
            try:
                await screen.attach(client)
                self._shown, self._told = True, ""
            except Exception as error:
                if not self._shown:
                    self.fail(error)
                    return
                self._tell_of_lost_gateway(error)
                self.lost()

    def action_interrupt(self) -> None:
        """Copy the selection or clear the draft; otherwise quit when repeated."""
        selected = getattr(self.focused, "selected_text", "") or self.screen.get_selected_text()
        if selected:
            self.copy_to_clipboard(selected)
            self.notify("Copied.", markup=False)
        elif isinstance(self.screen, ChatScreen) and self.screen.put_draft_aside():
            self.notify("Draft cleared; up restores it.", markup=False)
        else:
            self._leave_at_second_press(self._settings.keys.label("quit"))

    async def action_quit(self) -> None:
        """Quit when repeated.

        Where ctrl+s stops a terminal, ctrl+q lets it go on.
        """
        self._leave_at_second_press("ctrl+q")

    def _leave_at_second_press(self, key: str) -> None:
        if self._leave_key.press():
            self.exit(0)
        else:
            self.notify(f"Press {key} again to quit.", timeout=SECOND_PRESS, markup=False)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave ctrl+z to text fields where no shell has the terminal."""
        if action == "suspend_process":
            return self._driver is not None and self._driver.can_suspend
        return super().check_action(action, parameters)

    def action_suspend_process(self) -> None:
        """Stop like any program at ctrl+z; `fg` in the shell goes on."""
        with self.suspend():
            stop_job()

    async def read_clipboard(self, most: int) -> bytes | str | None:
        """The image of the terminal's clipboard, or why there is none."""
        driver = self._driver
        return await driver.clipboard.read(most) if isinstance(driver, TerminalDriver) else None

    def alert(self, text: str) -> None:
        """Let the terminal call a person who looks elsewhere."""
        if self._driver is not None and not self.is_headless:
            self._driver.write(sequence(text, os.environ))

    def toggle_mouse(self) -> None:
        """Give the mouse to the terminal for selecting text, or back."""
        self._mouse = not self._mouse
        driver = self._driver
        if driver is not None and not self.is_headless:
            # Textual has no public switch for what its driver does at the start and the end, and
            # the driver does nothing about the mouse unless it was started with it.
            name = "_enable_mouse_support" if self._mouse else "_disable_mouse_support"
            driver._mouse = True  # pyright: ignore[reportPrivateUsage]
            getattr(driver, name, do_nothing)()
        notice = (
            "Parley uses the mouse again."
            if self._mouse
            else "The terminal uses the mouse: select text with it."
        )
        self.notify(notice, markup=False)

    def on_markdown_link_clicked(self, event: events.Event) -> None:
        """Copy a link's address; no link opens by itself."""
        href = str(getattr(event, "href", ""))
        self.copy_to_clipboard(href)
        self.notify(f"Copied the address: {href}", markup=False)

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """The palette: all commands, of which one opens the themes."""
        chat = self.screen_stack[0]
        for each in chat.commands if isinstance(chat, ChatScreen) else ():
            run = self.action_change_theme if each.name == "theme" else self._runner(each.name)
            yield SystemCommand(each.name.capitalize(), each.description, run)

    def action_command_palette(self) -> None:
        """Search the commands."""
        show(self.screen, Search())

    def search_themes(self) -> None:
        """Search the themes."""
        show(self.screen, Search([ThemeProvider], placeholder="Search for themes…"))

    def _runner(self, name: str) -> Callable[[], None]:
        def run() -> None:
            screen = self.screen_stack[0]
            if isinstance(screen, ChatScreen):
                screen.action_command(name)

        return run
