"""The chat screen: a thread, its composer and the team's requests.

Nothing of the gateway is imported before the composer is painted; `attach` brings the rest.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar, TypeVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widget import Widget
from textual.widgets._toast import ToastRack

from adapters.terminal.attention import Attention
from adapters.terminal.commands import CONTINUE, RETRY, Commands
from adapters.terminal.errors import notify_errors, surviving
from adapters.terminal.history import History
from adapters.terminal.key_guard import TypingGuard
from adapters.terminal.place import message_label, message_title
from adapters.terminal.redraw_pace import Pace
from adapters.terminal.request_keys import Decision, Draft, Opening
from adapters.terminal.screens.answer_focus import AnswerFocus
from adapters.terminal.screens.attaching import Attaching
from adapters.terminal.screens.command_runner import CommandRunner
from adapters.terminal.screens.completion import Completion
from adapters.terminal.screens.draft_keeper import DraftKeeper
from adapters.terminal.screens.thread_view import SECOND_PRESS, ThreadView
from adapters.terminal.widgets.bars import Welcome
from adapters.terminal.widgets.composer import Composer
from adapters.terminal.widgets.late_clicks import LateClicks
from adapters.terminal.widgets.palette import Palette
from adapters.terminal.widgets.request_card import RequestCard
from gateway.base.terminal_keys import DEFAULT_KEYS, NO_KEY, OTHERS
from gateway.render.sanitize import sanitize

if TYPE_CHECKING:
    from textual.events import Key
    from textual.timer import Timer

    from adapters.terminal.conversation import Conversation
    from adapters.terminal.screens.arguments import ArgumentsScreen
    from adapters.terminal.screens.searches import Searches
    from adapters.terminal.settings import Settings
    from adapters.terminal.widgets.entries import Card
    from adapters.terminal.widgets.markdown import Fence
    from adapters.terminal.widgets.search_bar import SearchBar
    from adapters.terminal.widgets.thread_list import ThreadList
    from gateway.client import AnswerKind, Client
    from gateway.items import RequestItem
    from gateway.picture import Picture

Shown = TypeVar("Shown", bound=Widget)
SIDE_REFRESH = 10.0
MOST_REFRESH_WAIT = 0.5
GOES_ON = "y goes on here   n or esc goes back"
DECIDED = "somebody else has decided."
"""Said of a request whose arguments were on the screen."""


def _binding(command: str) -> Binding:
    """The keys of a command, before those of text fields."""
    keys = ",".join(DEFAULT_KEYS.get(command, (NO_KEY,)))
    return Binding(keys, f"command('{command}')", id=command, priority=True)


class ChatScreen(LateClicks[None]):
    """One thread on screen.

    All drawing of the thread is done by one task at its own pace; events and keys only set a flag.
    """

    AUTO_FOCUS = "Composer"
    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape", "back", "Back, or stop"),
        *(_binding(name) for name in (*DEFAULT_KEYS, *OTHERS) if name not in ("commands", "quit")),
    ]

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.conversation: Conversation | None = None
        self._settings = settings
        self._clock = settings.clock or asyncio.get_running_loop()
        self._guard = TypingGuard(self._clock)
        self._view = ThreadView(
            time=self._clock.time, now=settings.now, operator=settings.operator, keys=settings.keys
        )
        self._main = Horizontal(id="main")
        self._palette = Palette()
        self._palette.commands = Commands(keys=settings.keys)
        self._history = History(settings.data_dir / "prompts.jsonl")
        self._composer = Composer(self._history, self._palette)
        self._draft = DraftKeeper(self._composer, self._clock, settings.data_dir / "drafts")
        self.files = Attaching(self, self._composer, self._clock, settings)
        self._completion = Completion(self, self._palette, self._composer, settings)
        self._card = RequestCard(self._guard, self._clock, settings.keys)
        self._arguments: ArgumentsScreen | None = None
        """The view of arguments that was opened last."""
        self._answer_focus = AnswerFocus(self._composer, self._card, self._guard, self._clock)
        self._searches: Searches | None = None
        self._commands = CommandRunner(self, self, settings)
        self._side: ThreadList | None = None
        self._side_state: tuple[str, str, int] = ("", "", 0)
        """The open thread's state in the thread list."""
        self._attention = Attention()
        self._pace = Pace(self._draw)
        self._connected = asyncio.Event()
        self._tick: Timer | None = None

    def compose(self) -> ComposeResult:
        """The shell: what the first paint needs, and no more."""
        view = self._view
        yield view.head
        with self._main:
            with Vertical(id="thread"):
                with view.place:
                    yield view.unsent
                    yield view.welcome
                yield view.new_below
                yield self._card
                yield view.queue
                yield self.files.bar
                yield self._palette
                yield self._composer
            yield view.team
        yield view.status

    def _extend_compose(self, widgets: list[Widget]) -> None:
        """Leave out the notices over the whole screen."""
        super()._extend_compose(widgets)
        widgets[:] = [widget for widget in widgets if not isinstance(widget, ToastRack)]

    def get_child_by_type(self, expect_type: type[Shown]) -> Shown:
        """A child, or the notices in the transcript's place.

        Textual shows notices in what it finds so.
        """
        rack = self._view.place.rack
        return rack if isinstance(rack, expect_type) else super().get_child_by_type(expect_type)

    @property
    def commands(self) -> Commands:
        """The commands that there are."""
        return self._palette.commands

    @property
    def most_notices(self) -> int:
        """The number of notices that there is room for."""
        return self._view.place.most

    @property
    def is_quiet(self) -> bool:
        """True while nobody types and the team does not work."""
        busy = self.conversation is None or self.conversation.model.activity == "working"
        return not busy and self._guard.quiet_in() <= 0

    def on_mount(self) -> None:
        """Say what happens; tell the app when it is on screen."""
        self._tick = self.set_interval(1.0, self._draw_status, pause=True)
        self._draw_status()
        if first := self._settings.first:
            self._history.add(first)
            self._submit(first, first)
        self.call_after_refresh(self._settings.painted.set)

    def on_unmount(self) -> None:
        """Leave nothing unsaved."""
        self._draft.close()

    def on_resize(self) -> None:
        """Where there is room for the threads beside the chat, fetch them."""
        self.call_after_refresh(self._refresh_side)

    async def attach(self, client: Client) -> None:
        """Show the thread of this client. Raises GatewayError.

        A further client takes the place of one whose gateway is gone.
        """
        if self.conversation is not None:
            self.conversation.replace_client(client)
            self._notify_owner()
            return
        # What loads the gateway waits for the first paint.
        from adapters.terminal.conversation import Conversation
        from adapters.terminal.screens.searches import Searches
        from adapters.terminal.widgets.thread_list import ThreadList

        await self._view.begin()
        searches = Searches(self, self._view, self._composer, self._history)
        await searches.mount()
        self._searches = searches
        self._palette.commands = commands = Commands(client.commands(), self._settings.keys)
        for trouble in await commands.find_prompts():
            self._settings.tell(trouble, "warning")
        conversation = Conversation(
            client,
            changed=self._pace.changed,
            opened=self._on_opened,
            deleted=self._draft.deleted,
            due=self._delete,
            lost=self._settings.lost,
            agree=self.agrees,
            clock=self._clock,
        )
        asked = self._settings
        await conversation.start(
            thread=asked.thread,
            new=asked.new or asked.resume,
            team=asked.team,
            origin=asked.origin,
        )
        self.conversation = conversation
        self._side = ThreadList(conversation, self._settings.now)
        self._side.id = "side"
        await self._main.mount(self._side, before=0)
        self.set_interval(SIDE_REFRESH, self._refresh_side)
        self._connected.set()
        self._notify_owner()
        self._on_opened()
        self._pace.changed()
        self.run_worker(self._pace.run, group="draw")
        self.run_worker(self._show_notices, group="notices")
        if asked.resume:
            self._list_threads(own_first=True)

    async def agrees(self, told: str, title: str = "Another config", keys: str = GOES_ON) -> bool:
        """Ask the person a question."""
        from adapters.terminal.widgets.dialogs import QuestionDialog  # not at the start
        from adapters.terminal.widgets.overlay import ask  # not at the start

        return bool(await ask(self, QuestionDialog(title, told, self._guard, keys)))

    async def _show_notices(self) -> None:
        while self.conversation is not None:
            self.conversation.note(*await self._settings.notices.get())

    def _notify_owner(self) -> None:
        if self.conversation is not None and (attached := self.conversation.attached):
            self.notify(attached, markup=False)

    # drawing

    def _on_opened(self) -> None:
        """Another thread is shown: follow its events instead."""
        if self.conversation is not None:
            self._draft.opened(self.conversation)
            self.files.opened(self.conversation)
            self.run_worker(self.conversation.follow, group="events", exclusive=True)
            self._refresh_side()

    async def _draw(self) -> None:
        with surviving(self._settings.survive):
            await self._draw_thread()
        painted = asyncio.Event()
        self.call_after_refresh(painted.set)
        with suppress(TimeoutError):  # under a dialog nothing is painted
            async with asyncio.timeout(MOST_REFRESH_WAIT):
                await painted.wait()

    async def _draw_thread(self) -> None:
        if (conversation := self.conversation) is None:
            return
        model, loading = conversation.model, conversation.loading
        told = self._attention.notice(model, now=self._settings.now(), loading=loading)
        if told and self._settings.alert and not self.app.app_focus:
            self._settings.alert(told)
        if self._view.reset_for(model):
            self._answer_focus.close(())
        self._close_arguments(model)
        with surviving(self._settings.survive):  # a request must be seen even then
            await self._view.draw(conversation)
        if self._searches is not None:
            self._searches.drawn()
        self._draw_status()
        thread, name = conversation.thread, conversation.client.operator()
        self._composer.address(message_label(thread, name), message_title(thread, name))
        self._composer.offer_back(bool(model.queued))
        self._palette.agents = conversation.agents
        requests = list(model.requests.values())
        if (state := (model.activity, model.title, len(requests))) != self._side_state:
            self._side_state = state
            self._refresh_side()
        await self._card.show(requests)
        self._answer_focus.close(model.requests)
        self._answer_focus.offer()

    def _draw_status(self) -> None:
        working = self._view.draw_status(self.conversation)
        if self._tick is not None:
            (self._tick.resume if working else self._tick.pause)()

    @work(group="side", exclusive=True)
    async def _refresh_side(self) -> None:
        if self._side is not None and self._side.is_mounted and self._side.display:
            await self._side.refresh_threads()

    # writing

    @on(Composer.Typed)
    def _on_typed(self) -> None:
        self._guard.note_key()

    @on(Composer.Changed)
    def _draft_changed(self, event: Composer.Changed) -> None:
        if event.text_area is self._composer:
            self._draft.changed()
            if self._composer.purpose is None:
                self._completion.draft_changed(self.conversation)
                self.files.draft_changed()
            if not self._composer.text:
                self._answer_focus.offer()

    @on(Palette.Marked)
    def _preview(self, event: Palette.Marked) -> None:
        self._settings.preview_theme(event.offer.theme if event.offer else "")

    @on(Palette.Clicked)
    def _take_offer(self, event: Palette.Clicked) -> None:
        self._composer.focus()
        self._composer.take(event.offer)

    def give_back(self, text: str) -> None:
        """Write again what could not be done."""
        self._composer.give_back(text)

    @on(Composer.Submitted)
    def _on_submitted(self, event: Composer.Submitted) -> None:
        self._palette.suggest("")
        if event.purpose is not None:
            kind: AnswerKind = "deny" if event.purpose.kind == "note" else "text"
            item, text = self._card.item, event.text
            if kind == "text" and item is not None and item.request == event.purpose.request:
                from gateway.client import chosen  # not at the start

                text = chosen(text, item.options, several=item.kind == "choices")
            self._answer(event.purpose.request, kind, text)
        else:
            self._submit(event.text, event.typed)

    def _submit(self, text: str, typed: str = "") -> None:
        if local := self.commands.local(text):
            self._commands.run(*local)
        else:
            self._send(text, typed)

    @work(group="send")
    async def _send(self, text: str, typed: str) -> None:
        """Send a message; what could not be sent is a draft again."""
        if self.conversation is None:
            self._view.hold(text)
            await self._connected.wait()
            if not self._view.unsent.discard(text):
                return
        assert self.conversation is not None
        self._view.follow()
        taken, files = False, None
        with notify_errors(self):
            await self._commands.choosing.settled()
            found = self.commands.with_argument(text)
            if found and found[0].takes == "model":
                await self._commands.choosing.check_model(*found)
            sent = await self.commands.expanded(text)
            is_command = sent.startswith(("/", "!"))
            if (files := [] if is_command else await self.files.take(text, typed)) is None:
                text = typed  # the first Enter only asks
            else:
                taken = (await self.conversation.send(sent, files)).outcome != "refused"
        is_name = text.startswith("/") and len(text.split()) == 1
        if not taken and not (is_name and self._composer.unsent):
            self._composer.give_back(text)
        elif files:
            self.files.sent()

    @on(Composer.PathPasted)
    @work(group="attach")
    async def _on_path_pasted(self, event: Composer.PathPasted) -> None:
        """Offer to attach the file of a pasted path."""
        if await self.files.offer(event.path, self.agrees):
            self._composer.take_out(event.text)

    @on(Composer.ImageWanted)
    @work(group="attach")
    async def _attach_image(self) -> None:
        """Attach the clipboard's image, or paste what was copied here."""
        if why := await self.files.attach_image(self._settings.read_clipboard):
            if self.app.clipboard:
                self._composer.action_paste()
            else:
                self.notify(why, markup=False)

    @on(Composer.LeaveRequested)
    def _on_leave_requested(self) -> None:
        self.app.exit(0)

    @on(Welcome.ExampleChosen)
    def _on_example_chosen(self, event: Welcome.ExampleChosen) -> None:
        self._offer_draft(event.text)

    def _offer_draft(self, text: str) -> None:
        """Make this the draft; one that exists stays."""
        self._composer.focus()
        if self._composer.unsent:
            clear = self._settings.keys.label("quit")
            self.notify(f"Clear your draft first: {clear}. The up key restores it.", markup=False)
        else:
            self._composer.stop_asking()
            self._composer.set_draft(text)

    def set_focus(
        self, widget: Widget | None, scroll_visible: bool = True, from_app_focus: bool = False
    ) -> None:
        """Move the focus; where it would be nowhere, to the draft."""
        lost = widget is None and self.app.app_focus and self._composer.focusable
        super().set_focus(self._composer if lost else widget, scroll_visible, from_app_focus)

    def writes_in(self, widget: Widget) -> bool:
        """True if without this widget nobody could write."""
        return self._composer in widget.walk_children(with_self=True)

    def put_draft_aside(self) -> bool:
        """Clear what is written. False if there is nothing."""
        return self._composer.put_aside()

    @on(Composer.UpAtTop)
    @work(group="queue", exclusive=True)
    async def _edit_queued(self) -> None:
        """Take the newest waiting message back into the draft."""
        text = await self._restore_queued()
        if text and not self._composer.text:
            self._composer.set_draft(text)

    @on(Composer.BackspaceWhenEmpty)
    @work(group="queue", exclusive=True)
    async def _remove_queued(self) -> None:
        """Take a file off, or the newest waiting message back for good."""
        if not self.files.take_back():
            await self._restore_queued()

    async def _restore_queued(self) -> str | None:
        if self.conversation is not None:
            with notify_errors(self):
                return await self.conversation.withdraw_newest()
        return None

    @work(group="delete")
    async def _delete(self, thread: str) -> None:
        """Delete a thread for good."""
        if self.conversation is not None:
            await self._attempt(self.conversation.delete(thread))
            self._refresh_side()

    async def _attempt(self, doing: Awaitable[object]) -> bool:
        """True if it worked; a failure was shown."""
        with notify_errors(self):
            await doing
            return True
        return False

    # answering

    @on(RequestCard.FocusRequested)
    def answer(self) -> None:
        """Answer what the team asks."""
        self._answer_focus.answer_open_request()

    @on(RequestCard.Pressed)
    def _on_card_key(self, event: RequestCard.Pressed) -> None:
        match event.meaning:
            case Draft(text):
                self._answer_focus.type(text)
            case Opening(item):
                self._open_arguments(item)
            case Decision(item, "deny"):
                self._answer_focus.ask_for_note(item)
            case Decision(item, choice, text):
                self._answer(item.request, choice, text)

    def _open_arguments(self, item: RequestItem) -> None:
        """Show all arguments; back from there, keys wait for a moment again."""
        from adapters.terminal.screens.arguments import ArgumentsScreen  # not at the start

        if self.is_active:  # a second Enter opens no second one
            self._arguments = ArgumentsScreen(item)
            self.app.push_screen(self._arguments, lambda _: self._guard.note_focus())

    def _close_arguments(self, model: Picture) -> None:
        """Close the arguments of a request that somebody else has decided."""
        shown = self._arguments
        if shown is not None and shown.is_active and shown.request not in model.requests:
            shown.dismiss()
            model.note(f"{shown.subject}: {DECIDED}")

    @work(group="answer")
    async def _answer(self, request: str, kind: AnswerKind, text: str) -> None:
        """Answer a request; a text that did not arrive is written again."""
        if self.conversation is None:
            return
        self._card.mark_sent(sent=True)
        taken = False
        with notify_errors(self):
            refusal = await self.conversation.answer(request, kind, text)
            taken = refusal is None
            if refusal:
                self.notify(sanitize(refusal), severity="warning", markup=False)
        if taken:
            self._composer.stop_asking()
        else:
            self._card.mark_sent(sent=False)
            if self._composer.purpose is not None and not self._composer.text:
                self._composer.set_draft(text)
        self._composer.focus()

    # keys and commands

    def action_back(self) -> None:
        """Close what is open, leave the card, stop the team; keep drafts."""
        if self._searches is not None and self._searches.close():
            return
        if self._palette.display:
            self._palette.close(self._composer.text)
        elif self._composer.purpose is not None:
            self._composer.stop_asking()
            self._composer.focus()
        elif self.focused is not self._composer:
            self._composer.focus()
        elif unsent := self._view.take_back():
            self._composer.give_back(unsent)
        elif self.conversation and self.conversation.model.activity != "idle":
            self._press_stop()
        elif self._view.rests and not self._composer.text and self._view.rewind_key.press():
            self._commands.rewind()

    def _press_stop(self) -> None:
        if self._view.stop_key.press():
            self.stop_team()
        else:
            self._clock.call_later(SECOND_PRESS, self._redraw_status)
        self._draw_status()

    def _redraw_status(self) -> None:
        self.call_later(self._draw_status)

    @work(group="stop")
    async def stop_team(self) -> None:
        """Stop the running turn."""
        if self.conversation is not None:
            self._view.stopping = True
            self._draw_status()
            await self._attempt(self.conversation.stop())

    @work(group="send")
    async def retry(self) -> None:
        """Try a failed turn again, or go on with a cut answer."""
        model = self.conversation.model if self.conversation else None
        if self.conversation is not None and model and (model.can_retry or model.can_continue):
            self._view.follow()
            await self._attempt(self.conversation.send(RETRY if model.can_retry else CONTINUE))
        else:
            self.notify("There is no turn to try again.", markup=False)

    @on(Composer.ModeRequested)
    @work(group="mode")
    async def switch_mode(self) -> None:
        """Change the mode of approval to the next."""
        if self.conversation is not None:
            await self._attempt(self.conversation.switch_mode())

    @work(group="mode")
    async def carry_out_plan(self) -> None:
        """Leave the mode plan, with the plan as the next task."""
        if self.conversation is not None:
            with notify_errors(self):
                task = await self.conversation.leave_plan()
                self._view.follow()
                await self.conversation.send(task)

    def action_command(self, name: str) -> None:
        """Run a command, as its key or the palette wants it."""
        self._guard.note_key()
        match name:
            case "mode":
                self.switch_mode()
            case "retry":
                self.retry()
            case "code":
                self._commands.copy_next_code()
            case _ if self.commands.needs_argument(name):
                self._offer_draft(f"/{name} ")
            case _:
                self._submit(f"/{name}")

    def show_threads(self) -> None:
        """Focus the thread list, or open it over a narrow chat."""
        if self.conversation is None or self._side is None:
            return
        if self._side.display:
            self._side.focus_list()
            self._refresh_side()
        else:
            self._list_threads()

    def _list_threads(self, *, own_first: bool = False) -> None:
        from adapters.terminal.widgets.overlay import show  # not at the start
        from adapters.terminal.widgets.thread_list import ThreadsScreen

        if self.conversation is not None:
            now = self._settings.now
            show(self, ThreadsScreen(self.conversation, now, own_first=own_first))

    @property
    def focus_chain(self) -> list[Widget]:
        """Stops of tab and shift+tab, without the threads beside the chat."""
        side, chain = self._side, super().focus_chain
        if side is None or self._in_side(self.focused):
            return chain
        return [widget for widget in chain if not self._in_side(widget)]

    def _in_side(self, widget: Widget | None) -> bool:
        return widget is not None and self._side in widget.ancestors

    def on_key(self, event: Key) -> None:
        """Give the draft each character that nothing else wants."""
        wanted = event.key in self.active_bindings or self._in_side(self.focused)
        if event.is_printable and event.character and not wanted:
            event.stop()
            self._answer_focus.type(event.character)

    def on_thread_list_chosen(self) -> None:
        """A thread was opened beside the chat: back to writing."""
        self._composer.focus()

    def show_help(self) -> None:
        """Show keys and commands."""
        self._commands.help(self.commands)

    @work(group="editor", exclusive=True)
    async def edit_draft(self) -> None:
        """Write the draft in the person's editor."""
        await self._commands.edit(self._composer)

    # finding

    def find(self, words: str) -> None:
        """Find these words in the transcript; without any, ask for them."""
        if self._searches is not None:
            self._searches.find(words)

    def find_prompt(self) -> None:
        """Look for an earlier prompt by its words."""
        if self._searches is not None:
            self._searches.find_prompt()

    def on_search_bar_typed(self, event: SearchBar.Typed) -> None:
        """Search for the words in a bar."""
        if self._searches is not None:
            self._searches.look_for(event.bar, event.words)

    def on_search_bar_stepped(self, event: SearchBar.Stepped) -> None:
        """Go on in what was found, or back."""
        if self._searches is not None:
            self._searches.step(event.bar, event.step)

    def on_prompt_bar_taken(self) -> None:
        """Take the prompt that was found as the draft."""
        if self._searches is not None:
            self._searches.take_prompt()

    def on_search_bar_scroll(self, event: SearchBar.Scroll) -> None:
        """Scroll the transcript from a bar."""
        self._view.scroll(pages=event.pages, lines=0)

    def show_only(self, agent: str) -> None:
        """Show what one agent says and does; everything, without a name."""
        self._view.only = agent
        self._pace.changed_by_reader()

    def on_fence_copy_requested(self, event: Fence.CopyRequested) -> None:
        """Copy the focused code block."""
        self._commands.copy_block(event.block)

    def on_card_details_requested(self, event: Card.DetailsRequested) -> None:
        """Show the whole of what a card holds."""
        from adapters.terminal.widgets.dialogs import TextDialog  # not at the start
        from adapters.terminal.widgets.overlay import show

        show(self, TextDialog(event.title, event.text))

    # scrolling

    @on(Composer.Scroll)
    def _scroll(self, event: Composer.Scroll) -> None:
        self._view.scroll(pages=event.pages, lines=event.lines)

    def follow(self) -> None:
        """Go to the end of the transcript and stay there."""
        self._view.follow()

    def on_transcript_draw_requested(self) -> None:
        """The transcript wants to be drawn."""
        self._pace.changed_by_reader()

    def on_transcript_moved(self) -> None:
        """The reader has left the end, or is back."""
        self._view.show_new_items()
