"""Direct messages about places that can't be written to."""

from __future__ import annotations

from adapters.discord.connection.message_body import CONTENT, Message, clip
from adapters.discord.connection.rest import Rest
from adapters.discord.outbound.payloads import user_ids
from gateway.conversation import ConversationKey
from gateway.surface import CallRejected


class DirectMessages:
    """Sends to people in their conversation with the bot.

    Whoever takes none is refused with 50007 (docs.discord.com, "Create DM", "JSON error codes").
    """

    def __init__(self, rest: Rest) -> None:
        self._rest = rest

    def mention(self, key: ConversationKey) -> str:
        """The channel as a link, without its name."""
        return f"<#{key.channel}>"

    async def send(self, key: ConversationKey, person: str, text: str) -> None:
        """Send a text of ours to somebody. Raises GatewayError."""
        users = user_ids([person])
        if not users or not key.workspace:
            raise CallRejected("There is no other place to reach them.")
        person_there = {"recipient_id": users[0]}
        opened = await self._rest.call("POST", "/users/@me/channels", json=person_there)
        body = Message(content=clip(text, CONTENT)).body()
        await self._rest.call("POST", f"/channels/{opened['id']}/messages", json=body)
