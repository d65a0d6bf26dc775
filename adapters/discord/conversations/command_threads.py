"""Conversations that a command began, before Discord has their root message.

Such a conversation is known by its command. The answer to the command becomes its root message. If
the process ended before it could answer, the bot posts the question itself, once Discord takes no
first answer any more: an answer of the earlier process may still be under way.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from adapters.discord.connection.message_body import Message, neutral
from adapters.discord.connection.rest import Rest
from adapters.discord.conversations.known_roots import MESSAGE, KnownRoots
from adapters.discord.read_message import read_message
from gateway.adapter import AdapterHost
from gateway.conversation import ConversationKey
from gateway.errors import GatewayError

LOG = logging.getLogger("adapters.discord")

PREFIX = "ask-"
LOOKUP_MESSAGES = 100
"""Messages after the command that are looked through for its answer."""
ANSWER_SECONDS = 4.0
"""Seconds after which no first answer can arrive: Discord takes it for three."""
OPENING = "-# This was asked with a command:\n> {title}"


def root_of_command(interaction: str) -> str:
    """The root of the conversation that a command begins."""
    return f"{PREFIX}{interaction}"


def is_command_thread(key: ConversationKey) -> bool:
    """True if a command began the conversation."""
    return key.root.startswith(PREFIX)


class CommandThreads:
    """Knows the message on which such a conversation hangs."""

    def __init__(self, rest: Rest, host: AdapterHost, roots: KnownRoots) -> None:
        self._rest = rest
        self._host = host
        self._roots = roots

    async def set_message(self, key: ConversationKey, message: str) -> None:
        """The conversation hangs on this message."""
        try:
            await self._roots.keep(MESSAGE, key, message)
        except GatewayError as error:  # it can be found again
            LOG.warning("could not store the message of a conversation: %s", error)

    async def message(self, key: ConversationKey) -> str:
        """The root message, posted if need be. Raises the errors of calls."""
        if known := self._roots.place(MESSAGE, key):
            return known
        opening = OPENING.format(title=neutral(await self.title(key)))
        message = await self._find_answer(key, opening)
        if message is None:
            await asyncio.sleep(ANSWER_SECONDS)
            message = await self._find_answer(key, opening)
        message = message or await self._post_opening(key, opening)
        await self.set_message(key, message)
        return message

    async def title(self, key: ConversationKey) -> str:
        """The question in one line."""
        thread = await self._host.conversations.thread_at(key)
        return thread.title if thread else ""

    async def _find_answer(self, key: ConversationKey, opening: str) -> str | None:
        command = key.root.removeprefix(PREFIX)
        page: list[Mapping[str, Any]] = await self._rest.call(
            "GET",
            f"/channels/{key.channel}/messages",
            query={"after": command, "limit": str(LOOKUP_MESSAGES)},
        )
        for message in page:
            began = (message.get("interaction_metadata") or {}).get("id")
            says_so = message["author"].get("bot") and read_message(message).text == opening
            if command == began or says_so:
                return str(message["id"])
        return None

    async def _post_opening(self, key: ConversationKey, opening: str) -> str:
        body = Message(content=opening).body(nonce=f"a{key.root.removeprefix(PREFIX)}")
        posted = await self._rest.call("POST", f"/channels/{key.channel}/messages", json=body)
        return str(posted["id"])
