"""Discord's permission bits, and sums of roles and overwrites."""

from __future__ import annotations

from enum import IntFlag

from adapters.discord.simulator.model import Channel, Guild, Member, User


class Permission(IntFlag):
    """The permissions that matter to an application that talks."""

    ADMINISTRATOR = 1 << 3
    MANAGE_CHANNELS = 1 << 4
    MANAGE_GUILD = 1 << 5
    ADD_REACTIONS = 1 << 6
    VIEW_CHANNEL = 1 << 10
    SEND_MESSAGES = 1 << 11
    MANAGE_MESSAGES = 1 << 13
    EMBED_LINKS = 1 << 14
    ATTACH_FILES = 1 << 15
    READ_MESSAGE_HISTORY = 1 << 16
    MENTION_EVERYONE = 1 << 17
    MANAGE_WEBHOOKS = 1 << 29
    USE_APPLICATION_COMMANDS = 1 << 31
    MANAGE_THREADS = 1 << 34
    CREATE_PUBLIC_THREADS = 1 << 35
    CREATE_PRIVATE_THREADS = 1 << 36
    SEND_MESSAGES_IN_THREADS = 1 << 38


EVERYTHING = (1 << 53) - 1
EVERYONE = (
    Permission.ADD_REACTIONS
    | Permission.VIEW_CHANNEL
    | Permission.SEND_MESSAGES
    | Permission.EMBED_LINKS
    | Permission.ATTACH_FILES
    | Permission.READ_MESSAGE_HISTORY
    | Permission.USE_APPLICATION_COMMANDS
    | Permission.CREATE_PUBLIC_THREADS
    | Permission.CREATE_PRIVATE_THREADS
    | Permission.SEND_MESSAGES_IN_THREADS
)
"""Everybody's permissions in a new guild."""


def named(names: str) -> int:
    """The bits of permissions written as `"send_messages manage_threads"`."""
    bits = 0
    for name in names.split():
        bits |= Permission[name.upper()]
    return bits


def in_guild(guild: Guild, member: Member) -> int:
    """Permissions that a member's roles grant in the whole guild."""
    if member.user is guild.owner:
        return EVERYTHING
    bits = guild.everyone.permissions
    for role in member.roles:
        bits |= role.permissions
    return EVERYTHING if bits & Permission.ADMINISTRATOR else bits


def permissions(channel: Channel, user: User) -> int:
    """A user's permissions in a channel, thread or conversation."""
    if channel.guild is None:
        return EVERYTHING if user in channel.recipients else 0
    member = channel.guild.members.get(user.id)
    if member is None:
        return 0
    bits = in_guild(channel.guild, member)
    if bits == EVERYTHING:
        return bits
    bits = _overwritten(channel.home, member, bits)
    if not bits & Permission.VIEW_CHANNEL or _outside(channel, user, bits):
        return 0
    return bits


def _outside(channel: Channel, user: User, bits: int) -> bool:
    return (
        channel.private and user.id not in channel.members and not bits & Permission.MANAGE_THREADS
    )


def _overwritten(channel: Channel, member: Member, bits: int) -> int:
    assert channel.guild is not None
    if everyone := channel.overwrites.get(channel.guild.id):
        bits = bits & ~everyone.deny | everyone.allow
    roles = [channel.overwrites[role.id] for role in member.roles if role.id in channel.overwrites]
    for overwrite in roles:
        bits &= ~overwrite.deny
    for overwrite in roles:
        bits |= overwrite.allow
    if own := channel.overwrites.get(member.user.id):
        bits = bits & ~own.deny | own.allow
    return bits


def may(channel: Channel, user: User, needed: int) -> bool:
    """True if the user has all of these permissions there."""
    return permissions(channel, user) & needed == needed


def sending(channel: Channel) -> Permission:
    """Which permission a new message needs there."""
    return Permission.SEND_MESSAGES_IN_THREADS if channel.is_thread else Permission.SEND_MESSAGES
