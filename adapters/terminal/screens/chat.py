"""The chat: one thread, its composer, and what the team asks. It wires widgets to a `Conversation`.

Nothing of the gateway is imported before the composer is painted; `attach` brings the rest.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable
from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from adapters.terminal.commands import Command, Commands
from adapters.terminal.guard import TypingGuard
from adapters.terminal.history import History
from adapters.terminal.pace import pause_after
from adapters.terminal.text import duration
from adapters.terminal.titles import delete_question
from adapters.terminal.trouble import told
from adapters.terminal.widgets.bars import Head, NewBelow, Queue, Status
from adapters.terminal.widgets.composer import Composer, Purpose
from adapters.terminal.widgets.palette import Palette
from adapters.terminal.widgets.request_card import RequestCard
from gateway.render.sanitize import sanitize

if TYPE_CHECKING:
    from textual.timer import Timer

    from adapters.terminal.app import Settings
    from adapters.terminal.conversation import Conversation
    from adapters.terminal.items import RequestItem
    from adapters.terminal.model import ThreadModel
    from adapters.terminal.widgets.entries import Card
    from adapters.terminal.widgets.session_list import SessionList
    from adapters.terminal.widgets.transcript import Transcript
    from gateway.client import AnswerKind, Client

SECOND_PRESS = 1.0
"""Seconds in which a second esc stops the team."""
SIDE_REFRESH = 10.0
MOST_REFRESH_WAIT = 0.5
WELCOME = "Write to the team below. / shows commands, F1 keys; ctrl+s your threads."


class ChatScreen(Screen[None]):
    """One thread on screen.

    All drawing of the thread is done by one task at its own pace; events and keys only set a flag.
    """

    AUTO_FOCUS = "Composer"
    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape", "back", "Back, or stop"),
        ("ctrl+t", "answer", "Answer the team"),
        ("ctrl+s", "sessions", "Threads"),
        ("ctrl+o", "copy_reply", "Copy the last reply"),
        ("ctrl+end", "follow", "Follow"),
        ("f1", "help", "Help"),
        ("f9", "mouse", "Mouse"),
    ]

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.conversation: Conversation | None = None
        self._settings = settings
        self._clock = settings.clock or asyncio.get_running_loop()
        self._guard = TypingGuard(self._clock)
        self._palette = Palette()
        self._composer = Composer(History(settings.data_dir / "prompts.jsonl"), self._palette)
        self._card = RequestCard(self._guard, self._clock)
        self._transcript: Transcript | None = None
        self._side: SessionList | None = None
        self._side_state: tuple[str, str, int] = ("", "", 0)
        """What the list of threads says of the open one."""
        self._dirty = asyncio.Event()
        self._urgent = asyncio.Event()
        self._drawn: ThreadModel | None = None
        self._offered = ""
        self._armed_at = -SECOND_PRESS
        self._stopping = False
        self._connected = asyncio.Event()
        self._tick: Timer | None = None

    def compose(self) -> ComposeResult:
        """The shell: what the first paint needs, and no more."""
        yield Head()
        with Horizontal(id="main"), Vertical(id="thread"):
            with Vertical(id="place"):
                yield Static(WELCOME, markup=False, id="welcome")
            yield NewBelow()
            yield self._card
            yield Queue()
            yield self._palette
            yield self._composer
        yield Status()

    def on_mount(self) -> None:
        """Say what happens; tell the app when it is on screen."""
        self._tick = self.set_interval(1.0, self._draw_status, pause=True)
        self._draw_status()
        self.call_after_refresh(self._settings.painted.set)

    async def attach(self, client: Client) -> None:
        """Show the thread of this client. Raises GatewayError when it can't be opened.

        A further client takes the place of one whose gateway is gone.
        """
        if self.conversation is not None:
            self.conversation.carry_on(client)
            return
        from adapters.terminal.conversation import Conversation
        from adapters.terminal.widgets.session_list import SessionList
        from adapters.terminal.widgets.transcript import Transcript

        self._transcript = Transcript()
        await self.query_one("#place").mount(self._transcript)
        offered = [(command.name, command.description) for command in client.commands()]
        self._palette.commands = Commands(offered)
        conversation = Conversation(
            client, changed=self._dirty.set, opened=self._opened, lost=self._settings.lost
        )
        await conversation.start(thread=self._settings.thread, new=self._settings.new)
        self.conversation = conversation
        self._side = SessionList(conversation, self._settings.now)
        self._side.id = "side"
        await self.query_one("#main").mount(self._side, before=0)
        self.set_interval(SIDE_REFRESH, self._refresh_side)
        self._connected.set()
        self._opened()
        self._dirty.set()
        self.run_worker(self._draw_on(), group="draw")

    # drawing

    def _opened(self) -> None:
        """Another thread is shown: follow its events instead."""
        if self.conversation is not None:
            self.run_worker(self.conversation.follow(), group="events", exclusive=True)
            self._refresh_side()

    async def _draw_on(self) -> None:
        """Draw whatever has changed, no faster than the machine does easily."""
        while True:
            await self._dirty.wait()
            self._dirty.clear()
            started = time.thread_time()
            await self._draw()
            await self._refreshed()
            await self._pause(pause_after(time.thread_time() - started))

    async def _pause(self, seconds: float) -> None:
        """Wait before the next redraw, unless the reader scrolls."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._urgent.wait()
        self._urgent.clear()

    async def _refreshed(self) -> None:
        """Wait until what was drawn is painted, so that its cost is known."""
        painted = asyncio.Event()
        self.call_after_refresh(painted.set)
        with suppress(TimeoutError):  # under a dialog nothing is painted
            async with asyncio.timeout(MOST_REFRESH_WAIT):
                await painted.wait()

    async def _draw(self) -> None:
        conversation, transcript = self.conversation, self._transcript
        if conversation is None or transcript is None:
            return
        model = conversation.model
        if model is not self._drawn:
            self._drawn, self._offered, self._stopping = model, "", False
            self._leave_answer(None)
            await transcript.clear()
        items = [model.items[key] for key in model.keys]
        await transcript.draw(items)
        self.query_one("#welcome").display = not items
        transcript.display = bool(items)
        requests = list(model.requests.values())
        self.query_one(Head).show(model.title, model.agents.values(), len(requests))
        queued = list(model.queued.values())
        self._composer.takes_back = bool(queued)
        self.query_one(Queue).show(queued, conversation.outbox)
        if (state := (model.activity, model.title, len(requests))) != self._side_state:
            self._side_state = state
            self._refresh_side()
        self._draw_status()
        self.query_one(Status).show_usage(model.prompt_tokens, model.completion_tokens)
        await self._card.show(requests)
        self._leave_answer({request.request for request in requests})
        self._offer_focus()

    def _draw_status(self) -> None:
        model = self.conversation.model if self.conversation else None
        working = model is not None and model.activity == "working"
        if self._tick is not None:
            (self._tick.resume if working else self._tick.pause)()
        if not working:
            self._stopping = False
        self.query_one(Status).show(*self._state(model))

    def _state(self, model: ThreadModel | None) -> tuple[Content, str]:
        if self.conversation is None or model is None:
            return Content("connecting…"), ""
        if self.conversation.trouble:
            return Content.styled(self.conversation.trouble, "$error"), ""
        if model.activity == "working":
            return self._working(model)
        if model.requests:
            return Content.styled("waits for you", "$warning"), "ctrl+t answer"
        return Content("ready"), "ctrl+j new line   ctrl+s threads   F1 help"

    def _working(self, model: ThreadModel) -> tuple[Content, str]:
        if self._stopping:
            return Content("stopping…"), ""
        seconds = max(0.0, self._settings.now() - model.turn_started_at)
        speaker = model.agents.get(model.speaker)
        state = Content.assemble(
            (f"working {duration(seconds)}", "$primary"),
            (f"  {speaker.model}" if speaker else "", "$muted"),
        )
        return state, "esc again to stop" if self._armed() else "esc esc stop"

    @work(group="side", exclusive=True)
    async def _refresh_side(self) -> None:
        if self._side is not None and self._side.is_mounted and self._side.display:
            await self._side.refresh_threads()

    # writing

    @on(Composer.Typed)
    def _typed(self) -> None:
        self._guard.key()

    @on(Composer.Changed)
    def _draft_changed(self, event: Composer.Changed) -> None:
        if event.text_area is self._composer:
            if self._composer.purpose is None:
                self._palette.suggest(self._composer.text)
            if not self._composer.text:
                self._offer_focus()

    @on(Composer.Submitted)
    def _submitted(self, event: Composer.Submitted) -> None:
        self._palette.close()
        if event.purpose is not None:
            kind: AnswerKind = "deny" if event.purpose.kind == "note" else "text"
            self._answer(event.purpose.request, kind, event.text)
        elif local := self._palette.commands.local(event.text):
            self._do(*local)
        else:
            self._send(event.text)

    @work(group="send")
    async def _send(self, text: str) -> None:
        """Send a message; what could not be sent is a draft again."""
        await self._connected.wait()
        if self.conversation is None:
            return
        if self._transcript is not None:
            self._transcript.follow()
        if not await self._told(self.conversation.send(text)) and not self._composer.text:
            self._composer.set_draft(text)

    @on(Composer.UpAtTop)
    @work(group="queue", exclusive=True)
    async def _edit_queued(self) -> None:
        """Take the newest waiting message back into the draft."""
        text = await self._taken_back()
        if text and not self._composer.text:
            self._composer.set_draft(text)

    @on(Composer.BackspaceWhenEmpty)
    @work(group="queue", exclusive=True)
    async def _remove_queued(self) -> None:
        """Take the newest waiting message back for good."""
        await self._taken_back()

    async def _taken_back(self) -> str | None:
        if self.conversation is not None:
            with told(self):
                return await self.conversation.take_back()
        return None

    async def _told(self, doing: Awaitable[object]) -> bool:
        """Whether it worked; if not, the person was told."""
        with told(self):
            await doing
            return True
        return False

    # answering

    def _offer_focus(self) -> None:
        """Give the keyboard to a new request, once nobody has typed for a while."""
        item = self._card.item
        busy = self._composer.text or self._composer.purpose or self.focused is not self._composer
        if item is None or item.request == self._offered or busy or not self.is_current:
            return
        if (quiet_in := self._guard.quiet_in()) > 0:
            self._clock.call_later(quiet_in, self._when_quiet)
            return
        self._take(item, by_itself=True)

    def _when_quiet(self) -> None:
        self.call_later(self._offer_focus)

    def _take(self, item: RequestItem, *, by_itself: bool) -> None:
        self._offered = item.request
        if item.kind == "text":
            self._composer.ask(Purpose("answer", item.request), f"Answer {item.agent.name}")
            self._composer.focus()
        else:
            self._card.take_focus(by_itself=by_itself)

    @on(RequestCard.Wanted)
    def action_answer(self) -> None:
        """Answer what the team asks."""
        if self._card.item is not None and self._composer.purpose is None:
            self._take(self._card.item, by_itself=False)

    @on(RequestCard.Typing)
    def _typed_on_card(self, event: RequestCard.Typing) -> None:
        self._guard.key()
        self._composer.focus()
        self._composer.insert(event.text)

    @on(RequestCard.Decided)
    def _decided(self, event: RequestCard.Decided) -> None:
        if event.choice == "deny":
            label = f"Deny {event.item.tool}: a note, or just Enter"
            self._composer.ask(Purpose("note", event.item.request), label)
            self._composer.focus()
        else:
            self._answer(event.item.request, event.choice, event.text)

    @work(group="answer")
    async def _answer(self, request: str, kind: AnswerKind, text: str) -> None:
        """Answer a request; a text that did not arrive is written again."""
        if self.conversation is None:
            return
        self._card.sent(request)
        taken = False
        with told(self):
            refusal = await self.conversation.answer(request, kind, text)
            taken = refusal is None
            if refusal:
                self.notify(sanitize(refusal), severity="warning", markup=False)
        if taken:
            self._composer.done()
        else:
            self._card.failed()
            if self._composer.purpose is not None and not self._composer.text:
                self._composer.set_draft(text)
        self._composer.focus()

    def _leave_answer(self, open_requests: set[str] | None) -> None:
        """Back to the draft when its request is gone; what was written of the answer stays."""
        purpose = self._composer.purpose
        if purpose is not None and purpose.request not in (open_requests or ()):
            written = self._composer.text
            self._composer.done()
            if written and not self._composer.text:
                self._composer.set_draft(written)

    # keys and commands

    def action_back(self) -> None:
        """The ladder of esc: close, leave, then stop the team. It never clears a draft."""
        if self._palette.display:
            self._palette.close()
        elif self._composer.purpose is not None:
            self._composer.done()
            self._composer.focus()
        elif self.focused is not self._composer:
            self._composer.focus()
        elif self.conversation and self.conversation.model.activity != "idle":
            self._press_stop()

    def _press_stop(self) -> None:
        if self._armed():
            self._armed_at = -SECOND_PRESS
            self._stop()
        else:
            self._armed_at = self._clock.time()
            self._clock.call_later(SECOND_PRESS, self._disarmed)
        self._draw_status()

    def _armed(self) -> bool:
        return self._clock.time() - self._armed_at < SECOND_PRESS

    def _disarmed(self) -> None:
        self.call_later(self._draw_status)

    @work(group="stop")
    async def _stop(self) -> None:
        if self.conversation is not None:
            self._stopping = True
            self._draw_status()
            await self._told(self.conversation.stop())

    def _do(self, command: Command, rest: str) -> None:
        """Run a command of the terminal's own."""
        match command.name:
            case "new" if self.conversation is not None:
                self.conversation.open(None, team=rest)
            case "sessions":
                self.action_sessions()
            case "rename":
                self._rename(rest)
            case "delete":
                self._delete()
            case "stop":
                self._stop()
            case "copy":
                self.action_copy_reply()
            case "mouse":
                self.action_mouse()
            case "help":
                self.action_help()
            case "quit":
                self.app.exit(0)
            case _:
                pass  # /new while connecting: there is nothing to leave yet

    def run_command(self, name: str) -> None:
        """Run one of the terminal's own commands by its name."""
        if local := self._palette.commands.local(f"/{name}"):
            self._do(*local)

    @work(group="dialog", exclusive=True)
    async def _rename(self, title: str) -> None:
        if self.conversation is None or self.conversation.thread is None:
            self.notify("This thread is empty yet.", markup=False)
            return
        from adapters.terminal.screens.dialogs import Ask

        thread = self.conversation.thread
        title = title or await self.app.push_screen_wait(Ask("Title", self._model_title())) or ""
        if title and await self._told(self.conversation.rename(thread.id, title)):
            self._refresh_side()

    def _model_title(self) -> str:
        return self.conversation.model.title if self.conversation else ""

    @work(group="dialog", exclusive=True)
    async def _delete(self) -> None:
        if self.conversation is None or self.conversation.thread is None:
            self.notify("This thread is empty yet.", markup=False)
            return
        from adapters.terminal.screens.dialogs import Confirm

        thread = self.conversation.thread
        if await self.app.push_screen_wait(Confirm(delete_question(thread))):
            await self._told(self.conversation.delete(thread.id))

    def action_sessions(self) -> None:
        """Walk the threads: beside the chat, or over it where it is narrow."""
        if self.conversation is None or self._side is None:
            return
        if self.has_class("-wide"):
            self._side.focus_list()
            self._refresh_side()
            return
        from adapters.terminal.screens.sessions import Sessions

        self.app.push_screen(Sessions(self.conversation, self._settings.now))

    def on_session_list_chosen(self) -> None:
        """A thread was opened beside the chat: back to writing."""
        self._composer.focus()

    def action_help(self) -> None:
        """Show keys and commands."""
        from adapters.terminal.screens.dialogs import Help

        self.app.push_screen(Help(self._palette.commands))

    def action_mouse(self) -> None:
        """Hand the mouse to the terminal, or take it back."""
        self._settings.toggle_mouse()

    @work(group="copy", exclusive=True)
    async def action_copy_reply(self) -> None:
        """Copy the newest reply of an agent."""
        from adapters.terminal import clipboard

        reply = self.conversation.model.last_reply() if self.conversation else ""
        if not reply:
            self.notify("There is no reply to copy yet.", markup=False)
            return
        self.app.copy_to_clipboard(reply)
        await asyncio.to_thread(clipboard.copy, reply)
        self.notify("Copied the last reply.", markup=False)

    def on_card_details(self, event: Card.Details) -> None:
        """Show the whole of what a card holds."""
        from adapters.terminal.screens.dialogs import Details

        self.app.push_screen(Details(event.title, event.text))

    # scrolling

    @on(Composer.Scroll)
    def _scroll(self, event: Composer.Scroll) -> None:
        if self._transcript is None:
            return
        rows = event.lines + event.pages * max(1, self._transcript.size.height - 2)
        if not self._transcript.max_scroll_y:
            return  # all of it is in view, at the bottom
        if rows:
            self._transcript.scroll_relative(y=rows, animate=False)
        else:
            self._transcript.follow()

    def action_follow(self) -> None:
        """Go to the end of the transcript and stay there."""
        if self._transcript is not None:
            self._transcript.follow()

    def on_transcript_wanting(self) -> None:
        """The transcript wants to be drawn."""
        self._urgent.set()
        self._dirty.set()

    def on_transcript_moved(self) -> None:
        """The reader has left the end, or is back."""
        if self._transcript is not None:
            following = self._transcript.following
            self.query_one(NewBelow).show(self._transcript.unseen, following=following)
