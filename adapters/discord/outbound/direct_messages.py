"""Direct messages about places that can't be written to."""

from __future__ import annotations

from collections.abc import Mapping

from adapters.discord.connection.message_body import CONTENT, Message, clip
from adapters.discord.connection.rest import Rest
from adapters.discord.outbound.payloads import user_ids
from gateway.conversation import ConversationKey
from gateway.surface import CallRejected, Obstacle

WHY: Mapping[Obstacle, str] = {
    "archived": "it is archived. Open it again, or ask me somewhere else.",
    "absent": "I have no access to it any more, or it was deleted. Ask somebody who manages the "
    "server to give me the permission *View Channel* there, then ask again.",
    "locked": "the thread is locked. Ask me again outside of it.",
    "forbidden": "I may not write there. Ask somebody who manages the server to give me the "
    "permissions *Send Messages* and *Send Messages in Threads*, or ask elsewhere.",
}


class DirectMessages:
    """Sends to people in their conversation with the bot.

    Whoever takes none is refused with 50007 (docs.discord.com, "Create DM", "JSON error codes").
    """

    why: Mapping[Obstacle, str] = WHY

    def __init__(self, rest: Rest) -> None:
        self._rest = rest

    def mention(self, key: ConversationKey) -> str:
        """The channel as a link, without its name."""
        return f"<#{key.channel}>"

    async def send(self, key: ConversationKey, person: str, text: str, *, nonce: str = "") -> None:
        """Send a text of ours, once with a `nonce`. Raises GatewayError."""
        users = user_ids([person])
        if not users or not key.workspace:
            raise CallRejected("There is no other place to reach them.")
        person_there = {"recipient_id": users[0]}
        opened = await self._rest.call("POST", "/users/@me/channels", json=person_there)
        body = Message(content=clip(text, CONTENT)).body(nonce=nonce)
        await self._rest.call("POST", f"/channels/{opened['id']}/messages", json=body)
