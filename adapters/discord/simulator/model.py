"""The model: people, guilds, channels, messages and interactions."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum, IntFlag
from typing import Final

from adapters.discord.simulator.errors import Json


class ChannelType(IntEnum):
    """The kinds of channels that hold messages or threads."""

    TEXT = 0
    DM = 1
    ANNOUNCEMENT = 5
    ANNOUNCEMENT_THREAD = 10
    PUBLIC_THREAD = 11
    PRIVATE_THREAD = 12
    FORUM = 15


class MessageType(IntEnum):
    """The kinds of messages that the simulator writes."""

    DEFAULT = 0
    CHANNEL_NAME_CHANGE = 4
    THREAD_CREATED = 18
    REPLY = 19
    CHAT_INPUT_COMMAND = 20
    THREAD_STARTER_MESSAGE = 21
    CONTEXT_MENU_COMMAND = 23


class MessageFlag(IntFlag):
    """Flags of a message."""

    SUPPRESS_EMBEDS = 1 << 2
    HAS_THREAD = 1 << 5
    EPHEMERAL = 1 << 6
    LOADING = 1 << 7
    SUPPRESS_NOTIFICATIONS = 1 << 12
    IS_COMPONENTS_V2 = 1 << 15
    HAS_SNAPSHOT = 1 << 14


THREADS: Final = frozenset(
    {ChannelType.ANNOUNCEMENT_THREAD, ChannelType.PUBLIC_THREAD, ChannelType.PRIVATE_THREAD}
)


@dataclass(slots=True, eq=False)
class User:
    """A person, or a bot. `reachable`: whether it takes direct messages."""

    id: int
    name: str
    bot: bool = False
    reachable: bool = True

    @property
    def mention(self) -> str:
        """The mention of the user in a message's text."""
        return f"<@{self.id}>"


@dataclass(slots=True, eq=False)
class Role:
    """A role of a guild; everybody's role has the guild's id."""

    id: int
    name: str
    permissions: int
    position: int = 0

    @property
    def mention(self) -> str:
        """The mention of the role in a message's text."""
        return f"<@&{self.id}>"


@dataclass(slots=True, eq=False)
class Member:
    """A user in a guild; a `guest` may use one voice channel."""

    user: User
    joined_at: float
    roles: list[Role] = field(default_factory=list[Role])
    nick: str | None = None
    guest: bool = False


@dataclass(slots=True, eq=False)
class Guild:
    """A server; `upload_limit` is a bot's largest file in bytes."""

    id: int
    name: str
    owner: User
    roles: dict[int, Role] = field(default_factory=dict[int, Role])
    members: dict[int, Member] = field(default_factory=dict[int, Member])
    upload_limit: int = 10 * 2**20

    @property
    def everyone(self) -> Role:
        """The role that everybody has."""
        return self.roles[self.id]


@dataclass(slots=True, eq=False)
class Overwrite:
    """Permissions that a channel grants and denies a role or member."""

    allow: int = 0
    deny: int = 0
    member: bool = False


@dataclass(slots=True, eq=False)
class Attachment:
    """A file on a message."""

    id: int
    filename: str
    content: bytes
    content_type: str = "application/octet-stream"
    description: str | None = None
    width: int | None = None
    height: int | None = None


@dataclass(slots=True, eq=False)
class Message:
    """A message; `pings` are notified users, `reactions` users by emoji."""

    id: int
    channel: Channel
    author: User
    content: str
    type: MessageType = MessageType.DEFAULT
    flags: int = 0
    embeds: list[Json] = field(default_factory=list[Json])
    components: list[Json] = field(default_factory=list[Json])
    attachments: list[Attachment] = field(default_factory=list[Attachment])
    pings: list[User] = field(default_factory=list[User])
    role_pings: list[Role] = field(default_factory=list[Role])
    everyone: bool = False
    replied: bool = False
    edited_at: float | None = None
    edits: int = 0
    nonce: int | str | None = None
    webhook_id: int | None = None
    webhook_avatar: str | None = None
    application: bool = False
    reference: Json | None = None
    referenced: Message | None = None
    snapshots: list[Json] = field(default_factory=list[Json])
    parts: Json = field(default_factory=dict[str, object])
    """Parts that other clients and apps give it: a poll, stickers, embeds of any type."""
    reactions: dict[str, list[User]] = field(default_factory=dict[str, list[User]])
    thread: Channel | None = None
    interaction: Interaction | None = None
    visible_to: User | None = None
    """For whose eyes alone it is; None: everybody's."""
    deleted: bool = False

    @property
    def ephemeral(self) -> bool:
        """True if only one person sees the message."""
        return bool(self.flags & MessageFlag.EPHEMERAL)


@dataclass(slots=True, eq=False)
class Channel:
    """A channel, a thread or a conversation between two."""

    id: int
    type: ChannelType
    name: str = ""
    guild: Guild | None = None
    parent: Channel | None = None
    owner: User | None = None
    topic: str | None = None
    recipients: list[User] = field(default_factory=list[User])
    overwrites: dict[int, Overwrite] = field(default_factory=dict[int, Overwrite])
    messages: dict[int, Message] = field(default_factory=dict[int, Message])
    members: dict[int, float] = field(default_factory=dict[int, float])
    """A thread's members, by id, with when they joined."""
    archived: bool = False
    locked: bool = False
    archived_at: float = 0.0
    auto_archive: int = 1440
    """After how many minutes without a message a thread is archived."""
    invitable: bool = True
    slowmode: int = 0
    sent: int = 0
    tags: list[Json] = field(default_factory=list[Json])
    applied_tags: list[str] = field(default_factory=list[str])
    position: int = 0
    deleted: bool = False
    active_at: float = 0.0

    @property
    def is_thread(self) -> bool:
        """True for a thread or a post in a forum."""
        return self.type in THREADS

    @property
    def private(self) -> bool:
        """True for a thread that only its members see."""
        return self.type is ChannelType.PRIVATE_THREAD

    @property
    def home(self) -> Channel:
        """The channel whose permissions hold here."""
        return self.parent or self

    @property
    def mention(self) -> str:
        """The link to the channel in a message's text."""
        return f"<#{self.id}>"


@dataclass(slots=True, eq=False)
class Webhook:
    """An identity that an application made for a channel."""

    id: int
    channel: Channel
    name: str
    token: str
    creator: User
    avatar: str | None = None


class InteractionType(IntEnum):
    """Kinds of interactions."""

    COMMAND = 2
    COMPONENT = 3
    AUTOCOMPLETE = 4
    MODAL = 5


@dataclass(slots=True, eq=False)
class Interaction:
    """One use of a command, button, select or modal, with its answer.

    `answered_after` is in seconds; `late`: the answer came when Discord had given up.
    """

    id: int
    token: str
    type: InteractionType
    user: User
    channel: Channel
    data: Json
    made_at: float
    message: Message | None = None
    command: str = ""
    answer: int | None = None
    answered_after: float | None = None
    late: bool = False
    response: Message | None = None
    """The answer's message, ephemeral or public; a deferred one once filled."""
    modal: Json | None = None
    choices: list[Json] | None = None
    followups: list[Message] = field(default_factory=list[Message])

    @property
    def acknowledged(self) -> bool:
        """True once the application has answered in time."""
        return self.answer is not None

    @property
    def thinking(self) -> bool:
        """True while the person sees that an answer will follow."""
        return bool(self.response and self.response.flags & MessageFlag.LOADING)
