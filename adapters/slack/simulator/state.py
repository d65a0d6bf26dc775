"""Contents of a workspace: people, channels, messages, sessions, files and views."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Json: TypeAlias = dict[str, Any]
ChannelKind: TypeAlias = Literal["channel", "group", "im", "mpim"]
NOTE_LIFE = 120.0
PROCESSING_LIFE = 3600.0

StreamState: TypeAlias = Literal["streaming", "stopped", "stopped_by_user", "expired"]
SessionStatus: TypeAlias = Literal["processing", "active", "suspended", "closed"]


@dataclass(kw_only=True)
class User:
    """A person or a bot; `team` is their workspace."""

    id: str
    name: str
    team: str
    real_name: str = ""
    timezone: str = "Europe/Berlin"
    bot_id: str = ""
    app_id: str = ""
    guest: bool = False
    deleted: bool = False

    def json(self, seen_from: str) -> Json:
        """The user object; `seen_from` is the workspace that asks."""
        profile = {
            "real_name": self.real_name,
            "display_name": self.name,
            "real_name_normalized": self.real_name,
            "display_name_normalized": self.name,
            "team": self.team,
        }
        user: Json = {
            "id": self.id,
            "team_id": self.team,
            "name": self.name,
            "deleted": self.deleted,
            "real_name": self.real_name,
            "tz": self.timezone,
            "tz_label": self.timezone,
            "tz_offset": 3600,
            "profile": profile,
            "is_admin": False,
            "is_owner": False,
            "is_restricted": self.guest,
            "is_ultra_restricted": False,
            "is_bot": bool(self.bot_id),
            "is_app_user": False,
            "updated": 1_700_000_000,
        }
        if self.bot_id:
            profile |= {"bot_id": self.bot_id, "api_app_id": self.app_id}
        if self.team != seen_from:
            user["is_stranger"] = True
        return user


SLACKBOT = User(id="USLACKBOT", name="slackbot", team="", real_name="Slackbot")
"""The author of deletion notices, present in every workspace."""


@dataclass(kw_only=True)
class File:
    """An uploaded file; without `data` it lies with somebody else (`external`)."""

    id: str
    name: str
    user: str
    team: str
    mimetype: str
    data: bytes = b""
    url: str = ""
    title: str = ""
    external: bool = False
    complete: bool = True
    created: int = 0
    moved_to: str = ""
    """Where a download is redirected to; "" is nowhere."""
    facts: Json = field(default_factory=dict)
    """Fields of its kind alone, such as those of a canvas or a voice message."""

    def json(self) -> Json:
        """The file object."""
        kind = self.name.rpartition(".")[2].lower() if "." in self.name else "text"
        return {
            "id": self.id,
            "created": self.created,
            "timestamp": self.created,
            "name": self.name,
            "title": self.title or self.name,
            "mimetype": self.mimetype,
            "filetype": kind,
            "pretty_type": kind.upper(),
            "user": self.user,
            "user_team": self.team,
            "editable": False,
            "size": len(self.data),
            "mode": "external" if self.external else "hosted",
            "is_external": self.external,
            "external_type": "gdrive" if self.external else "",
            "is_public": True,
            "public_url_shared": False,
            "display_as_bot": False,
            "username": "",
            "channels": [],
            "groups": [],
            "ims": [],
            "url_private": self.url,
            "url_private_download": self.url if self.external else f"{self.url}?download=1",
            "media_display_type": "unknown",
            "is_starred": False,
            "has_rich_preview": False,
            "permalink_public": f"https://slack-files.com/{self.team}-{self.id}-simulated",
            "permalink": f"https://simulated.slack.com/files/{self.user}/{self.id}/{self.name}",
            "file_access": "visible",
        } | self.facts


@dataclass(kw_only=True)
class Stream:
    """A growing message; `pieces` are texts, blocks and ids of tasks."""

    mode: Literal["text", "chunks"]
    started: float
    display: str = "timeline"
    state: StreamState = "streaming"
    pieces: list[str | Json] = field(default_factory=list)
    tasks: dict[str, Json] = field(default_factory=dict)
    plan: str = ""
    closing: list[Json] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(piece for piece in self.pieces if isinstance(piece, str))

    def sent_blocks(self) -> list[Json]:
        """The blocks that were sent as chunks."""
        return [
            piece for piece in self.pieces if not isinstance(piece, str) and "task" not in piece
        ]

    def blocks(self) -> list[Json]:
        """The stream's content as blocks."""
        blocks: list[Json] = []
        if self.display == "plan" and self.tasks:
            plan = {"type": "plan", "title": self.plan or "Plan", "tasks": [*self.tasks.values()]}
            blocks.append(plan)
        for piece in self.pieces:
            if not isinstance(piece, str):
                if "task" not in piece:
                    blocks.append(piece)
                elif self.display != "plan":
                    blocks.append(self.tasks[piece["task"]])
            elif blocks and blocks[-1]["type"] == "markdown":
                blocks[-1]["text"] += piece
            else:
                blocks.append({"type": "markdown", "text": piece})
        return [*blocks, *self.closing]


@dataclass(kw_only=True)
class Message:
    """A message.

    `ephemeral` is who alone sees it; `hidden` says that it was deleted, `tombstone` that it was and
    that its replies are still there.
    """

    ts: str
    channel: str
    user: str
    team: str
    text: str = ""
    thread_ts: str = ""
    bot_id: str = ""
    app_id: str = ""
    username: str = ""
    icons: Json = field(default_factory=dict)
    blocks: list[Json] = field(default_factory=list)
    attachments: list[Json] = field(default_factory=list)
    files: list[File] = field(default_factory=list)
    subtype: str = ""
    client_msg_id: str = ""
    metadata: Json | None = None
    edited: Json | None = None
    reactions: dict[str, list[str]] = field(default_factory=dict)
    ephemeral: str = ""
    stream: Stream | None = None
    hidden: bool = False
    tombstone: bool = False

    def entomb(self) -> None:
        """Leave only what says that there was a message."""
        self.tombstone, self.subtype = True, "tombstone"
        self.user, self.text = SLACKBOT.id, "This message was deleted."
        self.bot_id = self.app_id = self.username = self.client_msg_id = ""
        self.blocks, self.attachments, self.files = [], [], []
        self.icons, self.reactions, self.metadata, self.edited = {}, {}, None, None
        self.stream = None

    @property
    def root(self) -> str:
        """The ts of its thread's root, its own if it is one."""
        return self.thread_ts or self.ts

    def json(self, *, metadata: bool = False) -> Json:
        """The message object, without its channel."""
        body: Json = {"type": "message", "user": self.user, "ts": self.ts, "text": self.text}
        optional: Json = {
            "subtype": self.subtype,
            "client_msg_id": self.client_msg_id,
            "team": self.team,
            "bot_id": self.bot_id,
            "app_id": self.app_id,
            "username": self.username,
            "icons": self.icons,
            "thread_ts": self.thread_ts,
            "blocks": self.blocks,
            "attachments": self.attachments,
            "files": [file.json() for file in self.files],
            "edited": self.edited,
        }
        body |= {name: value for name, value in optional.items() if value}
        if self.tombstone:
            body["hidden"] = True
        if self.stream is not None:
            running = self.stream.state == "streaming"
            body["streaming_state"] = "in_progress" if running else "completed"
        if self.reactions:
            body["reactions"] = [
                {"name": name, "users": users, "count": len(users)}
                for name, users in self.reactions.items()
            ]
        if metadata and self.metadata:
            body["metadata"] = self.metadata
        return body


@dataclass(kw_only=True)
class Channel:
    """A place of messages; `shared` are other workspaces that have it.

    `refusal` is the error of whatever the app writes there, `locked` are roots of locked threads.
    """

    id: str
    name: str
    team: str
    kind: ChannelKind = "channel"
    members: set[str] = field(default_factory=set)
    shared: set[str] = field(default_factory=set)
    archived: bool = False
    refusal: str = ""
    locked: set[str] = field(default_factory=set)
    created: int = 1_700_000_000
    messages: dict[str, Message] = field(default_factory=dict)

    def json(self, bot: str) -> Json:
        """The conversation object as `bot` sees it."""
        body: Json = {
            "id": self.id,
            "created": self.created,
            "is_archived": self.archived,
            "is_im": self.kind == "im",
            "is_org_shared": False,
            "is_ext_shared": bool(self.shared),
            "context_team_id": self.team,
        }
        if self.kind == "im":
            others = self.members - {bot}
            return body | {"user": next(iter(others), ""), "is_user_deleted": False}
        return body | {
            "name": self.name,
            "name_normalized": self.name,
            "is_channel": self.kind == "channel",
            "is_group": self.kind == "group",
            "is_mpim": self.kind == "mpim",
            "is_private": self.kind != "channel",
            "is_general": self.name == "general",
            "is_member": bot in self.members,
            "is_shared": bool(self.shared),
            "creator": "U0ADMIN",
            "num_members": len(self.members),
            "topic": {"value": "", "creator": "", "last_set": 0},
            "purpose": {"value": "", "creator": "", "last_set": 0},
        }

    def thread(self, root: str) -> list[Message]:
        """The messages of a thread that everybody sees, in order."""
        return [
            each
            for each in self.visible()
            if each.ts == root or (each.thread_ts == root and each.ts != root)
        ]

    def read(self, message: Message, *, metadata: bool = False) -> Json:
        """A message as read back, with its thread's details."""
        body = message.json(metadata=metadata)
        replies = self.thread(message.ts)[1:] if message.root == message.ts else []
        if replies:
            people = list(dict.fromkeys(each.user for each in replies))
            body |= {
                "thread_ts": message.ts,
                "reply_count": len(replies),
                "reply_users": people,
                "reply_users_count": len(people),
                "latest_reply": replies[-1].ts,
                "is_locked": False,
                "subscribed": False,
            }
        elif message.thread_ts and (root := self.messages.get(message.thread_ts)):
            body["parent_user_id"] = root.user
        return body

    def visible(self) -> list[Message]:
        """The messages that everybody sees, in order."""
        shown = [each for each in self.messages.values() if not each.ephemeral and not each.hidden]
        return sorted(shown, key=lambda each: float(each.ts))


@dataclass(kw_only=True)
class Session:
    """An agent's session in a thread; `note` is its status text.

    `made`: agents.sessions.setStatus or a stream has made it. Before that it only holds a note, a
    title or prompts of assistant.threads.*.
    """

    channel: str
    thread_ts: str
    made: bool = False
    status: SessionStatus = "active"
    since: float = 0.0
    title: str = ""
    note: str = ""
    note_since: float = 0.0
    note_name: str = ""
    """Whose note it is, where that is not the app."""
    looks: dict[str, str] = field(default_factory=dict)
    """Name and picture of the agent at work, by their arguments."""
    loading: list[str] = field(default_factory=list)
    prompts: list[Json] = field(default_factory=list)

    def looks_busy(self, now: float) -> bool:
        """True while people see the agent at work.

        Slack gives up both signs after a while.
        """
        noted = bool(self.note) and now - self.note_since < NOTE_LIFE
        return noted or (self.status == "processing" and now - self.since < PROCESSING_LIFE)


@dataclass(kw_only=True)
class View:
    """A modal or a Home tab; `parent` is the view below it."""

    id: str
    user: str
    team: str
    body: Json
    hash: str
    parent: str = ""
    root: str = ""
    state: dict[str, dict[str, Json]] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    """Errors of the last submission, by block_id."""


@dataclass(kw_only=True)
class UserGroup:
    """People who are mentioned together."""

    id: str
    handle: str
    members: list[str]


@dataclass(kw_only=True)
class Workspace:
    """A workspace; `agents`: apps may show sessions and Stop buttons."""

    id: str
    name: str
    domain: str
    enterprise: str = ""
    agents: bool = True
    users: dict[str, User] = field(default_factory=dict)
    channels: dict[str, Channel] = field(default_factory=dict)
    files: dict[str, File] = field(default_factory=dict)
    views: dict[str, View] = field(default_factory=dict)
    homes: dict[str, View] = field(default_factory=dict)
    """Home tabs, by the people who see them."""
    sessions: dict[tuple[str, str], Session] = field(default_factory=dict)
    groups: dict[str, UserGroup] = field(default_factory=dict)
