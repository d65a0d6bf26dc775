"""Picture of a thread: the one fold of its events.

Finished items stand in the order of their events. A message that still grows stands below all of
them, and takes its place when it is finished; so a replay and a live run end in the same picture.
All foreign text is sanitised here, once. A surface shows the items, or the `news` of each event.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import replace
from itertools import islice
from typing import Literal, TypeAlias

from gateway.agent_state import AgentState, Used
from gateway.events import (
    ASK,
    CONTINUE,
    PLAN,
    ApprovalName,
    ContextFill,
    ContextSummarised,
    FileMade,
    HumanText,
    InputReminded,
    InputRequested,
    InputResolved,
    InputSupported,
    MessageFinished,
    MessageJoined,
    MessageQueued,
    MessageWithdrawn,
    ModelSilent,
    Notice,
    NoticeLevel,
    SessionEvent,
    SourcesFound,
    SpeakerStarted,
    TextDelta,
    Thought,
    ThreadRenamed,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnHeld,
    TurnStarted,
    Usage,
    WorkHandedOff,
)
from gateway.items import (
    Agent,
    AgentItem,
    HandoffItem,
    HumanItem,
    Item,
    News,
    NoticeItem,
    RequestItem,
    SpeakerItem,
    ThoughtItem,
    ToolItem,
    TurnItem,
    WaitItem,
)
from gateway.render.sanitize import StreamSanitizer, one_line, sanitize

COLOURS = 8
USUAL_HANDOFF = "Transferred to {target}, adopting the role of {target} immediately."
"""The default text of a hand-off, which the row already says."""
NO_TURN = TurnItem(key="", outcome="done")
SILENCE, HOLD = "silence", "hold"
"""Keys of what a WaitItem tells of."""
Activity: TypeAlias = Literal["idle", "working", "waiting"]
_ACTIVE: Mapping[str, Activity] = {"": "working", "waiting": "waiting"}


class Picture:
    """The picture of one thread, changed by `apply` alone."""

    def __init__(self, after: int = 0) -> None:
        self.last_seq = after
        self.news: list[News] = []
        """News of the newest event."""
        self.title = ""
        self.titled = False
        """A person has given the title."""
        self.turn = NO_TURN
        """The newest turn."""
        self.speaker = ""
        self.used = Used()
        self.fill: tuple[ContextFill, ...] = ()
        """The fill of the agents' contexts, as far as known."""
        self.agents: dict[str, AgentState] = {}
        self.queued: dict[int, str] = {}
        self.held = ""
        self.approval: ApprovalName = ASK
        """The thread's mode of approval."""
        """The limit that holds the next turn at its start, in words."""
        self.handed: HandoffItem | None = None
        """The team's last word, by which it handed the work to people."""
        self.requests: dict[str, RequestItem] = {}
        """Open requests, oldest first."""
        self.items: dict[str, Item] = {}
        self._sealed: dict[str, None] = {}
        self._open: dict[str, tuple[AgentItem, StreamSanitizer]] = {}
        self._final: set[str] = set()
        """Messages that were finished in this attempt at the turn."""
        self._calls: dict[str, str] = {}
        self._running: dict[str, float] = {}
        """When each running call began."""
        self._silent: ModelSilent | None = None
        self._told = ""
        """The newest notice of the turn."""
        self._failure_told = False
        self._cut = False
        """It was offered to go on with an answer of the turn."""

    @property
    def keys(self) -> list[str]:
        """The keys of `items` from top to bottom."""
        return [*self._sealed, *(key for key in self._open if key not in self._sealed)]

    @property
    def activity(self) -> Activity:
        """State of the team."""
        return _ACTIVE.get(self.turn.outcome, "idle")

    @property
    def silence(self) -> str:
        """The time for which a model has said nothing, in words."""
        return self._silent.text if self._silent else ""

    @property
    def can_retry(self) -> bool:
        """True where /retry would go on with the last turn."""
        return self.turn.outcome in ("failed", "interrupted")

    @property
    def can_continue(self) -> bool:
        """True where /continue would go on with a cut answer."""
        return self._cut and self.turn.outcome == "done"

    def apply(self, event: SessionEvent) -> bool:
        """Take an event in. False for one that is known already."""
        self.news = []
        if event.seq:
            if event.seq <= self.last_seq:
                return False
            self.last_seq = event.seq
        self._apply(event)
        return True

    def reconnect(self) -> None:
        """Forget the text of open messages; new events repeat it."""
        for key in self._open:
            if key not in self._sealed:
                self.items.pop(key, None)
        self._open.clear()

    def forget_items(self) -> None:
        """Keep only what later events need: agents and open requests."""
        self.items.clear()
        self._sealed.clear()
        self._open.clear()
        self._running.clear()
        self._calls.clear()
        self._silent = None

    def note(self, text: str, level: NoticeLevel = "info", *, command: str = "") -> None:
        """Add a line of the terminal's own, such as a command's answer."""
        key, text, command = f"note-{len(self._sealed)}", sanitize(text), sanitize(command)
        self._put(NoticeItem(key=key, text=text, level=level, command=command))

    @property
    def settled(self) -> bool:
        """True while the team is done or waits for an answer."""
        return self.activity == "idle" or (self.activity == "waiting" and bool(self.requests))

    @property
    def held_up(self) -> RequestItem | None:
        """The request that a call waits for in its midst."""
        return next((each for each in self.requests.values() if each.awaited), None)

    def has_message(self, inbox: int) -> bool:
        """True if this numbered message is in a turn or queued."""
        return inbox in self.queued or f"human-{inbox}" in self.items

    def last_reply(self) -> str:
        """The newest message of an agent, or ""."""
        texts = (self.items[key] for key in reversed(self.keys))
        return next((item.text for item in texts if isinstance(item, AgentItem)), "")

    def message(self, number: int) -> HumanItem | AgentItem | None:
        """A message counted from the newest, which is 1."""
        items = (self.items[key] for key in reversed(self.keys))
        messages = (item for item in items if isinstance(item, HumanItem | AgentItem))
        return next(islice(messages, number - 1, None), None) if number > 0 else None

    @property
    def plan(self) -> str:
        """The newest message of an agent in the mode plan, or ""."""
        done = self.approval == PLAN and self.activity == "idle"
        return self.last_reply() if done and self.turn.outcome == "done" else ""

    def _apply(self, event: SessionEvent) -> None:
        match event:
            case TextDelta():
                self._grow(event, self._add_agent(event.agent))
            case MessageFinished() | Thought() | WorkHandedOff():
                self._apply_message(event)
            case TurnStarted():
                self._begin(event)
            case SpeakerStarted():
                self._begin_speaker(event)
            case TurnFinished():
                self._end(event)
            case ToolStarted() | ToolFinished():
                self._apply_tool_call(event)
            case InputRequested():
                self._ask(event)
            case InputResolved():
                self._settle(event)
            case _:
                self._apply_to_thread(event)

    def _apply_to_thread(self, event: SessionEvent) -> None:
        match event:
            case MessageQueued(message=message):
                self.queued[message.inbox] = sanitize(message.text)
            case MessageWithdrawn(inbox=inbox):
                self.queued.pop(inbox, None)
            case MessageJoined(message=message):
                self._seal_human_text(message)
            case ThreadRenamed():
                self.title, self.titled = one_line(sanitize(event.title)), event.given
            case ModelSilent():
                self._note_silence(event)
            case TurnHeld():
                self.held = event.text
                self.news.append(WaitItem(key=HOLD, text=self.held, over=not event.limit))
            case Usage():
                self.used.add(event)
                self._add_agent(event.agent).used.add(event)
            case ContextSummarised():
                self._seal_notice(Notice(thread=event.thread, seq=event.seq, text=event.text))
            case FileMade() | InputSupported() | InputReminded() | Notice():
                self._seal_notice(event)
            case SourcesFound():
                pass  # the answer names those that it cites
            case _:
                pass

    def _seal_notice(self, event: Notice | FileMade | InputSupported | InputReminded) -> None:
        item = NoticeItem(key=f"notice-{event.seq}", text="")
        match event:
            case FileMade(path=path, size=size):
                text = f"New file: {path} ({size:,} bytes)"
                item = replace(item, path=path, size=size)
            case InputSupported(request=request):
                text, item = event.text, replace(item, request=request)
            case InputReminded(request=request, text=text, mentions=people):
                item = replace(item, request=request, mentions=people)
            case Notice(level=level, incident=incident):
                self._told, failed = event.text, level == "error"
                self._failure_told = self._failure_told or failed
                self._cut = self._cut or event.command == CONTINUE
                self.approval = event.approval or self.approval
                ways = "; ".join(f"{label or 'type'}: {command}" for command, label in event.offers)
                text = f"{event.for_operator or event.text}{ways and f' ({ways})'}"
                item = replace(item, level=level, incident=sanitize(incident), notice=event)
        self._seal(replace(item, text=sanitize(text)))

    def _note_silence(self, event: ModelSilent) -> None:
        """Tell of a silence, or of the end of one."""
        if self._silent is None and event.over:
            return
        self._silent = None if event.over else event
        told = WaitItem(key=SILENCE, text=event.text, seconds=event.seconds, over=event.over)
        self.news.append(told)

    def _end_silence(self) -> None:
        if self._silent is not None:
            self._note_silence(replace(self._silent, over=True))

    def _begin_speaker(self, event: SpeakerStarted) -> None:
        self._end_silence()
        self._clear_activity()
        state = self._add_agent(event.agent)
        self.speaker, state.doing, state.model = state.agent.name, "working", sanitize(event.model)
        self.handed = None
        self.news.append(SpeakerItem(key="speaker", agent=state.agent, model=state.model))

    def _begin(self, event: TurnStarted) -> None:
        self._end_silence()
        self._resume_decided_calls(event.at)
        self.held, self._told, self._failure_told = "", "", False
        self._final.clear()
        if not event.resumed:
            self.handed, self._cut = None, False
        self.turn = TurnItem(
            key=f"turn-{event.seq}",
            messages=event.messages,
            asker=event.asker,
            asked_at=event.asked_at or event.at,
            began_at=event.at,
            resumed=event.resumed,
        )
        self.news.append(self.turn)
        for message in event.messages:
            self._seal_human_text(message)

    def _end(self, event: TurnFinished) -> None:
        self._clear_activity()
        self.speaker = ""
        self.fill = event.fill or self.fill
        self._end_silence()  # it said something, or was stopped, just before
        outcome, reason = event.outcome, sanitize(event.reason)
        told = self._failure_told or self._told == event.reason != ""
        self.turn = replace(self.turn, outcome=outcome, reason=reason, ended_at=event.at, told=told)
        self.news.append(self.turn)
        if outcome == "waiting":
            self._mark_waiting()
            return
        self._close_open_items()
        if self.turn.early:
            self._note_end(event)

    def _note_end(self, event: TurnFinished) -> None:
        """Add the reason for an early end, unless just told."""
        last = self.items[next(reversed(self._sealed))] if self._sealed else None
        outcome, reason = self.turn.outcome, self.turn.reason
        if reason and isinstance(last, NoticeItem) and self._told == event.reason:
            return
        level = "error" if outcome == "failed" else "warning"
        text = outcome if reason in ("", outcome) else f"{outcome}: {reason}"
        self._put(NoticeItem(key=f"notice-{event.seq}", text=text, level=level))

    def _apply_message(self, event: MessageFinished | Thought | WorkHandedOff) -> None:
        state = self._add_agent(event.agent)
        agent = state.agent
        match event:
            case MessageFinished(message=message, text=text, ending=ending, hidden=hidden):
                self._open.pop(message, None)
                self._final.add(message)
                text = sanitize(text)
                item = AgentItem(
                    key=message,
                    agent=agent,
                    text=text,
                    model=state.model,
                    ending=ending,
                    hidden=hidden,
                )
                self._seal(item)
            case Thought(text=text):
                self._seal(
                    ThoughtItem(key=f"thought-{event.seq}", agent=agent, text=sanitize(text))
                )
            case WorkHandedOff(target=target, text=text, to_people=to_people):
                state.doing = ""
                said_by_default = USUAL_HANDOFF.format(target=target)
                item = HandoffItem(
                    key=f"handoff-{event.seq}",
                    agent=agent,
                    target=self._find_agent(target),
                    text="" if text == said_by_default else sanitize(text),
                    to_people=to_people,
                )
                self.handed = item if to_people else self.handed
                self._seal(item)

    def _grow(self, event: TextDelta, state: AgentState) -> None:
        key = event.message
        if key in self._final:
            return
        known = None if event.replace else self._open.get(key)
        sanitizer = known[1] if known else StreamSanitizer()
        item = AgentItem(
            key=key,
            agent=state.agent,
            text=(known[0].text if known else "") + sanitizer.feed(event.text),
            model=state.model,
            open=True,
            thought=event.thought,
            anew=event.replace,
        )
        self._open[key] = item, sanitizer
        if key not in self._sealed:  # else what an earlier attempt has said stands until the end
            self.items[key] = item
        self.news.append(item)

    def _apply_tool_call(self, event: ToolStarted | ToolFinished) -> None:
        state = self._add_agent(event.agent)
        known = self.items.get(event.call)
        if not isinstance(known, ToolItem):
            known = ToolItem.of(event, state.agent)
        known = known.begun(event) if isinstance(event, ToolStarted) else known.ended(event)
        if event.asks:  # its question tells of it
            self.news.append(known)
            return
        self._seal(known)
        if known.state == "running":
            state.doing, self._running[known.key] = known.tool, event.at
        else:
            state.doing = "working" if self.speaker == state.agent.name else ""
            self._running.pop(known.key, None)

    def _ask(self, event: InputRequested) -> None:
        state = self._add_agent(event.agent)
        state.doing = "asks you"
        item = RequestItem.of(event, state.agent)
        self.requests[event.request] = item
        known = self.items.get(event.call)
        if isinstance(known, ToolItem):  # the call tells of its approval itself
            self._calls[event.request] = event.call
            self._running.pop(event.call, None)
            self.items[event.call] = replace(known, state="asking")
            self.news.append(item)
        else:
            self._seal(item)

    def _settle(self, event: InputResolved) -> None:
        outcome, by = sanitize(event.outcome) or "answered", sanitize(event.by)
        item = self.requests.pop(event.request, None)
        if item is None:  # it was asked before all that is known
            key, nobody = f"request-{event.request}", Agent(name="")
            item = RequestItem(key=key, request=event.request, kind="text", agent=nobody, prompt="")
            self.news.append(replace(item, outcome=outcome, by=by))
            return
        self._add_agent(item.agent.name).doing = ""
        self._mark_waiting()
        item = replace(item, outcome=outcome, by=by)
        known = self.items.get(self._calls.pop(event.request, ""))
        if isinstance(known, ToolItem):
            state = "decided" if known.state == "asking" else known.state
            self.items[known.key] = replace(known, state=state, decision=outcome)
            self.news.append(item)
        else:
            self._seal(item)
        if not self.requests:
            self._resume_decided_calls(event.at)

    def _close_open_items(self) -> None:
        for key, (item, _) in self._open.items():
            if key not in self._sealed:
                self._put(replace(item, open=False))
        self._open.clear()
        end = self.turn
        for key, item in self.items.items():
            if isinstance(item, ToolItem) and item.state in ("running", "asking", "decided"):
                ran = end.outcome == "stopped" and key in self._running
                took = max(0.0, end.ended_at - self._running[key]) if ran else 0.0
                self.items[key] = replace(item, state="stopped", duration=took)
        self._running.clear()

    def _resume_decided_calls(self, at: float) -> None:
        """Mark decided calls as running once no sibling waits."""
        for key, item in self.items.items():
            if isinstance(item, ToolItem) and item.state == "decided":
                self.items[key] = replace(item, state="running")
                self._running[key] = at

    def _mark_waiting(self) -> None:
        for item in self.requests.values():
            self._add_agent(item.agent.name).doing = "asks you"

    def _clear_activity(self) -> None:
        for state in self.agents.values():
            if state.doing != "asks you":
                state.doing = ""

    def _seal_human_text(self, message: HumanText) -> None:
        self.queued.pop(message.inbox, None)
        self._seal(HumanItem.of(message))

    def _seal(self, item: Item) -> None:
        """Let an item stand where it is said, and tell of it."""
        self._put(item)
        self.news.append(item)

    def _put(self, item: Item) -> None:
        self.items[item.key] = item
        self._sealed[item.key] = None

    def _find_agent(self, name: str) -> Agent:
        """The agent with its colour, even if it has never spoken."""
        name = one_line(sanitize(name))
        state = self.agents.get(name)
        return state.agent if state else Agent(name=name, colour=self._choose_colour(name))

    def _add_agent(self, name: str) -> AgentState:
        if (state := self.agents.get(name)) is not None:
            return state
        agent = self._find_agent(name)
        return self.agents.setdefault(agent.name, AgentState(agent))

    def _choose_colour(self, name: str) -> int:
        """A colour by name; the next free one if two clash."""
        wanted = zlib.crc32(name.encode()) % COLOURS
        taken = {state.agent.colour for state in self.agents.values()}
        free = (wanted + step for step in range(COLOURS))
        return next((colour % COLOURS for colour in free if colour % COLOURS not in taken), wanted)
