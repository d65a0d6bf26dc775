"""View of a thread's picture as messages on a platform. Pure.

Each agent that says something has one message, sealed when it is finished. A tool call is told in
the message that its agent is about to write, a hand-off in that of the agent who hands over, or
else in the last one, or where there is none, in the next one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from gateway.conversation import ConversationKey
from gateway.delivery.items import CardItem, FileItem, Item, LineItem, SpeechItem
from gateway.events import ASIDE_OVER, CONTINUE, Notice, SessionEvent
from gateway.items import (
    AgentItem,
    HandoffItem,
    HumanItem,
    News,
    NoticeItem,
    RequestItem,
    SpeakerItem,
    ToolItem,
    TurnItem,
    WaitItem,
)
from gateway.picture import HOLD, Picture
from gateway.render.sanitize import label
from gateway.surface import Activity, ActivityStatus, BusyState, Line

MOST_FILES = 10
"""Files of one message: Discord takes no more."""
SILENCE_TOLD = 120.0
"""Seconds after which a model's silence is a line, and not only the status."""
LONG = 120.0
"""Seconds after which somebody who asked is told that there is an answer."""
ELSEWHERE = 600
"""Characters of a message that is shown where it was not written."""
_STATUS: Mapping[str, ActivityStatus] = {
    "stopped": "stopped",
    "unknown": "unknown",
    "failed": "failed",
    "denied": "failed",
}


class ThreadView:
    """Items of the events since `told`, a point between two turns.

    `muted`: nothing can be written there until a person writes there again. `away` are further
    places for approvals. People whose id does not begin with `people` are elsewhere. The files of
    one message have at most `file_bytes`. What is said after the event `doubtful` stands below all
    before it: a turn that goes on has a message of its own there.
    """

    def __init__(
        self,
        *,
        people: str = "",
        muted: bool = False,
        away: Collection[ConversationKey] = (),
        file_bytes: int = 10_000_000,
        doubtful: int = 0,
        told: int = 0,
    ) -> None:
        self.picture = Picture(told)
        self.items: list[Item] = []
        self.busy: BusyState | None = None
        """The team's activity; None while nothing says so."""
        self.muted = muted
        self.only_grew = True
        """The newest event brought no more than text that grows."""
        self.unseen = ""
        """A new request that a call waits for and nobody sees."""
        self._people = people
        self._away = tuple(away)
        self.unseen_since = 0.0
        """When a message was accepted that no text has answered so far; 0 without one."""
        self._waits: dict[str, LineItem] = {}
        """Lines about a model that says nothing, and a limit that holds the next turn."""
        self._rests: list[int] = []
        self._current: dict[str, SpeechItem] = {}
        self._of_message: dict[str, SpeechItem] = {}
        self._of_call: dict[str, SpeechItem] = {}
        self._cards: dict[str, list[CardItem]] = {}
        self._offers: list[LineItem] = []
        """Lines with a command that may still be used."""
        self._last: SpeechItem | None = None
        self._maker = ""
        """Which agent has used a tool last: files are taken to be its."""
        self._made: FileItem | None = None
        """Files to which the next one may come."""
        self._file_bytes = file_bytes
        self._doubtful = doubtful
        self._leading: list[tuple[str, Activity]] = []
        """Hand-offs before anybody has said anything, with who handed over."""

    @property
    def seq(self) -> int:
        """The newest event."""
        return self.picture.last_seq

    @property
    def resting(self) -> bool:
        """The team does nothing."""
        return self.picture.turn.outcome != ""

    @property
    def asker(self) -> str:
        """Whose message the team works on (Author.id)."""
        return self.picture.turn.asker

    def apply(self, event: SessionEvent) -> None:
        """Let an event change what is to stand there."""
        self.picture.apply(event)
        news = self.picture.news
        if self._made and not any(isinstance(item, NoticeItem) and item.path for item in news):
            self._close_files()
        self.only_grew, self.unseen = True, ""
        for item in news:
            if isinstance(item, AgentItem) and item.open:  # most events: nothing else is asked
                if not self.muted:
                    self._grow(item)
                continue
            self.only_grew = False
            if self._offers:
                self._withdraw_offers(item)
            if isinstance(item, TurnItem):
                self._begin(item) if item.outcome == "" else self._end(item)
            elif not self.muted:
                self._show(item)
            elif isinstance(item, RequestItem) and item.awaited and not item.outcome:
                self.unseen = item.request
        if event.seq and self.resting:
            self._rests.append(event.seq)

    def forget_before(self, seq: int | None) -> int:
        """Forget all before the item at `seq`, or everything.

        It forgets up to a point between two turns: the seq of that point, 0 if there is none.
        """
        rests = [rest for rest in self._rests if seq is None or rest < seq]
        if not rests:
            return 0
        told = rests[-1]
        self._rests = self._rests[len(rests) :]
        self.items = [item for item in self.items if item.seq > told]
        self._cards = {
            request: kept
            for request, cards in self._cards.items()
            if (kept := [card for card in cards if card.seq > told])
        }
        return told

    def recall(self, event: SessionEvent) -> None:
        """Know an offer again that stands there from before."""
        then = Picture()
        then.apply(event)
        for item in then.news:
            if isinstance(item, NoticeItem) and item.notice:
                if (line := _notice_line(item.notice)).command:
                    self._offers.append(_own_line(event.seq, line))
            elif isinstance(item, WaitItem) and item.key == HOLD:
                self._waits[HOLD] = _own_line(event.seq, Line(text=item.text), passing=True)

    def mute(self) -> None:
        """Tell nothing more until a person writes there again."""
        self.muted = True
        self.items.clear()
        self._forget_turn()
        self._waits.clear()
        self._cards.clear()
        self._offers.clear()

    def add_line_after(self, item: Item, id: str, line: Line) -> None:
        """Add a line of the gateway's own after an item."""
        added = LineItem(id=id, seq=item.seq, asker=item.asker, line=line)
        self.items.insert(self.items.index(item) + 1, added)

    def _withdraw_offers(self, news: News) -> None:
        """Withdraw buttons for what was done or can no longer be."""
        over = _commands_over(news)
        for item in [each for each in self._offers if each.line.command in over]:
            item.outdated = True
            self._offers.remove(item)
            self._add_again(item)

    def _begin(self, turn: TurnItem) -> None:
        if turn.messages and not turn.resumed:
            self.muted = False
        self._end_hold()
        self.unseen_since = 0.0 if turn.resumed else turn.asked_at
        self.busy = None if self.muted else "working"
        seen_here = self.muted or self._here((turn.asker,))
        for message in () if seen_here else turn.messages:
            said = label(f"{message.author} wrote elsewhere: {message.text}", ELSEWHERE)
            self._add_line(f"q:{self.seq}:{message.inbox}", Line(text=said))
        for item in self.items:
            if isinstance(item, SpeechItem) and item.growing and item.text:
                item.resuming = item.interrupted = True

    def _end(self, turn: TurnItem) -> None:
        self._end_hold()  # one that was stopped before it began
        if self._leading:  # to the user, with nothing said
            self._add_speech(self._leading[-1][0], f"h:{self.seq}")
        for item in self.items:
            if isinstance(item, SpeechItem):
                item.growing = False
                item.whole &= turn.outcome != "stopped"  # maybe in the midst of it
                if turn.outcome == "waiting":
                    item.forget_running()  # who is asked sees a card, and what came of it later
        self._forget_turn()
        if self.muted:
            return
        self.busy = "waiting" if turn.outcome == "waiting" else "idle"
        late = turn.ended_at - turn.asked_at > LONG
        line = _end_line(turn, self._here((turn.asker,)) if late and turn.asker else ())
        if line is not None:
            self._add_line(f"n:{self.seq}", line)

    def _here(self, people: Collection[str]) -> tuple[str, ...]:
        return tuple(person for person in people if person.startswith(self._people))

    def _forget_turn(self) -> None:
        self.picture.forget_items()
        self._current.clear()
        self._of_message.clear()
        self._of_call.clear()
        self._leading.clear()
        self._last = None
        self._maker = ""

    def _show(self, item: News) -> None:
        match item:
            case AgentItem():
                speech = self._speech(item)
                speech.text, speech.growing, speech.resuming = item.text, False, False
                speech.mark, speech.whole = item.mark, not item.broken
                self._current.pop(item.agent.name, None)
            case SpeakerItem():
                self._start(item.agent.name)
            case ToolItem(asks=True):
                self._maker = item.agent.name  # its card tells of it
            case ToolItem(state="running"):
                self._maker = item.agent.name
                self._of_call[item.key] = speech = self._acting(item, "a")
                speech.act(item.key, item.tool, "running")
            case ToolItem():
                self._finish_call(item)
            case HandoffItem():
                self._hand_off(item)
            case _:
                self._show_apart(item)

    def _show_apart(self, item: News) -> None:
        """Add what gets a message of its own."""
        match item:
            case RequestItem(outcome=""):
                self._ask(item)
            case RequestItem():
                self._settle(item)
            case NoticeItem(request=request) if request:
                self._add_news(item)
            case NoticeItem(path=path) if path:
                self._add_file(item)
            case NoticeItem(notice=notice) if notice:
                line = self._add_line(f"n:{self.seq}", _notice_line(notice))
                line.line = replace(line.line, mentions=self._here((notice.person,)))
                line.asker = notice.person or line.asker
                self._offers += [line] if line.line.command else []
            case WaitItem(key=key) if key == HOLD:
                self._note_hold(item)
            case WaitItem():
                self._note_silence(item)
            case _:
                pass

    def _note_hold(self, wait: WaitItem) -> None:
        """Say what holds the next turn, in one line."""
        if wait.over:
            self._end_hold()
        elif HOLD in self._waits:
            self._change(self._waits[HOLD], Line(text=wait.text))
        else:
            held = self._waits[HOLD] = _own_line(self.seq, Line(text=wait.text), passing=True)
            self.items.append(held)

    def _end_hold(self) -> None:
        """Take the line about a limit away."""
        if (line := self._waits.pop(HOLD, None)) is not None:
            line.over = True
            self._add_again(line)

    def _note_silence(self, wait: WaitItem) -> None:
        """Change the status, and later a line with a way out."""
        self.busy = "working" if wait.over else "silent"
        if wait.seconds < SILENCE_TOLD:
            return
        way_out = Line(text=wait.text, command="/stop", label="Stop")
        line = Line(text=wait.text) if wait.over else way_out
        if (known := self._waits.get(wait.key)) is None:
            known = self._waits[wait.key] = self._add_line(f"n:{self.seq}", line)
            self._offers.append(known)
        self._change(known, line)
        if wait.over:
            del self._waits[wait.key]
            self._offers = [each for each in self._offers if each is not known]

    def _change(self, known: LineItem, line: Line) -> None:
        """Let a line say something else, if it does."""
        if known.line != line:
            known.line, known.changed = line, True
            self._add_again(known)

    def _add_again(self, line: LineItem) -> None:
        """Add a line, unless it is there."""
        if line not in self.items:
            self.items.append(line)

    def _add_file(self, file: NoticeItem) -> None:
        """Add a file to those before it, if they fit together."""
        made = self._made
        if made and len(made.paths) < MOST_FILES and made.size + file.size <= self._file_bytes:
            made.paths.append(file.path)
            made.size += file.size
            return
        self._close_files()
        self._made = FileItem(
            id=f"f:{self.seq}",
            seq=self.seq,
            asker=self.asker,
            agent=self._maker or (self._last.agent if self._last else ""),
            paths=[file.path],
            size=file.size,
        )
        self.items.append(self._made)

    def _close_files(self) -> None:
        if self._made is not None:
            self._made.growing = False
            self._made = None

    def _add_line(
        self, id: str, line: Line, *, place: ConversationKey | None = None, below: str = ""
    ) -> LineItem:
        asker = self.asker
        item = LineItem(id=id, seq=self.seq, asker=asker, line=line, place=place, below=below)
        self.items.append(item)
        return item

    def _add_news(self, news: NoticeItem) -> None:
        """Add news about a request, wherever it is shown."""
        line, id = Line(text=news.text, mentions=self._here(news.mentions)), f"n:{self.seq}"
        self._add_line(id, line)
        for place in self._away:
            self._add_line(f"{id}:{place}", line, place=place, below=card_id(news.request, place))

    def _add_speech(self, agent: str, id: str) -> SpeechItem:
        if 0 < self._doubtful < self.seq:
            id = f"{id}:{self._doubtful}"
        item = SpeechItem(id=id, seq=self.seq, asker=self.asker, agent=agent)
        item.acts.update((act.id, act) for _, act in self._leading)
        self._leading.clear()
        self.items.append(item)
        self._last = item
        return item

    def _start(self, agent: str) -> None:
        """Begin an agent's turn: its text goes below what came since."""
        item = self._current.get(agent)
        if item is not None and item is not self._last and not item.spoken:
            item.growing = False
            del self._current[agent]

    def _grow(self, message: AgentItem) -> None:
        known, turn = message.key in self._of_message, self.picture.turn
        item = self._speech(message)
        item.text = message.text
        item.mark, item.whole = "", False
        # What a resumed turn is known to have shown before stands until it is said anew.
        item.resuming = not known and message.anew and turn.resumed
        item.interrupted = item.interrupted or item.resuming
        item.growing = not self.resting  # a turn that waits grows nothing

    def _speech(self, message: AgentItem) -> SpeechItem:
        """The item of this message: its own, or its calls' item."""
        if (item := self._of_message.get(message.key)) is not None:
            return item
        agent = message.agent.name
        item = self._current.get(agent)
        if item is None or item.spoken:
            item = self._current[agent] = self._add_speech(agent, f"m:{message.key}")
        self._of_message[message.key], item.spoken = item, True
        return item

    def _acting(self, call: ToolItem, prefix: str) -> SpeechItem:
        """The item of an agent's tool call."""
        agent = call.agent.name
        if agent not in self._current:
            self._current[agent] = self._add_speech(agent, f"{prefix}:{call.key}")
        return self._current[agent]

    def _finish_call(self, call: ToolItem) -> None:
        # A call that was asked about is told anew: its card stands between.
        item = self._of_call.get(call.key) or self._acting(call, "r")
        detail = call.ending if call.state == "stopped" else ""
        item.act(call.key, call.tool, _STATUS.get(call.state, "done"), detail)

    def _hand_off(self, work: HandoffItem) -> None:
        agent, target = work.agent.name, work.target.name
        item = self._current.pop(agent, None) or self._last
        own = item is not None and item.agent == agent
        title = target if own else f"{agent} \u2192 {target}"
        behind = item is not None
        told = Activity(id=f"h:{self.seq}", kind="handoff", title=title, after=behind)
        if item is None:
            self._leading.append((agent, told))
            return
        item.leaves.append(told)
        if own:
            item.growing = False

    def _ask(self, item: RequestItem) -> None:
        if item.asked is None:
            return
        if (asking := self._of_call.pop(item.asked.call, None)) is not None:
            asking.acts.pop(item.asked.call, None)  # the card tells of it
        if (current := self._current.pop(item.agent.name, None)) is not None:
            current.growing = False
        for place in (None, *(self._away if item.kind == "approval" else ())):
            self._add_card(item.request, place).request = item.asked

    def _settle(self, item: RequestItem) -> None:
        cards = self._cards.pop(item.request, None)
        if cards is None:  # it was asked before the events that this view has seen
            cards = [self._add_card(item.request, place) for place in (None, *self._away)]
            self._cards.pop(item.request)
        for card in cards:
            card.outcome, card.by = item.outcome, item.by

    def _add_card(self, request: str, place: ConversationKey | None) -> CardItem:
        card = CardItem(
            id=card_id(request, place),
            seq=self.seq,
            asker=self.asker,
            request_id=request,
            place=place,
        )
        self.items.append(card)
        self._cards.setdefault(request, []).append(card)
        return card


def _own_line(seq: int, line: Line, *, passing: bool = False) -> LineItem:
    """A line that tells of this event alone."""
    return LineItem(id=f"n:{seq}", seq=seq, asker="", line=line, passing=passing)


def card_id(request: str, place: ConversationKey | None) -> str:
    """The id of a request's card."""
    return f"c:{request}" if place is None else f"c:{request}:{place}"


def _commands_over(item: News) -> tuple[str, ...]:
    """The commands that the news outdates."""
    match item:
        case TurnItem(outcome=""):
            return "/retry", CONTINUE, ASIDE_OVER
        case TurnItem():
            return ("/stop",)
        case HumanItem(again=again):
            return (f"/again {again}",)
        case NoticeItem(notice=notice) if notice and notice.over:
            return (notice.over,)
        case _:
            return ()


def _notice_line(event: Notice) -> Line:
    text = f"{event.text} (id {event.incident})" if event.incident else event.text
    retry = (("/retry", "Try again"),) if event.retry else ()
    (command, label), *others = event.offers or retry or (("", ""),)
    return Line(text=text, level=event.level, command=command, label=label, others=tuple(others))


def _end_line(turn: TurnItem, mentions: tuple[str, ...]) -> Line | None:
    """The line that ends a turn; None for nothing."""
    match turn.outcome:
        case "stopped":
            why = f": {turn.reason}" if turn.reason not in ("", "stopped") and not turn.told else ""
            return Line(text=f"Stopped{why}".rstrip(".") + ".", mentions=mentions)
        case "failed" | "interrupted" if not turn.told:
            return Line(text=turn.reason or "The turn failed.", level="error", mentions=mentions)
        case "failed" | "interrupted" if mentions:
            return Line(text="The answer ends here.", level="error", mentions=mentions)
        case "done" if mentions:
            return Line(text="Done.", mentions=mentions)
        case _:
            return None
