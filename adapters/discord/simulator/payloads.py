"""People, guilds, channels and commands on the wire."""

from __future__ import annotations

from adapters.discord.simulator.clock import creation_time, format_time
from adapters.discord.simulator.errors import Json
from adapters.discord.simulator.model import (
    Channel,
    ChannelType,
    Guild,
    Member,
    Role,
    User,
    Webhook,
)
from adapters.discord.simulator.permissions import in_guild

MEMBER_NULLS: Json = dict.fromkeys(
    ("avatar", "banner", "communication_disabled_until", "premium_since")
)
GUILD_NULLS: Json = dict.fromkeys(
    (
        "icon",
        "description",
        "home_header",
        "splash",
        "discovery_splash",
        "banner",
        "application_id",
        "afk_channel_id",
        "system_channel_id",
        "widget_channel_id",
        "max_presences",
        "vanity_url_code",
        "rules_channel_id",
        "safety_alerts_channel_id",
        "public_updates_channel_id",
        "incidents_data",
    )
)
APPLICATION_NULLS: Json = dict.fromkeys(
    ("icon", "type", "interactions_endpoint_url", "role_connections_verification_url", "team")
)
"""Fields that every payload has, and that the simulator never fills."""
IS_GUEST = 1 << 4
"""Flag of a member who was invited into a voice channel only."""


def user(who: User) -> Json:
    """A user."""
    shown: Json = {
        "id": str(who.id),
        "username": who.name,
        "avatar": None,
        "discriminator": "0",
        "public_flags": 0,
        "flags": 0,
        "global_name": None if who.bot else who.name.capitalize(),
        "primary_guild": None,
    }
    return {**shown, "bot": True} if who.bot else shown


def own_user(who: User) -> Json:
    """The application's own user."""
    own: Json = {"mfa_enabled": True, "locale": "en-US", "email": None, "verified": True}
    return {**user(who), **own}


def member_of(member: Member) -> Json:
    """A member without its user, as beside a message's author."""
    return {
        **MEMBER_NULLS,
        "flags": IS_GUEST if member.guest else 0,
        "joined_at": format_time(member.joined_at),
        "nick": member.nick,
        "pending": False,
        "roles": [str(role.id) for role in member.roles],
        "mute": False,
        "deaf": False,
    }


def member(of: Member) -> Json:
    """A member with its user."""
    return {**member_of(of), "user": user(of.user)}


def role(what: Role) -> Json:
    """A role."""
    return {
        "id": str(what.id),
        "name": what.name,
        "permissions": str(int(what.permissions)),
        "position": what.position,
        "color": 0,
        "colors": {"primary_color": 0, "secondary_color": None, "tertiary_color": None},
        "hoist": False,
        "managed": False,
        "mentionable": True,
        "icon": None,
        "unicode_emoji": None,
        "flags": 0,
    }


def guild(what: Guild) -> Json:
    """A guild as REST shows it."""
    return {
        **GUILD_NULLS,
        "id": str(what.id),
        "name": what.name,
        "features": ["COMMUNITY"],
        "owner_id": str(what.owner.id),
        "region": "deprecated",
        "afk_timeout": 300,
        "system_channel_flags": 0,
        "widget_enabled": False,
        "verification_level": 1,
        "roles": [role(each) for each in what.roles.values()],
        "default_message_notifications": 1,
        "mfa_level": 0,
        "explicit_content_filter": 2,
        "max_members": 500_000,
        "max_stage_video_channel_users": 50,
        "max_video_channel_users": 25,
        "premium_tier": 0,
        "premium_subscription_count": 0,
        "preferred_locale": "en-US",
        "premium_progress_bar_enabled": False,
        "nsfw": False,
        "nsfw_level": 0,
        "emojis": [],
        "stickers": [],
    }


def own_guild(what: Guild, bot: User) -> Json:
    """A guild in the list of those where the application is."""
    return {
        "id": str(what.id),
        "name": what.name,
        "icon": None,
        "banner": None,
        "owner": what.owner is bot,
        "permissions": str(in_guild(what, what.members[bot.id])),
        "features": ["COMMUNITY"],
    }


def channel(what: Channel, viewer: User | None = None) -> Json:
    """A channel, thread or conversation, with the viewer's thread membership."""
    if what.type is ChannelType.DM:
        return {
            "id": str(what.id),
            "type": int(what.type),
            "flags": 0,
            "last_message_id": last_message(what),
            "recipients": [user(each) for each in what.recipients if each is not viewer],
        }
    return _thread(what, viewer) if what.is_thread else _guild_channel(what)


def last_message(what: Channel) -> str | None:
    """The id of the newest message there."""
    newest = next(reversed(what.messages), None)
    return None if newest is None else str(newest)


def _in_guild(what: Channel) -> Json:
    assert what.guild is not None
    return {
        "id": str(what.id),
        "type": int(what.type),
        "flags": 0,
        "guild_id": str(what.guild.id),
        "name": what.name,
        "last_message_id": last_message(what),
        "rate_limit_per_user": what.slowmode,
    }


def _guild_channel(what: Channel) -> Json:
    shown: Json = {
        **_in_guild(what),
        "parent_id": None,
        "position": what.position,
        "topic": what.topic,
        "nsfw": False,
        "permission_overwrites": [
            {
                "id": str(key),
                "type": int(each.member),
                "allow": str(int(each.allow)),
                "deny": str(int(each.deny)),
            }
            for key, each in what.overwrites.items()
        ],
    }
    if what.type is ChannelType.FORUM:
        nulls = dict.fromkeys(("default_reaction_emoji", "default_sort_order"))
        shown |= {"available_tags": what.tags, "default_forum_layout": 0, **nulls}
    return shown


def _thread(what: Channel, viewer: User | None) -> Json:
    assert what.parent is not None
    assert what.owner is not None
    shown: Json = {
        **_in_guild(what),
        "parent_id": str(what.parent.id),
        "owner_id": str(what.owner.id),
        "message_count": what.sent,
        "member_count": len(what.members),
        "total_message_sent": what.sent,
        "thread_metadata": {
            "archived": what.archived,
            "archive_timestamp": format_time(what.archived_at),
            "auto_archive_duration": what.auto_archive,
            "locked": what.locked,
            "create_timestamp": format_time(creation_time(what.id)),
            **({"invitable": what.invitable} if what.private else {}),
        },
    }
    if what.parent.type is ChannelType.FORUM:
        shown["applied_tags"] = what.applied_tags
    if viewer and viewer.id in what.members:
        shown["member"] = thread_member(what, viewer.id)
    return shown


def thread_member(what: Channel, user_id: int) -> Json:
    """Somebody's membership of a thread."""
    return {
        "id": str(what.id),
        "user_id": str(user_id),
        "join_timestamp": format_time(what.members[user_id]),
        "flags": 0,
    }


def webhook(what: Webhook, api_url: str) -> Json:
    """A webhook, with its token: the simulator has one application only."""
    assert what.channel.guild is not None
    return {
        "application_id": str(what.creator.id),
        "avatar": what.avatar,
        "channel_id": str(what.channel.id),
        "guild_id": str(what.channel.guild.id),
        "id": str(what.id),
        "name": what.name,
        "type": 1,
        "user": user(what.creator),
        "token": what.token,
        "url": f"{api_url}/webhooks/{what.id}/{what.token}",
    }


def application(bot: User, owner: User, flags: int, *, public: bool) -> Json:
    """The application, as it sees itself."""
    return {
        **APPLICATION_NULLS,
        "id": str(bot.id),
        "name": bot.name,
        "description": "",
        "bot": user(bot),
        "bot_public": public,
        "bot_require_code_grant": False,
        "verify_key": "0" * 64,
        "flags": flags,
        "flags_new": str(flags),
        "redirect_uris": [],
        "owner": user(owner),
        "approximate_guild_count": 1,
        "approximate_user_install_count": 0,
        "approximate_user_authorization_count": 0,
        "explicit_content_filter": 0,
        "eligible_oauth2_scopes": [],
    }
