"""Session events: everything that a surface learns about a thread.

A closed union of frozen values. Each stored event has a `seq` of its thread (1, 2 ...): a surface
goes on after the last one that it saw. `TextDelta` alone is not stored (`seq` 0): a replay gives
the text so far as one. All text is raw; a surface neutralises it for its own medium.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias, get_args

from pydantic import AliasChoices, BeforeValidator, ConfigDict, Field, TypeAdapter

from gateway.render.arguments import Argument, folder_text, read_call
from gateway.render.sanitize import sanitize
from gateway.values import ArgumentDiff, Folders, value

RequestKind: TypeAlias = Literal["text", "choice", "choices", "approval"]
GrantKind: TypeAlias = Literal["approve_same", "approve_below", "approve_always", "approve_new"]
"""Approvals for the rest of a thread, or of the tool's new text."""
NoticeLevel: TypeAlias = Literal["info", "warning", "error"]
ApprovalName: TypeAlias = Literal["", "ask", "accept edits", "plan"]
ASK, EDITS, PLAN = get_args(ApprovalName)[1:]
"""Modes of approval of a thread, in the order in which a key walks them."""
TurnOutcome: TypeAlias = Literal["done", "waiting", "stopped", "failed", "interrupted"]
HoldLimit: TypeAlias = Literal[
    "parallel_turns",
    "person_parallel_turns",
    "person_turns",
    "team_parallel_turns",
    "workspace_parallel_turns",
    "collect_seconds",
    "files",
]
"""Limits that can hold a turn: settings of [limits], and files."""


@value
class HumanText:
    """One message of a person, as it became part of a turn.

    `inbox` is its number in the thread's inbox, `again` that of the message which it repeats as it
    was edited, 0 for others; `files` are the names of those that came with it.
    """

    inbox: int
    author: str
    text: str
    author_id: str = ""
    """Empty in what earlier versions stored."""
    again: int = 0
    files: tuple[str, ...] = ()


def grant_word(kind: GrantKind) -> str:
    """The word for such an approval."""
    return kind.removeprefix("approve_")


GRANT_WORDS: Mapping[str, GrantKind] = {grant_word(kind): kind for kind in get_args(GrantKind)}
"""The same by their words, in commands and on buttons."""


@value
class _Event:
    thread: str
    seq: int = 0
    at: float = 0.0
    """Seconds since the epoch."""
    turn: str = ""
    """Id of the turn; empty for what happens outside of one."""


@value
class MessageQueued(_Event):
    """A message waits behind the running turn, and can be withdrawn.

    The same again, with the same number, for one that its author has edited meanwhile.
    """

    kind: Literal["message_queued"] = "message_queued"
    message: HumanText


@value
class MessageWithdrawn(_Event):
    """A waiting message was taken back, or could not be begun."""

    kind: Literal["message_withdrawn"] = "message_withdrawn"
    inbox: int


@value
class MessageJoined(_Event):
    """A message joined the running turn, before the team's next step."""

    kind: Literal["message_joined"] = "message_joined"
    message: HumanText


@value
class TurnStarted(_Event):
    """The team begins to work on these messages.

    There are none when it goes on after an answer or an interruption.
    """

    kind: Literal["turn_started"] = "turn_started"
    messages: tuple[HumanText, ...] = ()
    resumed: bool = False
    asker: str = ""
    """Whose message it works on (Author.id)."""
    asked_at: float = 0.0
    """When that was taken, in seconds since the epoch."""


@value
class SpeakerStarted(_Event):
    """An agent is on turn.

    `model` names the model it runs on ("" for none).
    """

    kind: Literal["speaker_started"] = "speaker_started"
    agent: str
    model: str = ""


@value
class TextDelta(_Event):
    """Text to append to the open message `message`.

    With `replace`, it replaces the text. A `thought` is quoted, and gives way to the text.
    """

    kind: Literal["text_delta"] = "text_delta"
    agent: str
    message: str
    text: str
    replace: bool = False
    thought: bool = False


Ending: TypeAlias = Literal["", "broken", "cut", "filtered", "refused"]
"""The way a message ended: by itself, or not as its agent meant it to."""

BROKE_OFF = "(It broke off here.)"
MARKS: Mapping[Ending, str] = {
    "": "",
    "broken": BROKE_OFF,
    "cut": "(It was cut off here, at the token limit.)",
    "filtered": "(The provider's filter withheld the rest.)",
    "refused": "(The model refused to say more.)",
}
"""The mark of a message by its ending, for people and models."""


CONTINUE, COMPACT = "/continue", "/compact"
"""The commands that begin a turn: an agent goes on with a cut answer; all summarise."""
RETRY = "/retry"
FORK = "/fork"
"""The command that has forked a thread, as it is stored."""
COMPACT_FAILED = f"{RETRY} {COMPACT}"
"""COMPACT in a turn that has failed, and does nothing else."""


ASIDE = "/aside"
"""The command about what was set aside, as too long for a model."""
AsideKind: TypeAlias = Literal["", "message", "result"]
AsideWay: TypeAlias = Literal["summarise", "attach", "drop"]
"""The choices of the people about it."""


ASIDE_OVER = f"{ASIDE} summarise"
"""The first of the commands, by which notices that offer them are withdrawn."""
ASIDE_LABELS: Mapping[AsideWay, str] = {
    "summarise": "Summarise it",
    "attach": "Attach as a file",
    "drop": "Drop it",
}


def _ending(told: object) -> object:
    """An ending, also as earlier versions stored it."""
    return {True: "broken", False: ""}[told] if isinstance(told, bool) else told


@value
class MessageFinished(_Event):
    """An agent's message is complete.

    `text` is what people see of it and wins over the deltas; `hidden` is the rest, a word for the
    team. One that is "broken" broke off there, with its turn: only another attempt at that turn may
    finish it again. One that is "cut" reached the limit of tokens.
    """

    kind: Literal["message_finished"] = "message_finished"
    agent: str
    message: str
    text: str
    hidden: str = ""
    ending: Annotated[
        Ending,
        BeforeValidator(_ending),
        Field(validation_alias=AliasChoices("ending", "broken")),
    ] = ""

    @property
    def broken(self) -> bool:
        """It broke off, with its turn."""
        return self.ending == "broken"


@value
class Thought(_Event):
    """Reasoning a model showed; surfaces fold it."""

    kind: Literal["thought"] = "thought"
    agent: str
    text: str


@value
class ToolStarted(_Event):
    """A tool call is about to run (or to be judged).

    `call` is its key, unique for ever.
    """

    kind: Literal["tool_started"] = "tool_started"
    agent: str
    call: str
    tool: str
    arguments: str
    """JSON text as the model wrote it."""
    asks: bool = False
    """It only asks people: they see its question, not the call."""


@value
class ToolFinished(_Event):
    """A tool call ended.

    `unknown` says that a crash hid its outcome, `stopped` that the turn was stopped; `duration` is
    in seconds, 0 for a call that did not run.
    """

    kind: Literal["tool_finished"] = "tool_finished"
    agent: str
    call: str
    tool: str
    result: str
    failed: bool = False
    unknown: bool = False
    stopped: bool = False
    duration: float = 0.0
    asks: bool = False
    """As in ToolStarted."""


@value
class WorkHandedOff(_Event):
    """One agent passed the work to another, or `to_people`.

    In that case the next message is the answer.
    """

    kind: Literal["handed_off"] = "handed_off"
    agent: str
    target: str
    text: str = ""
    to_people: bool = False


READERS = {
    "SelectorGroupChatManager": "the selector",
    "MagenticOneOrchestrator": "the orchestrator",
}
"""Words for who reads a conversation and is no agent."""


@value
class ContextSummarised(_Event):
    """A summary took the place of older messages in an agent's context.

    `covered` is their number, from the first one. `left_out`: the newly covered have no summary.
    """

    kind: Literal["context_summarised"] = "context_summarised"
    agent: str
    covered: int
    left_out: bool = False

    @property
    def text(self) -> str:
        """The event in words."""
        what = (
            "1 earlier message is"
            if self.covered == 1
            else f"{self.covered:,} earlier messages are"
        )
        given = "left out of what" if self.left_out else "summarised in what"
        return f"{what} {given} {READERS.get(self.agent, self.agent)} reads."


@value
class Source:
    """A passage of knowledge, with its number in an agent's context.

    `name` is its file's, or the address of its page.
    """

    number: int
    name: str
    line: int

    @property
    def address(self) -> str:
        """The address of a page; empty for a file."""
        return self.name if self.name.startswith(("https://", "http://")) else ""


@value
class SourcesFound(_Event):
    """An agent was told passages; its answer may cite their numbers."""

    kind: Literal["sources_found"] = "sources_found"
    agent: str
    sources: tuple[Source, ...]


@value
class InputRequested(_Event):
    """The team waits for a human.

    `options` are for a choice, or for several; `tool` and `arguments` are for an approval, and
    `always`, which says whether it may be given for the rest of the thread, for arguments `below`
    these folders if there are any. `diff` is what they change, or how the tool has, if that is
    `changed`. `quorum` people have to approve. `may_answer` are the people who may (Author.id), as
    far as they are known by name. It is open until `expires_at`, in seconds since the epoch, if
    that is given. If `awaited`,
    a call waits for it in its midst, and the turn goes on meanwhile.
    """

    kind: Literal["input_requested"] = "input_requested"
    request: str
    request_kind: RequestKind
    agent: str
    prompt: str
    options: tuple[str, ...] = ()
    tool: str = ""
    arguments: str = ""
    call: str = ""
    always: bool = True
    below: Folders = ()
    diff: ArgumentDiff | None = None
    changed: bool = False
    quorum: int = 1
    may_answer: tuple[str, ...] = ()
    expires_at: float | None = None
    awaited: bool = False

    @property
    def shown_arguments(self) -> tuple[Argument, ...]:
        """The arguments for people, some as the change they make."""
        return read_call(self.arguments, self.diff, tool=self.tool)

    @property
    def grants(self) -> tuple[tuple[GrantKind, str], ...]:
        """Approvals of more than the call, with the words for each."""
        if self.changed:
            return (("approve_new", "Approve, and its new description"),)
        if not self.always or self.request_kind != "approval":
            return ()
        told: Mapping[GrantKind, str] = {
            "approve_same": "exactly these arguments",
            "approve_below": folder_text(self.below),
            "approve_always": "any arguments",
        }
        return tuple(each for each in told.items() if each[1])

    @property
    def reason(self) -> str:
        """Reason of an approval that the policy alone does not ask for."""
        return self.prompt.partition(f" wants to use {self.tool}.")[2].strip()

    @property
    def explanation(self) -> str:
        """The prompt of an approval, without asker and tool."""
        said = not self.tool or f" wants to use {self.tool}." not in self.prompt
        return self.prompt if said else self.reason


def grant_label(kind: GrantKind, told: str) -> str:
    """The words on the button of such an approval."""
    return told if kind == "approve_new" else f"For this thread: {told}"


@value
class InputSupported(_Event):
    """A person approved a request that needs several approvals.

    `approved` of `quorum` have by now.
    """

    kind: Literal["input_supported"] = "input_supported"
    request: str
    by: str
    approved: int
    quorum: int

    @property
    def text(self) -> str:
        """The event in words."""
        return f"{self.by or 'Somebody'} approved: {self.approved} of {self.quorum} approvals."


@value
class InputReminded(_Event):
    """A request has been open for long.

    `text` says so; `mentions` are the people who may answer (Author.id).
    """

    kind: Literal["input_reminded"] = "input_reminded"
    request: str
    text: str
    mentions: tuple[str, ...] = ()


@value
class InputResolved(_Event):
    """A request was answered, expired or closed.

    `outcome` is for people: "approved", "denied: too risky" ...
    """

    kind: Literal["input_resolved"] = "input_resolved"
    request: str
    outcome: str
    by: str = ""


@value
class ModelSilent(_Event):
    """A model has said nothing for some `seconds`, till it did (`over`)."""

    kind: Literal["model_silent"] = "model_silent"
    seconds: float
    over: bool = False

    @property
    def text(self) -> str:
        """The event in words."""
        was = "was" if self.over else "has been"
        return f"The model {was} silent for {_span(self.seconds)}."


def _span(seconds: float) -> str:
    return f"{seconds / 60:.0f} minutes" if seconds // 60 > 1 else f"{seconds:.0f} s"


@value
class TurnHeld(_Event):
    """A limit holds the next turn; `limit` "" ends that.

    `most` is the limit's number. It lasts `until` then, in seconds since the epoch, if that is
    known. The next one takes its place, and so does the turn.
    """

    kind: Literal["turn_held"] = "turn_held"
    limit: HoldLimit | Literal[""]
    most: int = 0
    until: float | None = None

    @property
    def text(self) -> str:
        """The event in words."""
        turns, are = (f"{self.most} turns", "are") if self.most > 1 else ("a turn", "is")
        span = _span(max(1.0, (self.until or 0.0) - self.at))
        match self.limit:
            case "":
                return ""
            case "person_turns":
                return f"The turn waits: you had {turns} within ten minutes. It begins in {span}."
            case "collect_seconds":
                return f"More messages may come. The turn begins in {span}."
            case "files":
                return f"The turn waits for files, for {span} at most."
            case _:
                running = f"{turns}{_WHOSE.get(self.limit, '')} {are} running"
                return f"The turn waits: {running}, which is the limit. It begins when one ends."


_WHOSE: Mapping[str, str] = {
    "person_parallel_turns": " of yours",
    "team_parallel_turns": " of this team",
    "workspace_parallel_turns": " of this workspace",
}
"""Whose turns a limit counts; else everybody's."""


@value
class Notice(_Event):
    """A line from the gateway itself.

    For errors, `incident` is the short id under which the log has the details, and `retry` says
    that the same message again may get an answer. `command` is what can be done about it, as
    something to type, and `label` names it in a few words, for a button. `over` is a command that
    earlier notices offered and that can do nothing any more. `for_operator` tells the operator more
    than `text`: an error in the provider's words, and the setting to change. Nobody else reads it.
    `aside` is the kind of what was set aside as too long for a model, that of `agent` if known.
    `approval` is the mode of approval that the thread has from now on. `person` (Author.id) is whom
    it is for, where that is one of many.
    """

    kind: Literal["notice"] = "notice"
    text: str
    level: NoticeLevel = "info"
    incident: str = ""
    retry: bool = False
    command: str = ""
    label: str = ""
    over: str = ""
    for_operator: str = ""
    aside: AsideKind = ""
    agent: str = ""
    approval: ApprovalName = ""
    person: str = ""

    @property
    def offers(self) -> tuple[tuple[str, str], ...]:
        """Commands about it, with their labels."""
        if self.aside:
            return tuple((f"{ASIDE} {way}", label) for way, label in ASIDE_LABELS.items())
        return ((self.command, self.label),) if self.command else ()


@value
class FileMade(_Event):
    """A new or changed file in the thread's own folder.

    `path` is relative to it, `size` is in bytes.
    """

    kind: Literal["file_made"] = "file_made"
    path: str
    size: int


@value
class Usage(_Event):
    """Tokens of one model answer, and their cost.

    None where the price is not known.
    """

    kind: Literal["usage"] = "usage"
    agent: str
    prompt_tokens: int
    completion_tokens: int
    cost: float | None = None


@value
class ContextFill:
    """Tokens that an agent's model is sent, and those of its window."""

    agent: str
    used: int
    window: int

    @property
    def percent(self) -> str:
        """The part of the window that is used."""
        return f"{self.used / self.window:.0%}".replace("%", " %")


@value
class TurnFinished(_Event):
    """The turn ended, or waits for a human answer (`waiting`).

    `reason` is for people, and `fill` tells of the agents' contexts, as far as known.
    """

    kind: Literal["turn_finished"] = "turn_finished"
    outcome: TurnOutcome
    reason: str = ""
    fill: tuple[ContextFill, ...] = ()


@value
class ThreadRenamed(_Event):
    """The thread has a new title.

    `given` by a person, or `made` by a model; otherwise it is taken from the first message.
    """

    kind: Literal["thread_renamed"] = "thread_renamed"
    title: str
    given: bool = False
    made: bool = False

    @property
    def is_kept(self) -> bool:
        """True if no model makes another one."""
        return self.given or self.made


SessionEvent: TypeAlias = (
    MessageQueued
    | MessageWithdrawn
    | MessageJoined
    | TurnStarted
    | SpeakerStarted
    | TextDelta
    | MessageFinished
    | Thought
    | ToolStarted
    | ToolFinished
    | WorkHandedOff
    | ContextSummarised
    | SourcesFound
    | InputRequested
    | InputSupported
    | InputReminded
    | InputResolved
    | ModelSilent
    | TurnHeld
    | Notice
    | FileMade
    | Usage
    | TurnFinished
    | ThreadRenamed
)


def shows_work(event: SessionEvent) -> bool:
    """True for what a team said, did, asked or made."""
    match event:
        case MessageFinished(text=text):
            return bool(sanitize(text).strip())
        case ToolStarted(asks=asks):
            return not asks
        case WorkHandedOff() | InputRequested() | FileMade():
            return True
        case _:
            return False


_ANY: TypeAdapter[SessionEvent] = TypeAdapter(
    Annotated[SessionEvent, Field(discriminator="kind")], config=ConfigDict(defer_build=True)
)
_EACH: dict[type[SessionEvent], TypeAdapter[Any]] = {}
"""By the type: who has an event in hand need not find out again which one it is."""


def dump_event(event: SessionEvent) -> bytes:
    """The event as one line of JSON."""
    adapter = _EACH.get(type(event))
    if adapter is None:
        adapter = _EACH[type(event)] = TypeAdapter(type(event))
    return adapter.dump_json(event)


def load_event(data: bytes | str) -> SessionEvent:
    """The inverse of `dump_event`. Raises pydantic.ValidationError on anything else."""
    return _ANY.validate_json(data)
