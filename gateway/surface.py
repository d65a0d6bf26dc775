"""The contract between the gateway and a text surface.

A text surface is a chat platform that shows a thread as messages, which are posted once and edited
while they grow.

    async with host.delivering(surface): ...            # an AdapterHost

The gateway decides what should stand where (`Part`), remembers what does, and calls `post` and
`edit`. A surface says in its own payload what a part says, paces its calls, and turns its
platform's errors into those below. What it can do besides posting are small protocols: a capability
exists when its method exists.
"""

from __future__ import annotations

from dataclasses import field
from functools import cache
from math import isnan
from typing import (
    ClassVar,
    Literal,
    Protocol,
    TypeAlias,
    TypeVar,
    cast,
    runtime_checkable,
)

from typing_extensions import TypeIs

from gateway.conversation import ConversationKey
from gateway.errors import GatewayError
from gateway.events import InputRequested, NoticeLevel
from gateway.faces import NO_FACES, TeamFaces
from gateway.values import value

Use: TypeAlias = Literal["post", "edit", "final", "card"]
"""Purpose of a call: a new message, a further piece of it, its last state, a question to people."""

ActivityStatus: TypeAlias = Literal["running", "done", "failed", "unknown", "stopped"]
BusyState: TypeAlias = Literal["working", "silent", "waiting", "idle"]
"""State of a team: at work, at work with a model that says nothing, waiting for people, at rest."""
AT_WORK: tuple[BusyState, ...] = ("working", "silent")

Progress: TypeAlias = Literal["seen", "working", "done", "off"]
"""Mark on what a person wrote; `off` is none."""


Obstacle: TypeAlias = Literal["archived", "absent", "locked", "forbidden"]
"""Why nothing can be written at a place, as far as people can do something about it.

The channel or thread is archived; the bot has no access to it; the thread is locked; the bot may
not write there.
"""


MODERATED = "The automatic moderation of this place refused it."
"""Text of a CallRejected that people are to be told."""


LONGEST_WAIT = 3600.0
"""Seconds for which a platform is left alone at most, whatever its answer asks."""


def seconds_told(told: object, otherwise: float) -> float:
    """The seconds that an answer asks to wait, within reason.

    A header that a broken or hostile machine has made silences nobody for ever.
    """
    try:
        seconds = float(cast("str", told))
    except (TypeError, ValueError, OverflowError):
        return otherwise
    return otherwise if isnan(seconds) else min(max(seconds, 0.0), LONGEST_WAIT)


class RateLimited(GatewayError):
    """The platform refused it for now.

    `retry_after` is in seconds.
    """

    told: ClassVar[str] = "The platform asks to wait for {:g} s."

    def __init__(self, retry_after: float) -> None:
        super().__init__(self.told.format(retry_after))
        self.retry_after = retry_after


class OwnPace(RateLimited):
    """The platform was not asked: its known rate has no room."""

    told = "It waits {:g} s for its turn, within the platform's rate."


class CallRejected(GatewayError):
    """The platform refused it for good; the text says why.

    `gone`: nothing can be written at this place any more (archived, deleted, not permitted), and
    `obstacle` is what people there can be told about that.
    """

    def __init__(self, why: str, *, gone: bool = False, obstacle: Obstacle | None = None) -> None:
        super().__init__(why)
        self.gone = gone
        self.obstacle: Obstacle | None = obstacle


class PlatformUnreachable(GatewayError):
    """The platform could not be reached, or failed.

    A further try may help.
    """


class OutcomeUnknown(GatewayError):
    """Nobody knows whether the platform took it.

    Look it up before it is sent again.
    """


class MessageFull(GatewayError):
    """The message takes no more text and shows `shown`.

    What follows needs a new message.
    """

    def __init__(self, shown: str) -> None:
        super().__init__("The message takes no further text.")
        self.shown = shown


class MessageGone(GatewayError):
    """The message that was to be edited can't be edited any more.

    `deleted`: a person deleted it, so it is not to be shown again.
    """

    def __init__(self, why: str, *, deleted: bool = False) -> None:
        super().__init__(why)
        self.deleted = deleted


@value
class Place:
    """Place of a thread's messages.

    `asker` is the person whose message the team works on (Author.id), `agent` who is on turn.
    """

    key: ConversationKey
    thread: str
    asker: str = ""
    agent: str = field(default="", compare=False)
    faces: TeamFaces = field(default=NO_FACES, compare=False, repr=False)
    """The faces of the thread's agents."""


@value
class Activity:
    """A tool call or a hand-off, in one line.

    `after`: behind what the agent says.
    """

    id: str
    kind: Literal["tool", "handoff"]
    title: str
    status: ActivityStatus = "done"
    detail: str = ""
    after: bool = False


@value
class Speech:
    """A piece of an agent's text, neutral already; it fits one message.

    While it grows it only gets longer, unless it is said anew: a fence that is open stays open, and
    `gateway.render.split.closed` ends it for platforms that need it ended. `activity` comes before
    the text, hand-offs after it.

    `first`: the agent's message begins here, so its name belongs to it. `last`: nothing of it
    follows in another message. `growing`: more may come. `resuming`: an interruption has cut it
    off, and it will be said anew. `mark`: the line below it on how it ended, if not by itself.
    """

    agent: str
    text: str
    activity: tuple[Activity, ...] = ()
    first: bool = True
    last: bool = True
    growing: bool = False
    resuming: bool = False
    mark: str = ""
    written: int = 0
    """Characters of the whole text while it grows beyond what is shown of it; 0 otherwise."""
    rest_in: str = ""
    """Name of the file below that has the whole text, if messages show only its beginning."""


@value
class Card:
    """A question to people, with its buttons while it is open.

    `mentions` are the people (Author.id) who may answer. `away`: it stands in another place than
    the thread and shows nothing of the conversation; `link` leads there.
    """

    request: InputRequested
    outcome: str = ""
    """Its outcome; "" while it is open."""
    by: str = ""
    mentions: tuple[str, ...] = ()
    away: bool = False
    link: str = ""

    def ending(self, outcome: str, by: str) -> str:
        """The outcome in words; both are given as the platform writes them."""
        verdict, colon, note = outcome.partition(":")
        if by and self.request.request_kind != "approval":
            return f"{by} answered: {outcome}"
        first = outcome[:1].upper()
        if by and " by " not in verdict:
            return f"{first}{verdict[1:]} by {by}{colon}{note}"
        return first + outcome[1:]


@value
class Line:
    """A line of the gateway's own, neutral already.

    `command` is what can be done about it, as something to type, with `label` for a button, and so
    are `others`. `mentions` are the people whom it is for (Author.id).
    """

    text: str
    level: NoticeLevel = "info"
    command: str = ""
    label: str = ""
    mentions: tuple[str, ...] = ()
    others: tuple[tuple[str, str], ...] = ()

    @property
    def offers(self) -> tuple[tuple[str, str], ...]:
        """All commands about it, with their labels."""
        if not self.command:
            return ()
        return (self.command, self.label or self.command), *self.others


@value
class File:
    """A file for people."""

    name: str
    data: bytes = field(repr=False)


@value
class Document:
    """Files of an agent's in one message, or a long text.

    They are at most 10, and together at most `TextLimits.file` bytes.
    """

    files: tuple[File, ...]
    text: str = ""
    """The sentence about them, neutral already."""
    agent: str = ""
    """Whose they are, as far as is known."""


Content: TypeAlias = Speech | Card | Line | Document


@value
class Part:
    """One message of a platform as it should stand.

    `key` is the same at every try, unique for ever, and at most 25 characters long. `unsure`: an
    earlier try may have arrived, too, and people are to be told so.
    """

    key: str
    content: Content
    unsure: bool = False


@value
class TextLimits:
    """Limits of one message, in characters as `TextSurface.length` counts.

    A text that needs more than `messages` messages or `whole` characters is shown as its beginning
    with a file of all of it.
    """

    message: int
    messages: int = 3
    whole: int = 30_000
    file: int = 10_000_000
    """Bytes of the files of one message."""
    tells_length: bool = False
    """A text that grows beyond this says how long it is by now (`Speech.written`)."""
    edit_within: float | None = None
    """Seconds after which a message is followed up by a new one rather than edited; cards are
    edited at any age.
    """


class TextSurface(Protocol):
    """A platform as the gateway writes to it.

    `post` and `edit` may raise RateLimited, CallRejected, PlatformUnreachable, OutcomeUnknown and
    AuthError, `edit` also MessageFull and MessageGone. They bound their own time, and they
    never try again on their own where that could show something twice.
    """

    @property
    def platform(self) -> str:
        """The account's name in [adapters], as in its conversations' keys."""
        ...

    @property
    def people(self) -> str:
        """The account's name in [adapters], which keys have."""
        ...

    @property
    def limits(self) -> TextLimits:
        """Limits of one message."""
        ...

    def neutral(self, text: str) -> str:
        """An agent's text without pings and hidden links.

        Pure; for any prefix of a text that grows.
        """
        ...

    def length(self, text: str) -> int:
        """Length of a neutral text as the platform counts it.

        It is never less than the platform's count, nor than the number of characters.
        """
        ...

    async def post(self, place: Place, part: Part) -> str:
        """Write a new message; its id."""
        ...


S = TypeVar("S")


def offers(surface: object, capability: type[S]) -> TypeIs[S]:
    """True if the surface has the capability's methods; a faster `isinstance`."""
    return all(hasattr(surface, name) for name in _methods(capability))


@cache
def _methods(capability: type) -> tuple[str, ...]:
    return tuple(name for name in vars(capability) if not name.startswith("_"))


@runtime_checkable
class EditSurface(Protocol):
    """A surface whose messages can be changed."""

    async def edit(self, place: Place, message: str, part: Part) -> None:
        """Let a message that `post` made say this instead."""
        ...


@runtime_checkable
class RootSurface(Protocol):
    """A surface whose conversations do not all hang on channel messages.

    A place whose key is `forked` is that of a fork which is about to begin there; others are given
    the channel itself.
    """

    async def root(self, place: Place, message: str) -> str:
        """The root of the fork that begins with this message."""
        ...


@runtime_checkable
class RoomSurface(Protocol):
    """A surface that tells how much text a message has room for."""

    def room(self, speech: Speech) -> int:
        """Characters of text beside all else of this speech."""
        ...


@runtime_checkable
class RenderingSurface(Protocol):
    """A surface that can tell what people see of a part."""

    def rendered(self, part: Part) -> object:
        """A part as people would see it. Pure.

        Nothing is edited into what looks the same.
        """
        ...


@runtime_checkable
class RemovalSurface(Protocol):
    """A surface whose messages can be taken away."""

    async def remove(self, place: Place, message: str) -> None:
        """Remove a message that `post` made.

        It raises what `edit` does; MessageGone says that it is not there any more.
        """
        ...


@runtime_checkable
class LookupSurface(Protocol):
    """A surface that can tell whether something was posted."""

    async def find(self, place: Place, key: str, since: float, *, speech: bool) -> str | None:
        """The id of the message with this key; None without one.

        It was posted at or after a time (seconds since the epoch). `speech`: it shows a Speech;
        where keys are not on every message, nothing else is told by what it looks like.

        Raises OutcomeUnknown where that can't be known (any more).
        """
        ...


@runtime_checkable
class PacedSurface(Protocol):
    """A surface whose calls are scarce."""

    async def ready(self, place: Place, use: Use) -> None:
        """Wait for permission to call, in fairness to other threads and people.

        What is to be said is read after that, so it is the newest.
        """
        ...

    def limit(self, use: Use) -> str:
        """Name of the limit that such a call waits for."""
        ...


@runtime_checkable
class OpeningSurface(Protocol):
    """A surface that begins no message with half a word or link."""

    def begins(self, place: Place, speech: Speech) -> bool:
        """True if a new message can begin with this text.

        If not, it is asked again with the next piece, for a second at most, or the whole is posted
        at the end.
        """
        ...

    def short_of_edits(self, place: Place) -> bool:
        """True while few edits are left: a text is better posted whole."""
        ...


@runtime_checkable
class BusySurface(Protocol):
    """A surface that can show that the team works."""

    async def busy(self, place: Place, state: BusyState) -> None:
        """Show the state: at least every 100 s, once at the end.

        Best effort: raises nothing but AuthError.
        """
        ...


@runtime_checkable
class MarkSurface(Protocol):
    """A surface that shows progress on people's messages."""

    def mark(self, place: Place, message: str, progress: Progress, at: float) -> None:
        """Mark a message there soon, as from `at` on.

        An `at` of 0 may be another process's. Best effort: it fails nothing.
        """
        ...


@runtime_checkable
class RenameSurface(Protocol):
    """A surface whose threads have titles."""

    async def rename(self, place: Place, title: str, *, given: bool = False) -> None:
        """Give the thread a title. Best effort, as `busy` is.

        One that was not `given` by a person comes from the first message, and need not replace
        another.
        """
        ...


@runtime_checkable
class DirectSurface(Protocol):
    """A surface that reaches people elsewhere than in their thread."""

    async def tell_asker(self, place: Place, obstacle: Obstacle) -> None:
        """Tell the asker directly why nothing can be written at the place.

        Once for each person and place, until that changes. Best effort, as `busy` is.
        """
        ...
