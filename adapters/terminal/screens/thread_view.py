"""The view of a thread: its agents, transcript, queue and status."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from adapters.terminal.key_guard import SecondPress
from adapters.terminal.place import head_label
from adapters.terminal.widgets.bars import (
    HeadBar,
    NewItemsBar,
    QueueBar,
    StatusBar,
    UnsentMessages,
    Welcome,
)
from adapters.terminal.widgets.notice_place import NoticePlace
from adapters.terminal.widgets.team_panel import TeamPanel

if TYPE_CHECKING:
    from adapters.terminal.conversation import Conversation
    from adapters.terminal.widgets.transcript import Transcript
    from gateway.base.terminal_keys import Keys
    from gateway.items import Item
    from gateway.picture import Picture

SECOND_PRESS = 1.0
"""Seconds in which a second esc stops the team."""


class ThreadView:
    """Widgets around the composer, drawn together from a conversation.

    They are held, and not looked up: what is drawn last may be drawn while the screen is taken
    down, when nothing is found any more. `time` is the clock's, `now` in seconds since the epoch,
    `operator` the name under which unsent messages stand.
    """

    def __init__(
        self, *, time: Callable[[], float], now: Callable[[], float], operator: str, keys: Keys
    ) -> None:
        self.head, self.queue, self.status = HeadBar(), QueueBar(), StatusBar(keys)
        self.place, self.welcome, self.new_below = NoticePlace(), Welcome(keys), NewItemsBar()
        self.unsent, self.team = UnsentMessages(operator), TeamPanel()
        self.transcript: Transcript | None = None
        self.only = ""
        """The agent that alone is shown; all, where it is empty."""
        self.stop_key = SecondPress(time, SECOND_PRESS)
        self.rewind_key = SecondPress(time, SECOND_PRESS)
        self._time = time
        self._busy = False
        self._busy_at = time() - SECOND_PRESS
        """When the team was last seen at work, or waiting."""
        self.stopping = False
        """True until a team that was told to stop has stopped."""
        self.items: list[Item] = []
        """Everything that the transcript shows, mounted or not."""
        self._now = now
        self._drawn: tuple[Picture, str] | None = None

    @property
    def rests(self) -> bool:
        """True once nothing has run for a second."""
        return not self._busy and self._time() - self._busy_at >= SECOND_PRESS

    def hold(self, text: str) -> None:
        """Show a message that the gateway is not there for yet."""
        self.unsent.add(text)
        self.welcome.display = False

    def take_back(self) -> str:
        """Take back the newest message that was held; empty without one."""
        text = self.unsent.take_back()
        if text and not self.unsent.display:
            self.welcome.display = True
        return text

    async def begin(self) -> None:
        """Make room for what is said."""
        from adapters.terminal.widgets.transcript import Transcript  # not at the start

        self.transcript = Transcript()
        await self.place.mount(self.transcript)

    def reset_for(self, model: Picture) -> bool:
        """Forget what belongs to the thread drawn last; True for another one."""
        another = self._drawn is None or self._drawn[0] is not model
        if another:
            self.only, self.stopping = "", False
        return another

    async def draw(self, conversation: Conversation) -> None:
        """Draw everything but the status line."""
        model, transcript = conversation.model, self.transcript
        if transcript is None:
            return
        if self._drawn != (model, self.only):
            self._drawn = model, self.only
            await transcript.clear()
        items = [model.items[key] for key in model.keys]
        idle, outbox = model.activity == "idle", conversation.outbox
        if not idle or self._busy:
            self._busy, self._busy_at = not idle, self._time()
        if idle:  # else it waits, which is shown above the composer
            items += [each.item for each in outbox]
        if self.only:
            from adapters.terminal.window import is_shown_for  # not at the start

            items = [item for item in items if is_shown_for(item, self.only)]
        self.items = items
        await transcript.draw(items)
        self.unsent.display = False
        transcript.display, self.welcome.display = bool(items), not items
        if not items:
            self.welcome.show(conversation.models, loading=conversation.loading)
        place = head_label(conversation.thread)
        self.team.show(conversation.team, conversation.agents, model.agents)
        self.head.team_name = conversation.team
        self.head.show(model, conversation.agents, only=self.only, place=place)
        on_the_way = [each.item.text for each in outbox if each.item.sending and not idle]
        self.queue.show(list(model.queued.values()), on_the_way, held=model.held)
        mode = model.approval
        self.status.show_usage(conversation.models, model.used, fill=model.fill, mode=mode)

    def draw_status(self, conversation: Conversation | None) -> bool:
        """Draw the status line; True while the team works."""
        if conversation is None:
            self.status.show_connecting()
            return False
        model = conversation.model
        working = model.activity == "working"
        self.stopping = self.stopping and working
        if conversation.trouble:
            self.status.show_trouble(conversation.trouble)
        elif working:
            armed = self.stop_key.armed
            self.status.show_working(model, self._now(), stopping=self.stopping, armed=armed)
        elif conversation.loading:
            self.status.show_loading()
        elif model.can_retry:
            self.status.show_failed()
        else:
            self.status.show_ready(waits=bool(model.requests), cut=model.can_continue)
        return working

    @property
    def in_view(self) -> list[str]:
        """Keys of the items in view."""
        return self.transcript.in_view if self.transcript is not None else []

    def scroll(self, *, pages: int, lines: int) -> None:
        """Scroll the transcript by pages or lines, or to its end."""
        transcript = self.transcript
        if transcript is None or not transcript.max_scroll_y:
            return  # all of it is in view, at the bottom
        if rows := lines + pages * max(1, transcript.size.height - 2):
            transcript.scroll_relative(y=rows, animate=False)
        else:
            transcript.follow()

    def follow(self) -> None:
        """Go to the end of what was said, and stay there."""
        if self.transcript is not None:
            self.transcript.follow()

    def show_new_items(self) -> None:
        """Count what has come below the reader's place."""
        if self.transcript is not None:
            following = self.transcript.following
            self.new_below.show(self.transcript.unseen, following=following)
