"""`ThreadModel`: the picture of a thread, made from session events.

Finished items stand in the order of their events. A message that still grows stands below all of
them, and takes its place when it is finished; so a replay and a live run end in the same picture.
All foreign text is sanitised here, once.
"""

import zlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from adapters.terminal.items import (
    Agent,
    AgentItem,
    HandoffItem,
    HumanItem,
    Item,
    Level,
    NoticeItem,
    RequestItem,
    ThoughtItem,
    ToolItem,
    ToolState,
)
from adapters.terminal.text import (
    StreamSanitizer,
    one_line,
    one_line_arguments,
)
from gateway.events import (
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
    SessionEvent,
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
from gateway.render.arguments import Argument, plain_text, read_arguments
from gateway.render.sanitize import sanitize, visible

COLOURS = 8
USUAL_HANDOFF = "Transferred to {target}, adopting the role of {target} immediately."
"""The default text of a hand-off, which the row already says."""
Activity: TypeAlias = Literal["idle", "working", "waiting"]
ThreadEvent: TypeAlias = (
    MessageQueued | MessageWithdrawn | MessageJoined | ThreadRenamed | Notice | FileMade | Usage
    | InputSupported | InputReminded | ModelSilent | TurnHeld
)  # fmt: skip


@dataclass(slots=True)
class AgentState:
    """An agent's state in this thread; `doing` is for people."""

    agent: Agent
    model: str = ""
    doing: str = ""
    tokens: int = 0


class ThreadModel:
    """The picture of one thread, changed by `apply` alone."""

    def __init__(self) -> None:
        self.title = ""
        self.activity: Activity = "idle"
        self.failed = False
        """The last turn did not reach its end."""
        self.can_retry = False
        """The last turn failed, or was interrupted too often: /retry goes on with it."""
        self.speaker = ""
        self.turn_started_at = 0.0
        self.prompt_tokens = 0
        self.completion_tokens = 0
        self.last_seq = 0
        self.agents: dict[str, AgentState] = {}
        self.queued: dict[int, str] = {}
        self.silence = ""
        """The time for which a model has said nothing, in words."""
        self.held = ""
        """The limit that holds the next turn at its start, in words."""
        self.requests: dict[str, RequestItem] = {}
        """Open requests, oldest first."""
        self.items: dict[str, Item] = {}
        self._sealed: dict[str, None] = {}
        self._open: dict[str, StreamSanitizer] = {}
        self._calls: dict[str, str] = {}
        self._running: dict[str, float] = {}
        """When each running call began."""
        self._told = ""
        """Text of the last notice, as people elsewhere read it."""

    @property
    def keys(self) -> list[str]:
        """The keys of `items` from top to bottom."""
        return [*self._sealed, *self._open]

    def apply(self, event: SessionEvent) -> bool:
        """Take an event in. False for one that is known already."""
        if event.seq:
            if event.seq <= self.last_seq:
                return False
            self.last_seq = event.seq
        self._apply(event)
        return True

    def apply_all(self, events: Iterable[SessionEvent]) -> None:
        """Take several events in."""
        for event in events:
            self.apply(event)

    def reconnect(self) -> None:
        """Forget the text of open messages; new events repeat it."""
        for key in self._open:
            self.items.pop(key, None)
        self._open.clear()

    def note(self, text: str, level: Level = "info", *, command: str = "") -> None:
        """Add a line of the terminal's own, such as a command's answer."""
        key, text, command = f"note-{len(self._sealed)}", sanitize(text), sanitize(command)
        self._seal(NoticeItem(key=key, text=text, level=level, command=command))

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

    def _apply(self, event: SessionEvent) -> None:
        match event:
            case TurnStarted() | TurnFinished() | SpeakerStarted():
                self._apply_to_turn(event)
            case TextDelta() | MessageFinished() | Thought() | WorkHandedOff():
                self._apply_message(event)
            case ToolStarted(asks=True) | ToolFinished(asks=True):
                self._add_agent(event.agent)  # its question tells of it
            case ToolStarted() | ToolFinished():
                self._apply_tool_call(event)
            case InputRequested() | InputResolved():
                self._apply_request(event)
            case _:
                self._apply_to_thread(event)

    def _apply_to_thread(self, event: ThreadEvent) -> None:
        match event:
            case MessageQueued(message=message):
                self.queued[message.inbox] = sanitize(message.text)
            case MessageWithdrawn(inbox=inbox):
                self.queued.pop(inbox, None)
            case MessageJoined(message=message):
                self._seal_human_text(message)
            case ThreadRenamed(title=title):
                self.title = one_line(sanitize(title))
            case FileMade(path=path, size=size):
                self._seal_notice(event, f"New file: {path} ({size:,} bytes)")
            case InputSupported(by=by, approved=approved, quorum=quorum):
                text = f"{by or 'Somebody'} approved: {approved} of {quorum} who have to."
                self._seal_notice(event, text)
            case InputReminded(text=text):
                self._seal_notice(event, text)
            case Notice(level=level, incident=incident, command=command):
                self._told = sanitize(event.text)
                what_to_do = f" ({event.label or 'type'}: {command})" if command else ""
                text = f"{event.for_operator or event.text}{what_to_do}"
                self._seal_notice(event, text, level, incident)
            case ModelSilent(over=over):
                self.silence = "" if over else event.text
            case TurnHeld():
                self.held = event.text
            case Usage(agent=agent, prompt_tokens=prompt, completion_tokens=completion):
                self.prompt_tokens += prompt
                self.completion_tokens += completion
                self._add_agent(agent).tokens += prompt + completion

    def _apply_to_turn(self, event: TurnStarted | TurnFinished | SpeakerStarted) -> None:
        self.silence = ""
        match event:
            case TurnStarted(messages=messages):
                self._resume_decided_calls(event.at)
                self.activity, self.can_retry, self.held = "working", False, ""
                self.turn_started_at = event.at
                for message in messages:
                    self._seal_human_text(message)
            case SpeakerStarted(agent=agent, model=model):
                self._clear_activity()
                state = self._add_agent(agent)
                self.speaker, state.doing = state.agent.name, "working"
                state.model = sanitize(model)
            case TurnFinished(outcome=outcome):
                self._clear_activity()
                self.activity, self.speaker = "idle", ""
                self.failed = outcome not in ("done", "waiting")
                self.can_retry = outcome in ("failed", "interrupted")
                if outcome == "waiting":
                    self.activity = "waiting"
                    self._mark_waiting()
                    return
                self._close_open_items(event)
                if outcome != "done":
                    self._seal_turn_end(event)

    def _seal_turn_end(self, event: TurnFinished) -> None:
        """Add the reason for a turn's early end, unless already shown."""
        reason = sanitize(event.reason)
        last = self.items[next(reversed(self._sealed))] if self._sealed else None
        if reason and isinstance(last, NoticeItem) and self._told == reason:
            return
        level: Level = "error" if event.outcome == "failed" else "warning"
        text = event.outcome if reason in ("", event.outcome) else f"{event.outcome}: {reason}"
        self._seal_notice(event, text, level)

    def _apply_message(self, event: TextDelta | MessageFinished | Thought | WorkHandedOff) -> None:
        agent = self._add_agent(event.agent)
        match event:
            case TextDelta():
                self._append_delta(event, agent)
            case MessageFinished(message=message, text=text, broken=broken):
                self._open.pop(message, None)
                self._seal(
                    AgentItem(
                        key=message,
                        agent=agent.agent,
                        text=sanitize(text),
                        model=agent.model,
                        broken=broken,
                    )
                )
            case Thought(text=text):
                self._seal(
                    ThoughtItem(key=f"thought-{event.seq}", agent=agent.agent, text=sanitize(text))
                )
            case WorkHandedOff(target=target, text=text):
                agent.doing = ""
                said_by_default = USUAL_HANDOFF.format(target=target)
                self._seal(
                    HandoffItem(
                        key=f"handoff-{event.seq}",
                        agent=agent.agent,
                        target=self._find_agent(target),
                        text="" if text == said_by_default else sanitize(text),
                    )
                )

    def _apply_tool_call(self, event: ToolStarted | ToolFinished) -> None:
        state = self._add_agent(event.agent)
        known = self.items.get(event.call)
        match event:
            case ToolStarted(call=call, tool=tool, arguments=arguments):
                state.doing = sanitize(tool)
                if not isinstance(known, ToolItem):
                    known = ToolItem(
                        key=call,
                        agent=state.agent,
                        tool=sanitize(tool),
                        arguments=plain_text(read_arguments(arguments)),
                        summary=visible(one_line_arguments(arguments)),
                    )
                self._seal(replace(known, state="running"))
                self._running[call] = event.at
            case ToolFinished(call=call, tool=tool):
                state.doing = "working" if self.speaker == state.agent.name else ""
                self._running.pop(call, None)
                if not isinstance(known, ToolItem):
                    known = ToolItem(key=call, agent=state.agent, tool=sanitize(tool))
                self._seal(
                    replace(
                        known,
                        state=_final_state(event, known),
                        result=sanitize(event.result),
                        duration=event.duration,
                    )
                )

    def _apply_request(self, event: InputRequested | InputResolved) -> None:
        match event:
            case InputRequested(request=request, call=call):
                state = self._add_agent(event.agent)
                state.doing = "asks you"
                item = RequestItem(
                    key=f"request-{request}",
                    request=request,
                    kind=event.request_kind,
                    agent=state.agent,
                    prompt=sanitize(event.prompt),
                    options=tuple(sanitize(option) for option in event.options),
                    tool=visible(event.tool),
                    arguments=(shown := event.shown_arguments),
                    replaced=_replaced(event, shown),
                    grants=event.grants,
                    awaited=event.awaited,
                )
                self.requests[request] = item
                known = self.items.get(call)
                if isinstance(known, ToolItem):  # the call tells of its approval itself
                    self._calls[request] = call
                    self._running.pop(call, None)
                    self.items[call] = replace(known, state="asking")
                else:
                    self._seal(item)
            case InputResolved(request=request, outcome=outcome, by=by):
                item = self.requests.pop(request, None)
                if item is None:
                    return
                self._add_agent(item.agent.name).doing = ""
                self._mark_waiting()
                known = self.items.get(self._calls.pop(request, ""))
                if isinstance(known, ToolItem):
                    state = "decided" if known.state == "asking" else known.state
                    decision = sanitize(outcome)
                    self.items[known.key] = replace(known, state=state, decision=decision)
                else:
                    self._seal(replace(item, outcome=sanitize(outcome), by=sanitize(by)))
                if not self.requests:
                    self._resume_decided_calls(event.at)

    def _append_delta(self, event: TextDelta, agent: AgentState) -> None:
        known = self.items.get(event.message)
        if event.message in self._sealed:
            return
        if event.replace or event.message not in self._open:
            self._open[event.message] = StreamSanitizer()
            known = None
        text = known.text if isinstance(known, AgentItem) else ""
        self.items[event.message] = AgentItem(
            key=event.message,
            agent=agent.agent,
            text=text + self._open[event.message].feed(event.text),
            model=agent.model,
            open=True,
        )

    def _close_open_items(self, end: TurnFinished) -> None:
        for key in list(self._open):
            item = self.items[key]
            del self._open[key]
            if isinstance(item, AgentItem):
                self._seal(replace(item, open=False))
        for key, item in self.items.items():
            if isinstance(item, ToolItem) and item.state in ("running", "asking", "decided"):
                ran = end.outcome == "stopped" and key in self._running
                took = max(0.0, end.at - self._running[key]) if ran else 0.0
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
            self.agents[item.agent.name].doing = "asks you"

    def _clear_activity(self) -> None:
        for state in self.agents.values():
            if state.doing != "asks you":
                state.doing = ""

    def _seal_human_text(self, message: HumanText) -> None:
        self.queued.pop(message.inbox, None)
        self._seal(
            HumanItem(
                key=f"human-{message.inbox}",
                author=sanitize(message.author),
                text=sanitize(message.text),
            )
        )

    def _seal_notice(
        self, event: SessionEvent, text: str, level: Level = "info", incident: str = ""
    ) -> None:
        key, text, incident = f"notice-{event.seq}", sanitize(text), sanitize(incident)
        self._seal(NoticeItem(key=key, text=text, level=level, incident=incident))

    def _seal(self, item: Item) -> None:
        self.items[item.key] = item
        self._sealed[item.key] = None

    def _find_agent(self, name: str) -> Agent:
        """The agent with its colour, even if it has never spoken."""
        name = one_line(sanitize(name))
        state = self.agents.get(name)
        return state.agent if state else Agent(name=name, colour=self._choose_colour(name))

    def _add_agent(self, name: str) -> AgentState:
        agent = self._find_agent(name)
        return self.agents.setdefault(agent.name, AgentState(agent))

    def _choose_colour(self, name: str) -> int:
        """A colour by name; the next free one if two clash."""
        wanted = zlib.crc32(name.encode()) % COLOURS
        taken = {state.agent.colour for state in self.agents.values()}
        free = (wanted + step for step in range(COLOURS))
        return next((colour % COLOURS for colour in free if colour % COLOURS not in taken), wanted)


def _replaced(event: InputRequested, shown: Collection[Argument]) -> tuple[Argument, ...]:
    """Arguments in whose place something else is shown."""
    return tuple(each for each in read_arguments(event.arguments) if each not in shown)


def _final_state(event: ToolFinished, before: ToolItem) -> ToolState:
    """The outcome of a call; a denied one did not fail."""
    if event.unknown or event.stopped:
        return "unknown" if event.unknown else "stopped"
    if not event.failed:
        return "done"
    return "denied" if before.decision.startswith("denied") else "failed"
