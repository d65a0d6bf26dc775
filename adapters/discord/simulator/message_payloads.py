"""Messages on the wire, over REST and in events."""

from __future__ import annotations

from typing import Any

from adapters.discord.simulator import components, payloads
from adapters.discord.simulator.cdn import Cdn
from adapters.discord.simulator.clock import creation_time, format_time
from adapters.discord.simulator.errors import Json
from adapters.discord.simulator.model import Interaction, InteractionType, Message, User


class MessagePayloads:
    """Writes messages as `viewer`, the application, sees them."""

    def __init__(self, cdn: Cdn, viewer: User) -> None:
        self._cdn = cdn
        self._viewer = viewer

    def message(self, message: Message, *, nested: bool = False) -> Json:
        """A message; `nested` ones show neither reactions nor what they answer."""
        shown: Json = {
            **self._content(message),
            "id": str(message.id),
            "channel_id": str(message.channel.id),
            "author": self._author(message),
            "pinned": False,
            "mention_everyone": message.everyone,
            "tts": False,
        }
        if message.nonce is not None:
            shown["nonce"] = message.nonce
        if message.webhook_id is not None:
            shown["webhook_id"] = str(message.webhook_id)
        if message.application:
            webhook = message.webhook_id is not None
            shown["application_id"] = str(self._viewer.id if webhook else message.author.id)
        if message.reference:
            shown["message_reference"] = message.reference
        if message.thread and not message.thread.deleted:
            shown["thread"] = payloads.channel(message.thread, self._viewer)
        if message.snapshots:
            shown["message_snapshots"] = message.snapshots
        if message.interaction:
            shown["interaction_metadata"] = _metadata(message.interaction)
        return shown if nested else {**shown, **self._outer(message)}

    def snapshot(self, message: Message) -> Json:
        """The copy of a message that a forward contains."""
        return {"message": self._content(message)}

    def event(self, message: Message) -> Json:
        """A message in an event: with its guild and the author's membership.

        `channel_type` is one of the fields of Discord's documentation, "Gateway Events", "Message
        Create", since discord/discord-api-docs 8311.
        """
        shown = {**self.message(message), "channel_type": int(message.channel.type)}
        guild = message.channel.guild
        if guild is None:
            return shown
        shown["guild_id"] = str(guild.id)
        author = guild.members.get(message.author.id)
        if author is not None and message.webhook_id is None:
            shown["member"] = payloads.member_of(author)
        shown["mentions"] = [
            {**payloads.user(each), "member": payloads.member_of(guild.members[each.id])}
            if each.id in guild.members
            else payloads.user(each)
            for each in message.pings
        ]
        return shown

    def _content(self, message: Message) -> Json:
        # Files that components and embeds show are not listed (discord/discord-api-docs 8277).
        elsewhere = set(components.referenced_files([message.components, message.embeds]))
        return {
            "type": int(message.type),
            "content": message.content,
            "mentions": [payloads.user(each) for each in message.pings],
            "mention_roles": [str(each.id) for each in message.role_pings],
            "attachments": [
                self._cdn.payload(message.channel, each, ephemeral=message.ephemeral)
                for each in message.attachments
                if each.filename not in elsewhere
            ],
            "embeds": [self._component(message, each) for each in message.embeds],
            "timestamp": format_time(creation_time(message.id)),
            "edited_timestamp": None
            if message.edited_at is None
            else format_time(message.edited_at),
            "flags": int(message.flags),
            "components": [self._component(message, each) for each in message.components],
            **message.parts,
        }

    def _author(self, message: Message) -> Json:
        author = payloads.user(message.author)
        return {**author, "avatar": message.webhook_avatar} if message.webhook_id else author

    def _outer(self, message: Message) -> Json:
        outer: Json = {}
        if message.reactions:
            outer["reactions"] = [
                self._reaction(emoji, users) for emoji, users in message.reactions.items()
            ]
        if message.replied:
            referenced = message.referenced
            outer["referenced_message"] = (
                None
                if referenced is None or referenced.deleted
                else self.message(referenced, nested=True)
            )
        return outer

    def _reaction(self, emoji: str, users: list[User]) -> Json:
        return {
            "emoji": {"id": None, "name": emoji},
            "count": len(users),
            "count_details": {"burst": 0, "normal": len(users)},
            "burst_colors": [],
            "me_burst": False,
            "me": self._viewer in users,
        }

    def _component(self, message: Message, component: Json) -> Json:
        return {key: self._resolved(message, value) for key, value in component.items()}

    def _resolved(self, message: Message, value: Any) -> Any:
        match value:
            case {"url": str(url)} if url.startswith("attachment://"):
                return self._media(message, value)
            case dict():
                return self._component(message, value)
            case list():
                return [self._resolved(message, each) for each in value]
            case _:
                return value

    def _media(self, message: Message, media: Json) -> Json:
        name = str(media["url"]).removeprefix("attachment://")
        for attachment in message.attachments:
            if attachment.filename == name:
                link = self._cdn.link(message.channel, attachment)
                return {**media, "url": link, "proxy_url": link}
        return media


def _metadata(interaction: Interaction) -> Json:
    shown: Json = {
        "id": str(interaction.id),
        "type": int(interaction.type),
        "user": payloads.user(interaction.user),
        "authorizing_integration_owners": owners(interaction),
    }
    if interaction.type is InteractionType.COMPONENT and interaction.message:
        shown["interacted_message_id"] = str(interaction.message.id)
    if interaction.type is InteractionType.MODAL:
        source: Json = {**shown, "type": int(InteractionType.COMMAND)}
        if interaction.message:
            source["type"] = int(InteractionType.COMPONENT)
            source["interacted_message_id"] = str(interaction.message.id)
        shown["triggering_interaction_metadata"] = source
    return shown


def owners(interaction: Interaction) -> dict[str, str]:
    """Installers of the application where it was used: the guild."""
    guild = interaction.channel.guild
    return {"0": str(guild.id) if guild else "0"}
