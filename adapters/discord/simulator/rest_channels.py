"""REST: channels, threads and forum posts.

Archives are listed as Discord's documentation of channels says: all public ones and, to who manages
threads, all private ones by `archive_timestamp`; the private ones that one is in by their ids.

Threads are edited as its page "Threads" says. It says twice that only MANAGE_THREADS unarchives a
locked thread, and once that its creator does, too: here the creator may, so that an application
that does so without being meant to is seen.

Renames are counted as libraries report them (discord/discord-api-docs issue 1900, discord.js issue
6651): two in ten minutes for each channel or thread, which no header tells of. Discord documents no
number; `World.rename_limit` is a setting.
"""

from __future__ import annotations

from datetime import datetime
from functools import partial

from adapters.discord.simulator import payloads, threads
from adapters.discord.simulator.calls import Call, Reply, Routes, channel_of, message_of
from adapters.discord.simulator.errors import Json, known_error, required, too_many_renames, unknown
from adapters.discord.simulator.message_drafts import COMMON, check_not_empty, read
from adapters.discord.simulator.model import Channel, ChannelType
from adapters.discord.simulator.permissions import Permission, may
from adapters.discord.simulator.rest_messages import CHANNEL, MESSAGE, check
from adapters.discord.simulator.world import World

ARCHIVE_PAGE = 50
"""Threads of an archive that are listed where the caller asks for no number."""
MEMBERS = f"{CHANNEL}/thread-members"


def _show_channel(world: World, call: Call) -> Reply:
    channel = channel_of(world, call)
    check(world, channel)
    return Reply(200, payloads.channel(channel, world.bot))


def _edit_channel(world: World, call: Call) -> Reply:
    channel = channel_of(world, call)
    check(world, channel)
    if not channel.is_thread:
        return _rename_channel(world, channel, call.body)
    wakes = channel.archived and call.body.get("archived") is False
    if channel.archived and not wakes:
        raise known_error("thread archived")
    own = channel.owner is world.bot and not {"locked", "rate_limit_per_user"} & set(call.body)
    only_archived = set(call.body) <= {"archived"}
    if channel.locked:
        own = own and only_archived
    if not own and (channel.locked or not (wakes and only_archived)):
        check(world, channel, Permission.MANAGE_THREADS)
    _count_rename(world, channel, call.body)
    threads.change(world, channel, world.bot, call.body)
    return Reply(200, payloads.channel(channel, world.bot))


def _rename_channel(world: World, channel: Channel, settings: Json) -> Reply:
    check(world, channel, Permission.MANAGE_CHANNELS)
    _count_rename(world, channel, settings)
    channel.name = settings.get("name") or channel.name
    channel.topic = settings.get("topic", channel.topic)
    world.emit_channel("CHANNEL_UPDATE", channel)
    return Reply(200, payloads.channel(channel, world.bot))


def _count_rename(world: World, channel: Channel, settings: Json) -> None:
    name, limit, now = settings.get("name"), world.rename_limit, world.clock.now()
    if name is None or name == channel.name or limit is None:
        return
    recent = [at for at in world.renames.get(channel.id, []) if now - at < limit.seconds]
    if len(recent) >= limit.count:
        raise too_many_renames(round(limit.seconds - (now - recent[0]), 3))
    world.renames[channel.id] = [*recent, now]


def _delete_channel(world: World, call: Call) -> Reply:
    channel = channel_of(world, call)
    needed = Permission.MANAGE_THREADS if channel.is_thread else Permission.MANAGE_CHANNELS
    check(world, channel, needed)
    world.delete_channel(channel)
    return Reply(200, payloads.channel(channel, world.bot))


def _start_thread_at_message(world: World, call: Call) -> Reply:
    message = message_of(world, call)
    check(world, message.channel, Permission.CREATE_PUBLIC_THREADS)
    thread = threads.from_message(world, message, world.bot, call.body)
    return Reply(201, payloads.channel(thread, world.bot))


def _start_thread(world: World, call: Call) -> Reply:
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
    return Reply(201, {**shown, "message": world.renderer.message(first)})


def _list_active_threads(world: World, call: Call) -> Reply:
    guild = world.find_guild(call.id("guild_id"))
    found = [
        each
        for each in world.channels.values()
        if each.guild is guild and each.is_thread and not each.archived
    ]
    return Reply(200, _listed(world, found))


def _list_archived(private: bool, world: World, call: Call) -> Reply:
    """The archive, by when its threads were archived; `before` is a time."""
    channel = channel_of(world, call)
    check(world, channel, Permission.READ_MESSAGE_HISTORY)
    if private:
        check(world, channel, Permission.MANAGE_THREADS)
    found = _archived(world, channel, private=private)
    if before := call.query.get("before"):
        at = datetime.fromisoformat(before).timestamp()
        found = [each for each in found if each.archived_at < at]
    found.sort(key=lambda each: each.archived_at, reverse=True)
    return Reply(200, _page(world, call, found))


def _list_joined(world: World, call: Call) -> Reply:
    """The application's private threads in the archive, by their ids."""
    channel = channel_of(world, call)
    check(world, channel, Permission.READ_MESSAGE_HISTORY)
    before = int(call.query.get("before") or world.ids.new())
    found = [
        each
        for each in _archived(world, channel, private=True)
        if world.bot.id in each.members and each.id < before
    ]
    found.sort(key=lambda each: each.id, reverse=True)
    return Reply(200, _page(world, call, found))


def _archived(world: World, channel: Channel, *, private: bool) -> list[Channel]:
    return [
        each
        for each in world.channels.values()
        if each.parent is channel and each.archived and each.private is private
    ]


def _page(world: World, call: Call, found: list[Channel]) -> Json:
    limit = int(call.query.get("limit") or ARCHIVE_PAGE)
    return _listed(world, found[:limit]) | {"has_more": len(found) > limit}


def _listed(world: World, found: list[Channel]) -> Json:
    seen = [each for each in found if may(each, world.bot, Permission.VIEW_CHANNEL)]
    own = world.bot.id
    return {
        "threads": [payloads.channel(each, world.bot) for each in seen],
        "members": [payloads.thread_member(each, own) for each in seen if own in each.members],
        "has_more": False,
    }


def _list_members(world: World, call: Call) -> Reply:
    thread = _thread(world, call)
    return Reply(200, [payloads.thread_member(thread, each) for each in thread.members])


def _join_thread(world: World, call: Call) -> Reply:
    threads.add_member(world, _thread(world, call), world.bot)
    return Reply()


def _leave_thread(world: World, call: Call) -> Reply:
    threads.remove_member(world, _thread(world, call), world.bot)
    return Reply()


def _add_member(world: World, call: Call) -> Reply:
    thread = _thread(world, call)
    user = world.find_user(call.id("user_id"))
    if thread.guild is None or user.id not in thread.guild.members:
        raise unknown("Member")
    if not may(thread.home, user, Permission.VIEW_CHANNEL):
        raise known_error("missing permissions")
    threads.add_member(world, thread, user)
    return Reply()


def _remove_member(world: World, call: Call) -> Reply:
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
    ("GET", CHANNEL): _show_channel,
    ("PATCH", CHANNEL): _edit_channel,
    ("DELETE", CHANNEL): _delete_channel,
    ("POST", f"{MESSAGE}/threads"): _start_thread_at_message,
    ("POST", f"{CHANNEL}/threads"): _start_thread,
    ("GET", f"{CHANNEL}/threads/archived/public"): partial(_list_archived, False),
    ("GET", f"{CHANNEL}/threads/archived/private"): partial(_list_archived, True),
    ("GET", f"{CHANNEL}/users/@me/threads/archived/private"): _list_joined,
    ("GET", "/guilds/{guild_id}/threads/active"): _list_active_threads,
    ("GET", MEMBERS): _list_members,
    ("PUT", f"{MEMBERS}/@me"): _join_thread,
    ("DELETE", f"{MEMBERS}/@me"): _leave_thread,
    ("PUT", f"{MEMBERS}/{{user_id}}"): _add_member,
    ("DELETE", f"{MEMBERS}/{{user_id}}"): _remove_member,
}
