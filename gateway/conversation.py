"""Conversations, people, and the messages they send."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, field, replace
from typing import Literal, Protocol, TypeAlias
from urllib.parse import quote, unquote

from gateway.interactions import RequestAnswer

LOCAL = "local"
"""The platform of conversations that live on the gateway alone: the terminal's and `parley run`'s.
"""

PlatformEvent: TypeAlias = Literal["create", "edit", "delete", "click"]
AuthorKind: TypeAlias = Literal["member", "guest", "external", "bot"]
EventKind: TypeAlias = Literal[
    "message", "edit", "delete", "command", "click", "modal", "reaction", "shortcut", "file", "stop"
]
"""Kinds of what the author did.

An "edit" carries `message_id` of the message that was edited, its whole new text and all the
attachments it has now, unless it `keeps_files`; a change that the author did not make (a link
preview, a pin, a thread's counter) is none. A "delete" carries `message_id` of what is gone and
neither text nor attachments.
Both are taken once under `key.dedupe("edit", message_id, at)` with the time of the edit, and
`key.dedupe("delete", message_id)`. `author` is who edited or deleted; `Author(id="")` where the
platform does not say who deleted. `key` is the conversation in which the message stood. Of a
message that the gateway never took nothing is stored or answered, so an adapter may pass on every
edit and deletion in the threads it is in.
"""
AWAITED_SECONDS = 90.0
"""Seconds that a message's turn waits for files that are still being fetched."""
QuoteKind: TypeAlias = Literal[
    "quote", "root", "history", "forward", "card", "file", "link", "result"
]


FORK = "fork-"
"""Beginning of a root that is no message yet."""
_PLAIN = re.compile(r"[\w.~/-]*", re.ASCII)
"""Parts that have nothing in them that needs to be quoted."""


def _joined(*parts: str) -> str:
    text = "/".join(parts)
    if _PLAIN.fullmatch(text) and text.count("/") == len(parts) - 1:
        return text
    return "/".join(quote(part, safe="") for part in parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationKey:
    """The identity of a conversation; its text form never changes between releases.

    `platform` is the account's name in [adapters]: the platform's own, or another where there are
    several. `root` is the message or thread that the conversation hangs on, `user` is set where a
    route gives each person a conversation of their own.
    """

    platform: str
    workspace: str = ""
    channel: str = ""
    root: str = ""
    user: str = ""

    def __str__(self) -> str:
        return _joined(self.platform, self.workspace, self.channel, self.root, self.user)

    @classmethod
    def parse(cls, text: str) -> ConversationKey:
        """The inverse of `str`. Raises ValueError for anything else."""
        parts = text.split("/")
        platform, workspace, channel, root, user = map(unquote, parts) if "%" in text else parts
        return cls(platform=platform, workspace=workspace, channel=channel, root=root, user=user)

    @classmethod
    def local(cls, thread: str) -> ConversationKey:
        """The key of a thread that lives on the gateway alone."""
        return cls(platform=LOCAL, root=thread)

    @property
    def place(self) -> str:
        """The platform and its workspace, as one name."""
        return f"{self.platform}:{self.workspace}" if self.workspace else self.platform

    def fork(self, thread: str) -> ConversationKey:
        """The key of a fork, until its first message is there.

        It is like no other: nobody can write there yet.
        """
        return replace(self, root=f"{FORK}{thread}-{self.root}")

    @property
    def forked(self) -> str:
        """The origin's root in such a key; "" in others."""
        return self.root.removeprefix(FORK).partition("-")[2] if self.root.startswith(FORK) else ""

    @property
    def is_local(self) -> bool:
        """True if no platform knows the conversation."""
        return self.platform == LOCAL

    def dedupe(self, event: PlatformEvent, message_id: str, at: str = "") -> str:
        """The key under which a platform event is taken once.

        However often it arrives, and by whatever way.

        `at` tells the edits of one message apart.
        """
        return _joined(self.platform, self.workspace, self.channel, event, message_id, at)


def order_key(mark: str) -> str:
    """A platform's ordering mark as text that sorts as the marks do.

    Slack's ts, Discord's snowflake.

    Raises ValueError for what is not a decimal number.
    """
    whole, _, fraction = mark.partition(".")
    if not (whole.isascii() and whole.isdigit() and (not fraction or fraction.isdigit())):
        raise ValueError(f"an order mark must be a decimal number, not {mark!r}")
    return f"{whole:0>20}.{fraction}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A channel as people know it, kept under `place_mark`.

    `name` is as the platform writes it, such as "#general"; `members` how many read it, None where
    the platform does not tell; only the person and the bot read a `direct` one.
    """

    name: str = ""
    members: int | None = None
    direct: bool = False

    def dump(self) -> str:
        """The place as JSON."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def load(cls, text: str) -> Place:
        """The inverse of `dump`."""
        return cls(**json.loads(text))


def place_mark(key: ConversationKey) -> str:
    """The name of the mark that an adapter keeps about a channel."""
    return f"place:{quote(key.workspace, safe='')}/{quote(key.channel, safe='')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryLimit:
    """Limit of a conversation's history on its platform.

    What is not behind `order_key` was deleted, what was said before `since`, in seconds since the
    epoch, is older than anything that is kept.
    """

    order_key: str = ""
    since: float = 0.0

    def allows(self, order_key: str, at: float) -> bool:
        """True for a message of this order key and time."""
        return order_key > self.order_key and at >= self.since


@dataclass(frozen=True, slots=True, kw_only=True)
class Author:
    """A person, or another bot.

    `id` begins with the platform, as `slack:T1:U1`, whichever account they write to; `timezone` is
    an IANA name.

    `kind` and `groups`, the ids of their roles and user groups, are the platform's word and decide
    what they may do. Where the conversation has no workspace, `workspaces` are those in which they
    count as this kind. `aliases` are further ids of a bot, by which a route may name it.
    """

    id: str
    name: str = ""
    timezone: str = ""
    kind: AuthorKind = "member"
    groups: frozenset[str] = frozenset()
    workspaces: frozenset[str] = frozenset()
    aliases: frozenset[str] = frozenset()


LOCAL_OPERATOR = Author(id=f"{LOCAL}:operator", name="operator")
"""Whoever may open the store's folder: the person at the terminal, whom the config may name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """A file that came with a message.

    `data` may be left out where the platform says that the file is larger than the `largest_file`
    of an adapter's policy: then `left_out` is its size in bytes. Of a document that the gateway has
    read, `data` is the text and `left_out` the size of the document.
    """

    name: str
    media_type: str
    data: bytes = field(repr=False)
    left_out: int = 0

    @property
    def size(self) -> int:
        """Its bytes."""
        return self.left_out or len(self.data)


@dataclass(frozen=True, slots=True, kw_only=True)
class AwaitedFile:
    """A file that its adapter fetches once the message is stored.

    `size` is in bytes, 0 where the platform does not say it; `ref` is what it is fetched by,
    without any secret.
    """

    name: str
    media_type: str
    size: int = 0
    ref: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageAwaitingFiles:
    """A message whose turn waits for files that its adapter fetches."""

    inbox: int
    key: ConversationKey
    files: tuple[AwaitedFile, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentMessage:
    """A message that a platform may have changed since.

    Which one, where it was said, and its link.
    """

    key: ConversationKey
    message_id: str
    link: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingFile:
    """A message's file that the team does not get, and why.

    `part`: it is no file but another part that can't be read, and `name` says what it is.
    """

    name: str
    why: str = ""
    part: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """Foreign text that came with a message: data, to the model.

    `author` is who wrote it as far as is known, `verified` that the platform says so and that they
    may write to the team themselves.
    """

    text: str
    author: str = ""
    verified: bool = False
    kind: QuoteKind = "quote"


class Ruling(Protocol):
    """A gateway's ruling on a message's author; `AdapterHost.judge` attaches it."""

    @property
    def may_write(self) -> bool:
        """True if its author may write there."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class InboundMessage:
    """A person's message, parsed by an adapter and addressed to the team.

    It is taken once for all of its `dedupe` keys. `thread` is given by surfaces that know the
    gateway's own id and wins over `key`. `reply_to` is the request, or the platform message, that
    it replies to, `message_id` the platform's id of the message itself; by it an edit or a deletion
    is known to be of this message. `team` is for a conversation that has none yet; "" is the
    route's, or else the default team. `event` is what the author did, `direct` says that nobody
    else can read there. The turn of a message with `awaited` files waits for Gateway.bring_files,
    for AWAITED_SECONDS at most; its `missing` files are named to team and author. An edit that
    `keeps_files` leaves those of its message as they are; the `awaited` files of an edit are those
    that its message still has, and are not fetched again.
    `missed` says that it was written while Parley was away: the next such messages of its author
    that wait with it are taken by the same turn. `mentioned` says that it calls the bot by name, so
    that it is answered in a muted thread, too. One that `opens_with_mention` begins with the name
    of a person or group of the platform, which is no agent's. One that `only_answers` is for
    somebody else: it counts as the answer to a question of the team, or not at all. `ruling` is a
    gateway's: one that another made, or for another author or place, counts nothing. `title` names
    a thread that begins with it; "" is the beginning of its text. `at` is when it was said or done,
    in the platform's seconds since the epoch, or when somebody asked for its answer; 0 is now.
    """

    key: ConversationKey
    author: Author
    event: EventKind = "message"
    direct: bool = False
    text: str = ""
    dedupe: tuple[str, ...] = ()
    thread: str = ""
    message_id: str = ""
    order_key: str = ""
    reply_to: str = ""
    link: str = ""
    team: str = ""
    title: str = ""
    attachments: tuple[Attachment, ...] = ()
    awaited: tuple[AwaitedFile, ...] = ()
    missing: tuple[MissingFile, ...] = ()
    keeps_files: bool = False
    quotes: tuple[Quote, ...] = ()
    click: RequestAnswer | None = None
    missed: bool = False
    mentioned: bool = False
    opens_with_mention: bool = False
    only_answers: bool = False
    at: float = 0.0
    ruling: Ruling | None = field(default=None, repr=False, compare=False)

    @property
    def may_write(self) -> bool:
        """True once a gateway has ruled that its author may write there."""
        return self.ruling is not None and self.ruling.may_write
