"""View of a thread's events as items, in order. Pure.

Each agent that says something has one message, sealed when it is finished. A tool call is told in
the message that its agent is about to write, a hand-off in that of the agent who hands over, or
else in the last one, or where there is none, in the next one.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from gateway.conversation import ConversationKey
from gateway.delivery.items import CardItem, FileItem, Item, LineItem, SpeechItem
from gateway.events import (
    FileMade,
    HumanText,
    InputReminded,
    InputRequested,
    InputResolved,
    InputSupported,
    MessageFinished,
    MessageJoined,
    ModelSilent,
    Notice,
    SessionEvent,
    SpeakerStarted,
    TextDelta,
    ThreadRenamed,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnHeld,
    TurnStarted,
    WorkHandedOff,
)
from gateway.render.sanitize import label
from gateway.surface import Activity, BusyState, Line

MOST_FILES = 10
"""Files of one message: Discord takes no more."""
SILENCE_TOLD = 120.0
"""Seconds after which a model's silence is a line, and not only the status."""
LONG = 120.0
"""Seconds after which somebody who asked is told that there is an answer."""


ELSEWHERE = 600
"""Characters of a message that is shown where it was not written."""


class ThreadView:
    """The items made of the events since a point between two turns.

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
    ) -> None:
        self.items: list[Item] = []
        self.seq = 0
        self.renamed: ThreadRenamed | None = None
        """The newest title, None if it is not new."""
        self.busy: BusyState | None = None
        """The team's activity; None while nothing says so."""
        self.muted = muted
        self._people = people
        self._away = tuple(away)
        self._asker = ""
        self._asked_at = 0.0
        self.unseen_since = 0.0
        """When a message was accepted that no text has answered so far; 0 without one."""
        self._turning = False
        self._resumed = False
        self._failure_told = False
        self._told = ""
        """The newest notice of the turn."""
        self._silent: ModelSilent | None = None
        """A silence that is not known to be over."""
        self._silence: LineItem | None = None
        """The line about a model that says nothing."""
        self._hold: LineItem | None = None
        """The line about a limit that holds the next turn."""
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
    def resting(self) -> bool:
        """The team does nothing."""
        return not self._turning

    @property
    def asker(self) -> str:
        """Whose message the team works on (Author.id)."""
        return self._asker

    def apply(self, event: SessionEvent) -> None:
        """Let an event change what is to stand there."""
        if event.seq:
            self.seq = event.seq
        if not isinstance(event, FileMade):
            self._close_files()
        self._unmute(event)
        self._withdraw_offers(event)
        match event:
            case TurnStarted():
                self._begin(event)
            case TurnFinished():
                self._end(event)
            case ThreadRenamed():
                self.renamed = event
            case _ if not self.muted:
                self._show(event)
            case _:
                pass
        if event.seq and not self._turning:
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
        if isinstance(event, Notice) and (line := _notice_line(event)).command:
            self._offers.append(_own_line(event, line))
        if isinstance(event, TurnHeld):
            self._hold = _own_line(event, Line(text=event.text), passing=True)

    def mute(self) -> None:
        """Tell nothing more until a person writes there again."""
        self.muted = True
        self.items.clear()
        self._forget_turn()
        self._silent = self._silence = self._hold = None
        self._cards.clear()
        self._offers.clear()

    def add_line_after(self, item: Item, id: str, line: Line) -> None:
        """Add a line of the gateway's own after an item."""
        added = LineItem(id=id, seq=item.seq, asker=item.asker, line=line)
        self.items.insert(self.items.index(item) + 1, added)

    def _unmute(self, event: SessionEvent) -> None:
        if isinstance(event, TurnStarted) and event.messages and not event.resumed:
            self.muted = False

    def _withdraw_offers(self, event: SessionEvent) -> None:
        """Withdraw buttons for what was done or can no longer be."""
        over = _commands_over(event)
        for item in [each for each in self._offers if each.line.command in over]:
            item.outdated = True
            self._offers.remove(item)
            self._add_again(item)

    def _begin(self, event: TurnStarted) -> None:
        self._end_hold()
        self._turning, self._resumed, self._failure_told = True, event.resumed, False
        self._told = ""
        self._asker, self._asked_at = event.asker, event.asked_at or event.at
        self.unseen_since = 0.0 if event.resumed else self._asked_at
        self.busy = None if self.muted else "working"
        if not self.muted and not self._here((event.asker,)):
            self._repeat(event)  # people here have not seen it
        for item in self.items:
            if isinstance(item, SpeechItem) and item.growing and item.text:
                item.resuming = item.interrupted = True

    def _repeat(self, event: TurnStarted) -> None:
        for message in event.messages:
            said = label(f"{message.author} wrote elsewhere: {message.text}", ELSEWHERE)
            self._add_line(f"q:{event.seq}:{message.inbox}", Line(text=said))

    def _end(self, event: TurnFinished) -> None:
        self._end_hold()  # one that was stopped before it began
        self._turning = False
        if self._leading:  # to the user, with nothing said
            self._add_speech(self._leading[-1][0], f"h:{event.seq}")
        for item in self.items:
            if isinstance(item, SpeechItem):
                item.growing = False
                item.whole &= event.outcome != "stopped"  # maybe in the midst of it
                if event.outcome == "waiting":
                    item.forget_running()  # who is asked sees a card, and what came of it later
        self._forget_turn()
        if self._silent is not None:  # it said something, or was stopped, just before
            self._note_silence(replace(self._silent, over=True))
        if self.muted:
            return
        self.busy = "waiting" if event.outcome == "waiting" else "idle"
        late = event.at - self._asked_at > LONG
        mentions = self._here((self._asker,)) if late and self._asker else ()
        told = self._failure_told or (event.outcome == "stopped" and event.reason == self._told)
        line = _end_line(event, told=told, mentions=mentions)
        if line is not None:
            self._add_line(f"n:{event.seq}", line)

    def _here(self, people: Collection[str]) -> tuple[str, ...]:
        return tuple(person for person in people if person.startswith(self._people))

    def _forget_turn(self) -> None:
        self._current.clear()
        self._of_message.clear()
        self._of_call.clear()
        self._leading.clear()
        self._last = None
        self._maker = ""

    def _show(self, event: SessionEvent) -> None:
        match event:
            case TextDelta():
                self._grow(event)
            case MessageFinished():
                item = self._speech(event.agent, event.message)
                item.say(event.text, replace=True)
                item.growing = item.resuming = False
                item.broken, item.whole = event.broken, not event.broken
                self._current.pop(event.agent, None)
            case SpeakerStarted():
                self._start(event.agent)
            case ToolStarted(asks=True) | ToolFinished(asks=True):
                self._maker = event.agent  # its card tells of it
            case ToolStarted():
                self._maker = event.agent
                self._of_call[event.call] = item = self._acting(event.agent, f"a:{event.call}")
                item.act(event.call, event.tool, "running")
            case ToolFinished():
                self._finish_call(event)
            case WorkHandedOff():
                self._hand_off(event)
            case _:
                self._show_apart(event)

    def _show_apart(self, event: SessionEvent) -> None:
        """Add an event that gets a message of its own."""
        match event:
            case InputRequested():
                self._ask(event)
            case InputResolved():
                self._settle(event)
            case InputSupported():
                count = f"{event.approved} of {event.quorum} approvals"
                self._add_news(event, Line(text=f"{event.by or 'Somebody'} approved: {count}."))
            case InputReminded():
                self._add_news(event, Line(text=event.text, mentions=self._here(event.mentions)))
            case Notice():
                self._failure_told = self._failure_told or event.level == "error"
                self._told = event.text
                item = self._add_line(f"n:{event.seq}", _notice_line(event))
                if item.line.command:
                    self._offers.append(item)
            case FileMade():
                self._add_file(event)
            case ModelSilent():
                self._note_silence(event)
            case TurnHeld(limit=""):
                self._end_hold()
            case TurnHeld():
                self._note_hold(event)
            case _:
                pass

    def _note_hold(self, event: TurnHeld) -> None:
        """Say what holds the next turn, in one line."""
        line = Line(text=event.text)
        if self._hold is None:
            self._hold = _own_line(event, line, passing=True)
        elif self._hold.line != line:
            self._hold.line, self._hold.changed = line, True
        self._add_again(self._hold)

    def _end_hold(self) -> None:
        """Take the line about a limit away."""
        if (line := self._hold) is not None:
            self._hold, line.over = None, True
            self._add_again(line)

    def _add_again(self, line: LineItem) -> None:
        """Add a line, unless it is there."""
        if line not in self.items:
            self._add(line)

    def _note_silence(self, event: ModelSilent) -> None:
        """Change the status, and later a line with a way out."""
        self.busy = "working" if event.over else "silent"
        self._silent = None if event.over else event
        if event.seconds < SILENCE_TOLD:
            return
        way_out = Line(text=event.text, command="/stop", label="Stop")
        line = Line(text=event.text) if event.over else way_out
        if self._silence is None:
            self._silence = self._add_line(f"n:{event.seq}", line)
            self._offers.append(self._silence)
        if self._silence.line != line:
            self._silence.line, self._silence.changed = line, True
        if event.over:
            if self._silence in self._offers:
                self._offers.remove(self._silence)
            self._silence = None

    def _add_file(self, event: FileMade) -> None:
        """Add a file to those before it, if they fit together."""
        made = self._made
        if made and len(made.paths) < MOST_FILES and made.size + event.size <= self._file_bytes:
            made.paths.append(event.path)
            made.size += event.size
            return
        self._close_files()
        self._made = FileItem(
            id=f"f:{event.seq}",
            seq=event.seq,
            asker=self._asker,
            agent=self._maker or (self._last.agent if self._last else ""),
            paths=[event.path],
            size=event.size,
        )
        self._add(self._made)

    def _close_files(self) -> None:
        if self._made is not None:
            self._made.growing = False
            self._made = None

    def _add(self, item: Item) -> None:
        self.items.append(item)

    def _add_line(
        self, id: str, line: Line, *, place: ConversationKey | None = None, below: str = ""
    ) -> LineItem:
        asker = self._asker
        item = LineItem(id=id, seq=self.seq, asker=asker, line=line, place=place, below=below)
        self._add(item)
        return item

    def _add_news(self, event: InputSupported | InputReminded, line: Line) -> None:
        """Add news about a request, wherever it is shown."""
        self._add_line(f"n:{event.seq}", line)
        for place in self._away:
            below = card_id(event.request, place)
            self._add_line(f"n:{event.seq}:{place}", line, place=place, below=below)

    def _add_speech(self, agent: str, id: str) -> SpeechItem:
        if 0 < self._doubtful < self.seq:
            id = f"{id}:{self._doubtful}"
        item = SpeechItem(id=id, seq=self.seq, asker=self._asker, agent=agent)
        item.acts.update((act.id, act) for _, act in self._leading)
        self._leading.clear()
        self._add(item)
        self._last = item
        return item

    def _start(self, agent: str) -> None:
        """Begin an agent's turn: its text goes below what came since."""
        item = self._current.get(agent)
        if item is not None and item is not self._last and not self._speaks(item):
            item.growing = False
            del self._current[agent]

    def _speaks(self, item: SpeechItem) -> bool:
        return any(item is begun for begun in self._of_message.values())

    def _grow(self, delta: TextDelta) -> None:
        known = delta.message in self._of_message
        item = self._speech(delta.agent, delta.message)
        item.say(delta.text, replace=delta.replace)
        item.broken = item.whole = False
        # What a resumed turn is known to have shown before stands until it is said anew.
        item.resuming = not known and delta.replace and self._resumed
        item.interrupted = item.interrupted or item.resuming
        item.growing = self._turning  # a turn that waits grows nothing

    def _speech(self, agent: str, message: str) -> SpeechItem:
        """The item of this message: its own, or its calls' item."""
        if (item := self._of_message.get(message)) is not None:
            return item
        item = self._current.get(agent)
        if item is None or self._speaks(item):
            item = self._current[agent] = self._add_speech(agent, f"m:{message}")
        self._of_message[message] = item
        return item

    def _acting(self, agent: str, id: str) -> SpeechItem:
        """The item of an agent's tool call, made with `id` if new."""
        if agent not in self._current:
            self._current[agent] = self._add_speech(agent, id)
        return self._current[agent]

    def _finish_call(self, event: ToolFinished) -> None:
        # A call that was asked about is told anew: its card stands between.
        item = self._of_call.get(event.call) or self._acting(event.agent, f"r:{event.call}")
        if event.stopped:
            item.act(event.call, event.tool, "stopped", event.ending)
            return
        status = "unknown" if event.unknown else "failed" if event.failed else "done"
        item.act(event.call, event.tool, status)

    def _hand_off(self, event: WorkHandedOff) -> None:
        item = self._current.pop(event.agent, None) or self._last
        own = item is not None and item.agent == event.agent
        title = event.target if own else f"{event.agent} \u2192 {event.target}"
        behind = item is not None
        told = Activity(id=f"h:{event.seq}", kind="handoff", title=title, after=behind)
        if item is None:
            self._leading.append((event.agent, told))
            return
        item.leaves.append(told)
        if own:
            item.growing = False

    def _ask(self, event: InputRequested) -> None:
        if (asking := self._of_call.pop(event.call, None)) is not None:
            asking.acts.pop(event.call, None)  # the card tells of it
        if (current := self._current.pop(event.agent, None)) is not None:
            current.growing = False
        approval = event.request_kind == "approval"
        for place in (None, *(self._away if approval else ())):
            self._add_card(event.request, place).request = event

    def _settle(self, event: InputResolved) -> None:
        cards = self._cards.pop(event.request, None)
        if cards is None:  # it was asked before the events that this view has seen
            cards = [self._add_card(event.request, place) for place in (None, *self._away)]
            self._cards.pop(event.request)
        for card in cards:
            card.outcome, card.by = event.outcome, event.by

    def _add_card(self, request: str, place: ConversationKey | None) -> CardItem:
        card = CardItem(
            id=card_id(request, place),
            seq=self.seq,
            asker=self._asker,
            request_id=request,
            place=place,
        )
        self._add(card)
        self._cards.setdefault(request, []).append(card)
        return card


def _own_line(event: SessionEvent, line: Line, *, passing: bool = False) -> LineItem:
    """A line that tells of this event alone."""
    id = f"n:{event.seq}"
    return LineItem(id=id, seq=event.seq, asker="", line=line, passing=passing)


def card_id(request: str, place: ConversationKey | None) -> str:
    """The id of a request's card."""
    return f"c:{request}" if place is None else f"c:{request}:{place}"


def _commands_over(event: SessionEvent) -> Collection[str]:
    """Commands that the event outdates."""
    match event:
        case TurnStarted(messages=messages):
            return {"/retry", *map(_again, messages)}
        case MessageJoined(message=message):
            return {_again(message)}
        case TurnFinished():
            return {"/stop"}
        case Notice(over=over):
            return {over} - {""}
        case _:
            return ()


def _again(message: HumanText) -> str:
    return f"/again {message.again}"


def _notice_line(event: Notice) -> Line:
    text = f"{event.text} (id {event.incident})" if event.incident else event.text
    if event.command or not event.retry:
        return Line(text=text, level=event.level, command=event.command, label=event.label)
    return Line(text=text, level=event.level, command="/retry", label="Try again")


def _end_line(event: TurnFinished, *, told: bool, mentions: tuple[str, ...]) -> Line | None:
    """The line that ends a turn; None for nothing."""
    match event.outcome:
        case "waiting":
            return None
        case "stopped":
            why = f": {event.reason}" if event.reason not in ("", "stopped") and not told else ""
            return Line(text=f"Stopped{why}".rstrip(".") + ".", mentions=mentions)
        case "failed" | "interrupted" if not told:
            return Line(text=event.reason or "The turn failed.", level="error", mentions=mentions)
        case "failed" | "interrupted":
            return (
                Line(text="The answer ends here.", level="error", mentions=mentions)
                if mentions
                else None
            )
        case "done":
            return Line(text="Done.", mentions=mentions) if mentions else None
