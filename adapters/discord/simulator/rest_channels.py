"""REST: channels, threads and forum posts."""

from __future__ import annotations

from adapters.discord.simulator import payloads, threads
from adapters.discord.simulator.calls import Call, Reply, Routes, channel_of, message_of
from adapters.discord.simulator.errors import (
    Json,
    missing_permissions,
    required,
    thread_archived,
    unknown,
)
from adapters.discord.simulator.message_drafts import COMMON, check_not_empty, read
from adapters.discord.simulator.model import Channel, ChannelType
from adapters.discord.simulator.permissions import Permission, may
from adapters.discord.simulator.rest_messages import CHANNEL, MESSAGE, check
from adapters.discord.simulator.world import World

MEMBERS = f"{CHANNEL}/thread-members"


def show(world: World, call: Call) -> Reply:
    """A channel, thread or conversation."""
    channel = channel_of(world, call)
    check(world, channel)
    return Reply(200, payloads.channel(channel, world.bot))


def change(world: World, call: Call) -> Reply:
    """Rename, archive or lock a thread; rename a channel."""
    channel = channel_of(world, call)
    check(world, channel)
    if not channel.is_thread:
        return _change_channel(world, channel, call.body)
    wakes = channel.archived and call.body.get("archived") is False
    if channel.archived and not wakes:
        raise thread_archived()
    own = channel.owner is world.bot and call.body.get("locked") is None
    only_archived = set(call.body) <= {"archived"} and not channel.locked
    if not own and not (wakes and only_archived):
        check(world, channel, Permission.MANAGE_THREADS)
    threads.change(world, channel, world.bot, call.body)
    return Reply(200, payloads.channel(channel, world.bot))


def _change_channel(world: World, channel: Channel, settings: Json) -> Reply:
    check(world, channel, Permission.MANAGE_CHANNELS)
    channel.name = settings.get("name") or channel.name
    channel.topic = settings.get("topic", channel.topic)
    world.emit_channel("CHANNEL_UPDATE", channel)
    return Reply(200, payloads.channel(channel, world.bot))


def delete(world: World, call: Call) -> Reply:
    """Delete a channel or thread."""
    channel = channel_of(world, call)
    needed = Permission.MANAGE_THREADS if channel.is_thread else Permission.MANAGE_CHANNELS
    check(world, channel, needed)
    world.delete_channel(channel)
    return Reply(200, payloads.channel(channel, world.bot))


def start_at_message(world: World, call: Call) -> Reply:
    """Begin a thread at a message."""
    message = message_of(world, call)
    check(world, message.channel, Permission.CREATE_PUBLIC_THREADS)
    thread = threads.from_message(world, message, world.bot, call.body)
    return Reply(201, payloads.channel(thread, world.bot))


def start(world: World, call: Call) -> Reply:
    """Begin a thread without a message, or a post in a forum."""
    channel = channel_of(world, call)
    if channel.type is ChannelType.FORUM:
        return _post(world, channel, call)
    private = (call.body.get("type") or ChannelType.PRIVATE_THREAD) == ChannelType.PRIVATE_THREAD
    needed = Permission.CREATE_PRIVATE_THREADS if private else Permission.CREATE_PUBLIC_THREADS
    check(world, channel, needed)
    thread = threads.without_message(world, channel, world.bot, call.body)
    return Reply(201, payloads.channel(thread, world.bot))


def _post(world: World, forum: Channel, call: Call) -> Reply:
    check(world, forum, Permission.SEND_MESSAGES)
    if not call.body.get("message"):
        raise required("message")
    draft = read(call.body["message"], call.uploads, COMMON | {"sticker_ids"})
    check_not_empty(draft)
    thread, first = threads.forum_post(world, forum, world.bot, call.body, draft)
    shown = payloads.channel(thread, world.bot)
    return Reply(201, {**shown, "message": world.shows.message(first)})


def active(world: World, call: Call) -> Reply:
    """A guild's threads that are not archived."""
    guild = world.find_guild(call.id("guild_id"))
    found = [
        each
        for each in world.channels.values()
        if each.guild is guild and each.is_thread and not each.archived
    ]
    return Reply(200, _listed(world, found))


def archived(world: World, call: Call) -> Reply:
    """A channel's archived threads that everybody sees."""
    return _archived(world, call, private=False)


def archived_private(world: World, call: Call) -> Reply:
    """A channel's archived threads for their members alone."""
    return _archived(world, call, private=True)


def _archived(world: World, call: Call, *, private: bool) -> Reply:
    channel = channel_of(world, call)
    check(world, channel, Permission.READ_MESSAGE_HISTORY)
    found = [
        each
        for each in world.channels.values()
        if each.parent is channel and each.archived and each.private is private
    ]
    newest_first = sorted(found, key=lambda each: each.archived_at, reverse=True)
    return Reply(200, _listed(world, newest_first))


def _listed(world: World, found: list[Channel]) -> Json:
    seen = [each for each in found if may(each, world.bot, Permission.VIEW_CHANNEL)]
    own = world.bot.id
    return {
        "threads": [payloads.channel(each, world.bot) for each in seen],
        "members": [payloads.thread_member(each, own) for each in seen if own in each.members],
        "has_more": False,
    }


def members(world: World, call: Call) -> Reply:
    """Members of a thread."""
    thread = _thread(world, call)
    return Reply(200, [payloads.thread_member(thread, each) for each in thread.members])


def join(world: World, call: Call) -> Reply:
    """Enter a thread."""
    threads.add_member(world, _thread(world, call), world.bot)
    return Reply()


def leave(world: World, call: Call) -> Reply:
    """Leave a thread."""
    threads.remove_member(world, _thread(world, call), world.bot)
    return Reply()


def add(world: World, call: Call) -> Reply:
    """Let somebody into a thread."""
    thread = _thread(world, call)
    user = world.find_user(call.id("user_id"))
    if thread.guild is None or user.id not in thread.guild.members:
        raise unknown("Member")
    if not may(thread.home, user, Permission.VIEW_CHANNEL):
        raise missing_permissions()
    threads.add_member(world, thread, user)
    return Reply()


def remove(world: World, call: Call) -> Reply:
    """Take somebody out of a thread."""
    thread = _thread(world, call)
    if thread.owner is not world.bot:
        check(world, thread, Permission.MANAGE_THREADS)
    threads.remove_member(world, thread, world.find_user(call.id("user_id")))
    return Reply()


def _thread(world: World, call: Call) -> Channel:
    thread = channel_of(world, call)
    check(world, thread)
    if not thread.is_thread:
        raise unknown("Channel")
    return thread


ROUTES: Routes = {
    ("GET", CHANNEL): show,
    ("PATCH", CHANNEL): change,
    ("DELETE", CHANNEL): delete,
    ("POST", f"{MESSAGE}/threads"): start_at_message,
    ("POST", f"{CHANNEL}/threads"): start,
    ("GET", f"{CHANNEL}/threads/archived/public"): archived,
    ("GET", f"{CHANNEL}/threads/archived/private"): archived_private,
    ("GET", "/guilds/{guild_id}/threads/active"): active,
    ("GET", MEMBERS): members,
    ("PUT", f"{MEMBERS}/@me"): join,
    ("DELETE", f"{MEMBERS}/@me"): leave,
    ("PUT", f"{MEMBERS}/{{user_id}}"): add,
    ("DELETE", f"{MEMBERS}/{{user_id}}"): remove,
}
