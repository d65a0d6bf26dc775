"""Values of parsed payloads: a closed union."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from adapters.slack.inbound.modals import ModalPlace
from gateway.adapter import IgnoredReason
from gateway.conversation import InboundMessage
from gateway.visible import Pointed, VisibleContent

NOTHING = VisibleContent()


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A message with ids for people and files.

    `content` is all that it shows, `pointed` what of other messages comes with it. `user` is its
    author ("" where Slack does not say), `home` their workspace, if Slack says so. A draft that is
    not `meant` is for the team only if it is addressed to it. `in_thread`: its thread had begun
    before it. `mentioned`: it mentions the bot; `to_others`: it mentions other people, and not the
    bot. `recent`: an edit was made soon after its message. `response_url` takes answers for the
    author alone.
    """

    message: InboundMessage
    user: str
    home: str = ""
    bot: bool = False
    meant: bool = False
    in_thread: bool = False
    mentioned: bool = False
    to_others: bool = False
    recent: bool = False
    content: VisibleContent = NOTHING
    pointed: tuple[tuple[Pointed, VisibleContent], ...] = ()
    response_url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionChoice:
    """The choice of one of a request's options, by its number."""

    draft: Draft
    request: str
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ModalOpening:
    """A click on a button that opens a modal.

    `trigger` opens it within 3 seconds, once.
    """

    place: ModalPlace
    trigger: str
    draft: Draft


@dataclass(frozen=True, slots=True, kw_only=True)
class ModalSubmission:
    """A submitted modal."""

    draft: Draft


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRating:
    """A rating of the part with this key."""

    draft: Draft
    part: str
    good: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MissedRequest:
    """A request to answer a thread's messages after this ts."""

    draft: Draft
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SlashCommand:
    """The slash command and its text; its draft has no thread yet."""

    draft: Draft
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReactionTrigger:
    """A trigger emoji on a message that is known by its ts."""

    draft: Draft
    emoji: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeVisit:
    """A visit to one's direct conversation with the bot."""

    team: str
    channel: str
    user: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TitleChange:
    """A conversation's new title."""

    draft: Draft
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Uninstallation:
    """The removal of the app by a workspace, or of its token."""

    team: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryGap:
    """A minute, from `since`, of which Slack drops a workspace's events."""

    team: str
    since: float


@dataclass(frozen=True, slots=True)
class IgnoredPayload:
    """Nothing for the team; the reason is for the counters."""

    reason: IgnoredReason


Inbound: TypeAlias = (
    Draft
    | OptionChoice
    | ModalOpening
    | ModalSubmission
    | AnswerRating
    | MissedRequest
    | SlashCommand
    | ReactionTrigger
    | HomeVisit
    | TitleChange
    | Uninstallation
    | DeliveryGap
    | IgnoredPayload
)
