"""Threads and forum posts: begun, renamed, archived, joined."""

from __future__ import annotations

from typing import Any

from adapters.discord.simulator import message_actions, payloads
from adapters.discord.simulator.errors import Json, invalid, known_error, required, wrong_length
from adapters.discord.simulator.message_drafts import Draft
from adapters.discord.simulator.model import (
    Channel,
    ChannelType,
    Message,
    MessageFlag,
    MessageType,
    User,
)
from adapters.discord.simulator.world import World

NAME = 100
ARCHIVE_AFTER = (60, 1440, 4320, 10080)


def from_message(world: World, message: Message, owner: User, settings: Json) -> Channel:
    """Start a thread at a message, with its id; once per message."""
    if message.thread is not None:
        raise known_error("thread exists")
    parent = message.channel
    kind = (
        ChannelType.ANNOUNCEMENT_THREAD
        if parent.type is ChannelType.ANNOUNCEMENT
        else ChannelType.PUBLIC_THREAD
    )
    thread = _create_thread(world, message.id, parent, kind, owner, settings)
    message.thread = thread
    message.flags |= MessageFlag.HAS_THREAD
    message_actions.publish(world, "MESSAGE_UPDATE", message)
    start = Message(
        world.ids.new(), thread, message.author, "", type=MessageType.THREAD_STARTER_MESSAGE
    )
    start.reference = message_actions.starter(message)
    start.referenced, start.replied = message, True
    thread.messages[start.id] = start
    message_actions.publish(world, "MESSAGE_CREATE", start)
    return thread


def without_message(world: World, parent: Channel, owner: User, settings: Json) -> Channel:
    """Start a thread without a message; a public one is announced."""
    kind = ChannelType(settings.get("type") or ChannelType.PRIVATE_THREAD)
    thread = _create_thread(world, world.ids.new(), parent, kind, owner, settings)
    if kind is ChannelType.PUBLIC_THREAD:
        announced = Message(
            world.ids.new(), parent, owner, thread.name, type=MessageType.THREAD_CREATED
        )
        parent.messages[announced.id] = announced
        message_actions.publish(world, "MESSAGE_CREATE", announced)
    return thread


def forum_post(
    world: World, forum: Channel, owner: User, settings: Json, draft: Draft
) -> tuple[Channel, Message]:
    """Start a forum post: a thread whose first message has its id."""
    kind = ChannelType.PUBLIC_THREAD
    thread = _create_thread(world, world.ids.new(), forum, kind, owner, settings)
    thread.applied_tags = [str(each) for each in settings.get("applied_tags") or []]
    origin = message_actions.Origin(id=thread.id)
    return thread, message_actions.post(world, thread, owner, draft, origin)


def change(world: World, thread: Channel, who: User, settings: Json) -> None:
    """Rename, archive, reopen, lock or tag a thread and publish it."""
    name = settings.get("name")
    renamed = name is not None and name != thread.name
    if renamed:
        thread.name = check_name(name)
    if settings.get("auto_archive_duration") is not None:
        thread.auto_archive = check_duration(settings["auto_archive_duration"])
    if settings.get("archived") is not None and thread.archived is not settings["archived"]:
        thread.archived = bool(settings["archived"])
        thread.archived_at = world.clock.now()
    if settings.get("locked") is not None:
        thread.locked = bool(settings["locked"])
    if settings.get("applied_tags") is not None:
        thread.applied_tags = [str(each) for each in settings["applied_tags"]]
    if settings.get("rate_limit_per_user") is not None:
        thread.slowmode = int(settings["rate_limit_per_user"])
    world.emit_channel("THREAD_UPDATE", thread)
    if renamed and not thread.archived:
        notice = Message(
            world.ids.new(), thread, who, thread.name, type=MessageType.CHANNEL_NAME_CHANGE
        )
        thread.messages[notice.id] = notice
        message_actions.publish(world, "MESSAGE_CREATE", notice)


def add_member(world: World, thread: Channel, user: User) -> None:
    """Let somebody into a thread."""
    if user.id in thread.members:
        return
    thread.members[user.id] = world.clock.now()
    if user is world.bot:
        world.emit_channel("THREAD_CREATE", thread)
    _emit_members(world, thread, added=[payloads.thread_member(thread, user.id)])


def remove_member(world: World, thread: Channel, user: User) -> None:
    """Take somebody out of a thread."""
    if user.id in thread.members:
        # Told first: the application hears of its own removal from a private thread.
        _emit_members(world, thread, removed=[str(user.id)])
        del thread.members[user.id]


def archive_idle(world: World) -> None:
    """Archive the threads that were silent for their set time."""
    now = world.clock.now()
    for thread in [each for each in world.channels.values() if each.is_thread]:
        if not thread.archived and now - thread.active_at >= thread.auto_archive * 60:
            thread.archived = True
            thread.archived_at = now
            world.emit_channel("THREAD_UPDATE", thread)


def check_name(name: Any) -> str:
    """A thread's name, if it is one."""
    if not name:
        raise required("name")
    if not isinstance(name, str) or not 1 <= len(name) <= NAME:
        raise wrong_length("name", 1, NAME)
    return name


def check_duration(minutes: Any) -> int:
    """Minutes of silence before a thread is archived, if allowed."""
    if minutes not in ARCHIVE_AFTER:
        raise invalid(
            "auto_archive_duration",
            "BASE_TYPE_CHOICES",
            f"Value must be one of {ARCHIVE_AFTER}.",
        )
    return int(minutes)


def _create_thread(
    world: World, thread_id: int, parent: Channel, kind: ChannelType, owner: User, settings: Json
) -> Channel:
    now = world.clock.now()
    thread = Channel(
        thread_id,
        kind,
        check_name(settings.get("name")),
        parent.guild,
        parent,
        owner,
        members={owner.id: now},
        auto_archive=check_duration(settings.get("auto_archive_duration") or 1440),
        archived_at=now,
        active_at=now,
        slowmode=int(settings.get("rate_limit_per_user") or 0),
        invitable=settings.get("invitable") is not False,
    )
    world.channels[thread.id] = thread
    world.emit_channel("THREAD_CREATE", thread)
    return thread


def _emit_members(
    world: World, thread: Channel, added: list[Json] | None = None, removed: list[str] | None = None
) -> None:
    assert thread.guild is not None
    data: Json = {
        "id": str(thread.id),
        "guild_id": str(thread.guild.id),
        "member_count": len(thread.members) - len(removed or []),
        "added_members": added or [],
        "removed_member_ids": removed or [],
    }
    world.emit("THREAD_MEMBERS_UPDATE", data, thread)
