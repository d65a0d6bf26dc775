"""What Slack's payloads mean: a closed union of values, made by the pure parsers of
adapters.slack.inbound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from adapters.slack.inbound.modals import ModalPlace
from gateway.conversation import ConversationKey, InboundMessage, QuoteKind

FileHost: TypeAlias = Literal["slack", "elsewhere", "ask"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteFile:
    """A file as a message names it. `host`: it is said to lie on Slack's own host, or elsewhere, or
    only files.info can tell (files of another organisation). `size` is in bytes.
    """

    id: str
    name: str
    media_type: str = ""
    size: int = 0
    url: str = ""
    host: FileHost = "slack"
    width: int = 0
    height: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignMessage:
    """Text that somebody else wrote, in Slack's own form; `author` is a name, `user` an id. `sure`:
    it is Slack's word that this user wrote it, and nobody else's.
    """

    kind: QuoteKind
    text: str
    author: str = ""
    user: str = ""
    sure: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A message for the gateway, in which people and files are still ids.

    `user` is its author ("" where Slack does not say), `home` the workspace that they belong to
    (""), if Slack says so. One that is not `meant` was said in passing, and is for the team only if
    it is addressed to it. `called`: an edit has made it mention the bot. `response_url` takes
    answers for the author alone.
    """

    message: InboundMessage
    user: str
    home: str = ""
    bot: bool = False
    meant: bool = False
    mentioned: bool = False
    called: bool = False
    files: tuple[RemoteFile, ...] = ()
    foreign: tuple[ForeignMessage, ...] = ()
    response_url: str = ""

    @property
    def key(self) -> ConversationKey:
        """Where it was said."""
        return self.message.key

    @property
    def in_thread(self) -> bool:
        """Whether it was said in a thread that had begun before."""
        return self.key.root != self.message.message_id


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionChoice:
    """One of a request's options was chosen; its words are in the store."""

    draft: Draft
    request: str
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ModalOpening:
    """A button whose answer takes words. `trigger` opens a modal within 3 seconds, once."""

    place: ModalPlace
    trigger: str
    draft: Draft


@dataclass(frozen=True, slots=True, kw_only=True)
class ModalSubmit:
    """A modal was filled in."""

    draft: Draft


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRating:
    """A thumb was given to the part with this key, in the message `message`."""

    draft: Draft
    part: str
    good: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MissedRequest:
    """Somebody wants an answer to what was said in a thread after this ts."""

    draft: Draft
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SlashCommand:
    """The slash command, with what stands behind it; its draft has no thread yet."""

    draft: Draft
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReactionTrigger:
    """An emoji that is a trigger was put on a message, of which the draft knows only the ts."""

    draft: Draft
    emoji: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeVisit:
    """Somebody looks at their direct conversation with the bot."""

    team: str
    channel: str
    user: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TitleChange:
    """Somebody gave a conversation another title."""

    draft: Draft
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Uninstall:
    """A workspace has thrown the bot out, or taken its token back."""

    team: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryGap:
    """There were more events than Slack delivers: from this time on (seconds since the epoch), for
    a minute, it leaves those of a workspace out.
    """

    team: str
    since: float


@dataclass(frozen=True, slots=True)
class IgnoredPayload:
    """Nothing for the team; the reason is a word for the counters."""

    reason: str


Inbound: TypeAlias = (
    Draft
    | OptionChoice
    | ModalOpening
    | ModalSubmit
    | AnswerRating
    | MissedRequest
    | SlashCommand
    | ReactionTrigger
    | HomeVisit
    | TitleChange
    | Uninstall
    | DeliveryGap
    | IgnoredPayload
)
