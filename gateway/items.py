"""Items of a thread, as its picture has them: frozen values.

A changed item is a new value under the same key, so a view redraws what is not the same object.
All text in them is sanitised, but for that of the events which two of them carry.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from gateway.events import (
    MARKS,
    Ending,
    GrantKind,
    HumanText,
    InputRequested,
    Notice,
    NoticeLevel,
    RequestKind,
    ToolFinished,
    ToolStarted,
    TurnOutcome,
)
from gateway.render.arguments import Argument, one_line_arguments, plain_text, read_arguments
from gateway.render.sanitize import one_line, sanitize, shorten, visible

ToolState: TypeAlias = Literal[
    "running", "asking", "decided", "done", "denied", "failed", "unknown", "stopped"
]
NOBODY = "somebody"
"""The author of a message whose name the platform did not tell."""
LONGEST_CALL = 200
"""Characters of arguments in a line on a call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """An agent's name and its colour number, fixed within a thread."""

    name: str
    colour: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Item:
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanItem(_Item):
    """A person's message in a turn, or `sending` on its way there."""

    author: str
    text: str
    inbox: int = 0
    """As in HumanText, and so are the next two."""
    again: int = 0
    files: tuple[str, ...] = ()
    sending: bool = False

    @classmethod
    def of(cls, message: HumanText) -> HumanItem:
        """The item of a message in a turn."""
        return cls(
            key=f"human-{message.inbox}",
            author=sanitize(message.author) or NOBODY,
            text=sanitize(message.text),
            inbox=message.inbox,
            again=message.again,
            files=tuple(one_line(sanitize(name)) for name in message.files),
        )

    @property
    def attached(self) -> str:
        """The line below it on its files; "" for none."""
        return f"Attached: {', '.join(self.files)}" if self.files else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentItem(_Item):
    """An agent's message; it grows while `open`. `ending`: as in MessageFinished.

    `thought`: what it says so far is a thought, which gives way to the text. `anew`: its newest
    piece was all of it. `hidden` is the end of the text that only exports have.
    """

    agent: Agent
    text: str
    model: str = ""
    open: bool = False
    ending: Ending = ""
    hidden: str = ""
    thought: bool = False
    anew: bool = False

    @property
    def broken(self) -> bool:
        """It broke off, with its turn."""
        return self.ending == "broken"

    @property
    def mark(self) -> str:
        """The line below it on how it ended; "" for none."""
        return MARKS[self.ending]


@dataclass(frozen=True, slots=True, kw_only=True)
class ThoughtItem(_Item):
    """Reasoning, shown folded."""

    agent: Agent
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolItem(_Item):
    """A tool call with its outcome.

    `written` are its arguments as the model wrote them, `summary` the same in a row; `duration` is
    in seconds. `asks`: it only asks people, and its question tells of it.
    """

    agent: Agent
    tool: str
    written: str = ""
    arguments: str = ""
    summary: str = ""
    state: ToolState = "running"
    result: str = ""
    duration: float = 0.0
    decision: str = ""
    """The person's decision, if one was asked."""
    asks: bool = False

    @classmethod
    def of(cls, event: ToolStarted | ToolFinished, agent: Agent) -> ToolItem:
        """The item of a call of which this is the first event."""
        return cls(key=event.call, agent=agent, tool=sanitize(event.tool), asks=event.asks)

    @property
    def line(self) -> str:
        """The call in one line, with the beginning of its arguments."""
        return f"{self.tool} {shorten(self.summary, LONGEST_CALL)}".rstrip()

    @property
    def ending(self) -> str:
        """The way it ended, in a word or two."""
        if self.state == "stopped":
            return f"stopped after {self.duration:.3g} s" if self.duration else "stopped"
        return "failed" if self.state in ("failed", "denied") else "done"

    def begun(self, event: ToolStarted) -> ToolItem:
        """The call as it is about to run."""
        return replace(
            self,
            written=event.arguments,
            arguments=plain_text(read_arguments(event.arguments)),
            summary=visible(one_line_arguments(event.arguments)),
            state="running",
        )

    def ended(self, event: ToolFinished) -> ToolItem:
        """The call with its outcome; a denied one did not fail."""
        state: ToolState = "done"
        if event.unknown or event.stopped:
            state = "unknown" if event.unknown else "stopped"
        elif event.failed:
            state = "denied" if self.decision.startswith("denied") else "failed"
        return replace(self, state=state, result=sanitize(event.result), duration=event.duration)


@dataclass(frozen=True, slots=True, kw_only=True)
class HandoffItem(_Item):
    """One agent passed the work on, or `to_people`."""

    agent: Agent
    target: Agent
    text: str = ""
    to_people: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestItem(_Item):
    """The team asked a person; `outcome` is empty while it waits.

    `asked` is the event; None for one that was asked before what the picture knows.
    """

    request: str
    asked: InputRequested | None = None
    kind: RequestKind
    agent: Agent
    prompt: str
    options: tuple[str, ...] = ()
    tool: str = ""
    arguments: tuple[Argument, ...] = ()
    replaced: tuple[Argument, ...] = ()
    """Arguments in whose place a diff stands."""
    grants: tuple[tuple[GrantKind, str], ...] = ()
    """Approvals for the rest of the thread, with the arguments of each."""
    awaited: bool = False
    """True if a call waits for it in its midst."""
    outcome: str = ""
    by: str = ""

    @classmethod
    def of(cls, event: InputRequested, agent: Agent) -> RequestItem:
        """The request as it is asked."""
        shown = event.shown_arguments
        return cls(
            key=f"request-{event.request}",
            request=event.request,
            asked=event,
            kind=event.request_kind,
            agent=agent,
            prompt=sanitize(event.prompt),
            options=tuple(map(sanitize, event.options)),
            tool=visible(event.tool),
            arguments=shown,
            replaced=tuple(each for each in read_arguments(event.arguments) if each not in shown),
            grants=event.grants,
            awaited=event.awaited,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeItem(_Item):
    """A notice of the gateway or terminal.

    `command` is its cause, `notice` the event of the gateway's own. News of a `request` mention
    people, and that of a file made has its `path` and `size`.
    """

    text: str
    level: NoticeLevel = "info"
    incident: str = ""
    command: str = ""
    notice: Notice | None = None
    request: str = ""
    mentions: tuple[str, ...] = ()
    path: str = ""
    size: int = 0

    @property
    def word(self) -> str:
        """Its kind as a line begins with it."""
        return "note" if self.level == "info" else self.level

    @property
    def log(self) -> str:
        """The place in the log with more of it, or ""."""
        return f" (parley log {self.incident})" if self.incident else ""

    @property
    def told(self) -> str:
        """Its text for people who are not the operator."""
        return self.notice.text if self.notice else self.text


Item: TypeAlias = (
    HumanItem | AgentItem | ThoughtItem | ToolItem | HandoffItem | RequestItem | NoticeItem
)
"""Items that stand in a transcript."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnItem(_Item):
    """A turn; its `outcome` is empty until it ends or waits.

    `asker` and `asked_at` are those of the event that began it, `told` says that its `reason` was
    told already.
    """

    messages: tuple[HumanText, ...] = ()
    asker: str = ""
    asked_at: float = 0.0
    began_at: float = 0.0
    resumed: bool = False
    outcome: TurnOutcome | Literal[""] = ""
    reason: str = ""
    ended_at: float = 0.0
    told: bool = False

    @property
    def early(self) -> bool:
        """It did not reach its end, nor a question."""
        return self.outcome in ("failed", "stopped", "interrupted")


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeakerItem(_Item):
    """An agent is on turn, with its model or ""."""

    agent: Agent
    model: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitItem(_Item):
    """A model's silence or a held turn, until it is `over`."""

    text: str
    seconds: float = 0.0
    over: bool = False


News: TypeAlias = Item | TurnItem | SpeakerItem | WaitItem
"""All that an event can tell of: items, and what passes."""
