"""Values of parsed payloads: a closed union."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from gateway.adapter import IgnoredReason
from gateway.conversation import InboundMessage
from gateway.interactions import Interaction
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
    at_home: bool = False
    """It was done on the person's own page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Acted:
    """Somebody's use of a button, a form or the slash command.

    `trigger` opens a modal within 3 seconds, once.
    """

    draft: Draft
    does: Interaction
    trigger: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReactionTrigger:
    """A trigger emoji on a message that is known by its ts."""

    draft: Draft
    emoji: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeVisit:
    """A visit to one's direct conversation with the bot, or own page."""

    team: str
    channel: str
    user: str
    own_page: bool = False


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


@dataclass(frozen=True, slots=True)
class AccessGrant:
    """Workspaces in which an organisation lets the app work from now on."""

    teams: tuple[str, ...]
    enterprise: str


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
    | Acted
    | ReactionTrigger
    | HomeVisit
    | TitleChange
    | Uninstallation
    | AccessGrant
    | DeliveryGap
    | IgnoredPayload
)
