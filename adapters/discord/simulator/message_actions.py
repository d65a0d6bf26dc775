"""Writing, changing and deleting messages, for the application and people alike."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from adapters.discord.simulator import components, payloads
from adapters.discord.simulator.cdn import size_of
from adapters.discord.simulator.errors import ApiError, Json, invalid, known_error, unknown
from adapters.discord.simulator.intents import Intent
from adapters.discord.simulator.message_drafts import Draft, Upload
from adapters.discord.simulator.model import (
    Attachment,
    Channel,
    ChannelType,
    Guild,
    Interaction,
    Message,
    MessageFlag,
    MessageType,
    Role,
    User,
)
from adapters.discord.simulator.permissions import Permission, may
from adapters.discord.simulator.world import Typing, World

MENTION = re.compile(r"<@!?(\d+)>")
ROLE_MENTION = re.compile(r"<@&(\d+)>")
SETTABLE = MessageFlag.SUPPRESS_EMBEDS | MessageFlag.IS_COMPONENTS_V2 | MessageFlag.EPHEMERAL
FORWARD = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Through what a message was written."""

    type: MessageType = MessageType.DEFAULT
    webhook: int | None = None
    webhook_avatar: str | None = None
    interaction: Interaction | None = None
    visible_to: User | None = None
    flags: int = 0
    id: int | None = None
    """The message's id; None: a new one."""


PLAIN = Origin()


def post(
    world: World, channel: Channel, author: User, draft: Draft, origin: Origin = PLAIN
) -> Message:
    """Write a message and publish it.

    An archived thread comes back, unless it is locked.
    """
    check_open(world, channel, author)
    message = Message(
        origin.id or world.ids.new(),
        channel,
        author,
        draft.content or "",
        type=origin.type,
        flags=(draft.flags or 0) & ~MessageFlag.LOADING | origin.flags,
        embeds=draft.embeds or [],
        components=draft.components or [],
        nonce=draft.nonce,
        webhook_id=origin.webhook,
        webhook_avatar=origin.webhook_avatar,
        application=author is world.bot or origin.webhook is not None,
        interaction=origin.interaction,
        visible_to=origin.visible_to,
        parts=draft.parts,
    )
    message.attachments = attachments(world, channel, draft)
    _check_files(message.attachments, message.components, message.embeds)
    _refer(world, message, draft)
    _mention(message, draft.allowed_mentions)
    channel.messages[message.id] = message
    if message.visible_to is None:
        _count(channel, message, world.clock.now())
        publish(world, "MESSAGE_CREATE", message)
    return message


def edit(world: World, message: Message, draft: Draft) -> Message:
    """Change what the draft names and tell of it."""
    files = message.attachments
    if draft.attachments is not None or draft.uploads:
        files = _kept(message, draft) + attachments(world, message.channel, draft)
    _check_files(files, draft.components, draft.embeds)
    message.attachments = files
    if draft.content is not None:
        message.content = draft.content
    if draft.embeds is not None:
        message.embeds = draft.embeds
    if draft.components is not None:
        message.components = draft.components
    if draft.flags is not None:
        kept = message.flags & ~MessageFlag.SUPPRESS_EMBEDS
        message.flags = kept | draft.flags & SETTABLE & ~MessageFlag.EPHEMERAL
    _mention(message, draft.allowed_mentions)
    message.edited_at = world.clock.now()
    message.edits += 1
    if message.visible_to is None:
        publish(world, "MESSAGE_UPDATE", message)
    return message


def delete(world: World, message: Message) -> None:
    """Delete a message and tell of it."""
    message.deleted = True
    del message.channel.messages[message.id]
    if message.visible_to is None:
        world.emit("MESSAGE_DELETE", _ids(message), message.channel, _intent(message.channel))


def delete_many(world: World, messages: Sequence[Message]) -> None:
    """Delete several messages of one channel, published as one event."""
    ids = _ids(messages[0])
    for message in messages:
        message.deleted = True
        del message.channel.messages[message.id]
    data: Json = {**ids, "ids": [str(each.id) for each in messages]}
    del data["id"]
    channel = messages[0].channel
    world.emit("MESSAGE_DELETE_BULK", data, channel, _intent(channel))


def react(world: World, message: Message, user: User, emoji: str) -> None:
    """Add somebody's reaction."""
    users = message.reactions.setdefault(emoji, [])
    if user not in users:
        users.append(user)
        _emit_reaction(world, "MESSAGE_REACTION_ADD", message, user, emoji)


def unreact(world: World, message: Message, user: User, emoji: str) -> None:
    """Take somebody's reaction away."""
    users = message.reactions.get(emoji, [])
    if user not in users:
        raise unknown("Emoji")
    users.remove(user)
    if not users:
        del message.reactions[emoji]
    _emit_reaction(world, "MESSAGE_REACTION_REMOVE", message, user, emoji)


def type_in(world: World, channel: Channel, user: User) -> None:
    """Show for ten seconds that somebody writes."""
    now = world.clock.now()
    world.typing.append(Typing(channel, user, now))
    data: Json = {"channel_id": str(channel.id), "user_id": str(user.id), "timestamp": int(now)}
    if channel.guild:
        data["guild_id"] = str(channel.guild.id)
    intent = Intent.TYPING if channel.guild else Intent.DIRECT_TYPING
    world.emit("TYPING_START", data, channel, intent)


def unfurl(world: World, message: Message, embed: Json) -> None:
    """Show a link preview under a message.

    It looks like an edit, and is none.
    """
    message.embeds = [*message.embeds, {"type": "article", **embed}]
    publish(world, "MESSAGE_UPDATE", message)


def publish(world: World, name: str, message: Message) -> None:
    """Tell of a message as it is now."""
    channel = message.channel
    world.emit(name, world.renderer.event(message), channel, _intent(channel), message)


def is_locked_to(channel: Channel, user: User) -> bool:
    """True for a thread locked to this user.

    Discord's documentation, "Threads", "Locked Threads": without MANAGE_THREADS nobody writes or
    edits messages there, nor changes its title or tags; with it, all of this goes on.
    """
    return channel.locked and not may(channel, user, Permission.MANAGE_THREADS)


def check_frozen(channel: Channel, user: User) -> None:
    """Refuse deletions and reactions in a locked, archived thread."""
    if channel.archived and is_locked_to(channel, user):
        raise known_error("thread locked")


def check_open(world: World, channel: Channel, author: User) -> None:
    """Refuse a locked thread; reopen an archived one."""
    if channel.type is ChannelType.FORUM:
        raise ApiError(400, 50008, "Cannot send messages in a non-text channel")
    if not channel.is_thread:
        return
    if is_locked_to(channel, author):
        raise known_error("thread locked")
    if channel.archived:
        channel.archived = False
        channel.archived_at = world.clock.now()
        world.emit_channel("THREAD_UPDATE", channel)


def attachments(world: World, channel: Channel, draft: Draft) -> list[Attachment]:
    """The draft's new files."""
    limit = channel.guild.upload_limit if channel.guild else 10 * 2**20
    if sum(len(each.content) for each in draft.uploads.values()) > limit:
        raise ApiError(413, 40005, "Request entity too large")
    described = {str(each.get("id")): each for each in draft.attachments or []}
    return [_attachment(world, each, described.get(key, {})) for key, each in draft.uploads.items()]


def _attachment(world: World, upload: Upload, described: Json) -> Attachment:
    width, height = size_of(upload.content)
    attachment = Attachment(
        world.ids.new(),
        described.get("filename") or upload.filename,
        upload.content,
        upload.content_type,
        described.get("description"),
        width,
        height,
    )
    world.files[attachment.id] = attachment
    return attachment


def _check_files(files: list[Attachment], *shown: list[Json] | None) -> None:
    names = {each.filename for each in files}
    for name in components.referenced_files([*shown]):
        if name not in names:
            raise invalid(
                "components",
                "UNFURLED_MEDIA_ITEM_REFERENCED_ATTACHMENT_NOT_FOUND",
                f"The referenced attachment {name!r} was not found",
            )


def _kept(message: Message, draft: Draft) -> list[Attachment]:
    if draft.attachments is None:
        return message.attachments
    kept = {str(each.get("id")) for each in draft.attachments}
    return [each for each in message.attachments if str(each.id) in kept]


def _refer(world: World, message: Message, draft: Draft) -> None:
    reference = draft.reference
    if reference is None:
        return
    if reference.get("type") == FORWARD:
        _forward(world, message, reference)
        return
    target = message.channel.messages.get(int(reference["message_id"]))
    if target is None and reference.get("fail_if_not_exists", True):
        raise invalid("message_reference", "REPLIES_UNKNOWN_MESSAGE", "Unknown message")
    if target is None:
        return
    message.type = MessageType.REPLY if message.type is MessageType.DEFAULT else message.type
    message.replied = True
    message.referenced = target
    message.reference = _reference(target, 0)


def _forward(world: World, message: Message, reference: Json) -> None:
    source = world.find_channel(int(reference["channel_id"]))
    original = world.find_message(source, int(reference["message_id"]))
    message.flags |= MessageFlag.HAS_SNAPSHOT
    message.reference = _reference(original, FORWARD)
    message.snapshots = [world.renderer.snapshot(original)]


def _reference(target: Message, kind: int) -> Json:
    reference: Json = {
        "type": kind,
        "channel_id": str(target.channel.id),
        "message_id": str(target.id),
    }
    guild = target.channel.guild
    return {**reference, "guild_id": str(guild.id)} if guild else reference


def starter(parent: Message) -> Json:
    """The reference from a thread's first message to its origin."""
    return _reference(parent, 0)


def _mention(message: Message, allowed: Json | None) -> None:
    """Find the users to notify.

    Without rules for it, everybody whom the message names.
    """
    text = "\n".join([message.content, *_texts(message.components)])
    rules = {"parse": ["users", "roles", "everyone"]} if allowed is None else allowed
    known = _people(message)
    named = [known.get(each) for each in _allowed(MENTION, text, rules, "users")]
    if message.referenced and (allowed is None or rules.get("replied_user")):
        named.append(message.referenced.author)
    message.pings = list(dict.fromkeys(each for each in named if each is not None))
    message.role_pings = [
        _role(message.channel.guild, each)
        for each in _allowed(ROLE_MENTION, text, rules, "roles")
        if message.channel.guild
    ]
    message.everyone = (
        ("@everyone" in text or "@here" in text)
        and "everyone" in (rules.get("parse") or [])
        and may(message.channel, message.author, Permission.MENTION_EVERYONE)
    )


def _allowed(pattern: re.Pattern[str], text: str, rules: Json, kind: str) -> list[int]:
    listed = {str(each) for each in rules.get(kind) or []}
    everyone = kind in (rules.get("parse") or [])
    found = dict.fromkeys(pattern.findall(text))
    return [int(each) for each in found if everyone or each in listed]


def _texts(shown: list[Json]) -> list[str]:
    return [each["content"] for each in components.walk(shown) if "content" in each]


def _people(message: Message) -> dict[int, User]:
    guild = message.channel.guild
    if guild:
        return {key: each.user for key, each in guild.members.items()}
    return {each.id: each for each in message.channel.recipients}


def _role(guild: Guild, role_id: int) -> Role:
    return guild.roles.get(role_id) or Role(role_id, "deleted", 0)


def _count(channel: Channel, message: Message, now: float) -> None:
    channel.active_at = now
    if channel.is_thread:
        channel.sent += 1
        channel.members.setdefault(message.author.id, now)
        for user in message.pings:
            channel.members.setdefault(user.id, now)


def _ids(message: Message) -> Json:
    data: Json = {"id": str(message.id), "channel_id": str(message.channel.id)}
    guild = message.channel.guild
    return {**data, "guild_id": str(guild.id)} if guild else data


def _emit_reaction(world: World, name: str, message: Message, user: User, emoji: str) -> None:
    ids = _ids(message)
    ids["message_id"] = ids.pop("id")
    data: Json = {
        **ids,
        "user_id": str(user.id),
        "message_author_id": str(message.author.id),
        "emoji": {"id": None, "name": emoji},
        "burst": False,
        "type": 0,
    }
    guild = message.channel.guild
    if guild and user.id in guild.members and name.endswith("ADD"):
        data["member"] = payloads.member(guild.members[user.id])
    intent = Intent.REACTIONS if guild else Intent.DIRECT_REACTIONS
    world.emit(name, data, message.channel, intent)


def _intent(channel: Channel) -> Intent:
    return Intent.MESSAGES if channel.guild else Intent.DIRECT_MESSAGES
