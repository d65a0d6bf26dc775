"""Discord messages as the gateway takes them: author, conversation, files."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from time import monotonic

from adapters.discord.bounded_cache import BoundedCache
from adapters.discord.connection.message_body import CONTENT, Message, clip
from adapters.discord.connection.rest import Rest
from adapters.discord.connection.values import DISCORD_EPOCH, BotIdentity, Sender
from adapters.discord.conversations.channels import Channels, find_conversation
from adapters.discord.conversations.threads import Spots
from adapters.discord.inbound.author_lookup import AuthorLookup
from adapters.discord.inbound.files import FileReader
from adapters.discord.inbound.parse_messages import (
    FileRef,
    ForeignMessage,
    MessageDeletion,
    ParsedMessage,
    parse_files,
    parse_history,
    readable_text,
)
from gateway.adapter import NOT_ALLOWED, TELL_AGAIN, AdapterHost, AuthError
from gateway.client import Receipt
from gateway.conversation import Author, ConversationKey, InboundMessage, Quote, order_key
from gateway.errors import GatewayError

LOG = logging.getLogger("adapters.discord")

SITE = "https://discord.com/channels"
FRESH = 900.0
"""Seconds for which a message is answered of itself, also where an edit calls the team."""
EARLIER = 50
"""Messages of a thread that are read when the team is called there."""
EARLIER_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class InboundContext:
    """Discord's state that messages need.

    `roles` gives a role's name, "" for an unknown one.
    """

    rest: Rest
    spots: Spots
    channels: Channels
    people: AuthorLookup
    files: FileReader
    roles: Callable[[str], str]


class MessageHandler:
    """Hands messages for the team to the gateway."""

    def __init__(self, host: AdapterHost, knowledge: InboundContext) -> None:
        self._host = host
        self._context = knowledge
        self._refused_at = BoundedCache[float](1_000)
        self._participates = BoundedCache[bool](10_000)

    async def handle(self, said: ParsedMessage, me: BotIdentity) -> Receipt | None:
        """Take a message; None unless for the team. Raises GatewayError."""
        message = await self.prepare(said, me)
        if message is None:
            self._host.count_ignored("not addressed")
            return None
        return await self.submit(message, said, me)

    async def prepare(
        self, said: ParsedMessage, me: BotIdentity, *, files: bool = True
    ) -> InboundMessage | None:
        """The message, with `files`, if for the team. Raises GatewayError."""
        if not (said.text.strip() or said.files or said.foreign):
            return None
        key, in_thread = await self.find_conversation(said)
        author = await self._context.people.author(said.sender, said.guild)
        going_on = await self._is_participant(said, key, in_thread=in_thread)
        direct = not said.guild
        if not self._host.addressed(
            key, author, direct=direct, mentioned=said.mentioned, in_thread=going_on
        ):
            return None
        message = await self._host.judge(await self._build_message(said, key, author, me))
        if files and message.may_write:  # nobody else makes the bot read files
            message = await self._with_files(message, said)
        return message

    async def may(self, message: InboundMessage) -> bool:
        """True if its author may write there."""
        return await self._host.may(message)

    async def is_known(self, message: InboundMessage) -> bool:
        """True if the message was taken before."""
        return bool(await self._host.known_keys(message.dedupe))

    async def submit(
        self, message: InboundMessage, said: ParsedMessage, me: BotIdentity
    ) -> Receipt:
        """Hand in a message; `said` is the last of its parts."""
        message = await self._with_history(message, said, me)
        if message.direct:
            self._context.spots.add_direct(message.key.channel)
        elif message.key.channel == said.channel:
            self._context.spots.set_opening(message.key, message.text, said.sender.id)
        receipt = await self.accept(message)
        await self._reply(receipt, said)
        return receipt

    async def accept(self, message: InboundMessage) -> Receipt:
        """Hand something in that may begin or end a conversation."""
        receipt = await self._host.accept(message)
        if receipt.thread:
            self._participates.put(str(message.key), True)
            if message.direct:
                await self._context.spots.keep_direct(message.key, receipt.thread)
        return receipt

    async def handle_edit(self, said: ParsedMessage, me: BotIdentity) -> None:
        """Take an edited text, which may mention the team first."""
        if not said.edited:
            return
        key, _ = await self.find_conversation(said)
        created, edit = _creation_key(key, said.id), key.dedupe("edit", said.id, said.edited)
        known = await self._host.known_keys((created, edit))
        if created not in known and _mentions_bot_late(said):
            await self.handle(said, me)
        if created not in known or edit in known:
            return
        author = await self._context.people.author(said.sender, said.guild)
        message = await self._build_message(said, key, author, me)
        message = await self._host.judge(replace(message, event="edit", dedupe=(edit,)))
        if message.may_write:
            message = await self._with_files(message, said)
        await self._host.accept(message)

    async def handle_deletion(self, removed: MessageDeletion) -> None:
        """Take that messages are gone."""
        for message in removed.ids:
            key, _ = await find_conversation(
                self._context.channels, self._context.spots, removed.channel, removed.guild, message
            )
            if await self._host.known_keys((_creation_key(key, message),)):
                await self.submit_deletion(key, message)

    async def submit_deletion(self, key: ConversationKey, message: str) -> None:
        """Take that a message of a conversation is gone. Raises GatewayError."""
        await self._host.accept(
            InboundMessage(
                key=key,
                author=Author(id=""),
                event="delete",
                direct=not key.workspace,
                dedupe=(key.dedupe("delete", message),),
                message_id=message,
            )
        )

    async def find_conversation(self, said: ParsedMessage) -> tuple[ConversationKey, bool]:
        """The conversation of a message; True if it is in a thread."""
        return await find_conversation(
            self._context.channels,
            self._context.spots,
            said.channel,
            said.guild,
            said.chain or said.id,
        )

    async def _is_participant(
        self, said: ParsedMessage, key: ConversationKey, *, in_thread: bool
    ) -> bool:
        """True if the bot takes part in the conversation."""
        if said.answers or not in_thread:
            return bool(said.answers)
        known = self._participates.get(str(key))
        if known is None:
            known = await self._host.thread_at(key) is not None
            if self._participates.get(str(key)) is None:  # it may have begun meanwhile
                self._participates.put(str(key), known)
        return known

    async def _build_message(
        self, said: ParsedMessage, key: ConversationKey, author: Author, me: BotIdentity
    ) -> InboundMessage:
        text = readable_text(said, me, self._context.channels.name, self._context.roles)
        return InboundMessage(
            key=key,
            author=author,
            direct=not said.guild,
            text=text,
            dedupe=(_creation_key(key, said.id),),
            message_id=said.id,
            order_key=order_key(said.id),
            reply_to=said.request or said.answers,
            link=f"{SITE}/{said.guild or '@me'}/{said.channel}/{said.id}",
            quotes=tuple([await self.quote(each, key, said.guild) for each in said.foreign]),
        )

    async def quote(self, foreign: ForeignMessage, key: ConversationKey, guild: str) -> Quote:
        """Another person's message, quoted as data."""
        if foreign.forward:
            return Quote(text=foreign.text, kind="forward")
        if foreign.sender is None:
            return Quote(text=foreign.text)
        verified = await self._may_write(foreign.sender, key, guild)
        return Quote(text=foreign.text, author=foreign.sender.name, verified=verified)

    async def _may_write(self, sender: Sender, key: ConversationKey, guild: str) -> bool:
        """True if somebody may write there; False if Discord can't identify them."""
        try:
            author = await self._context.people.author(sender, guild)
        except AuthError:
            raise
        except GatewayError as error:
            LOG.info("who user %s is can't be asked: %s", sender.id, error)
            return False
        return await self._host.may(InboundMessage(key=key, author=author, direct=not guild))

    async def _with_files(self, message: InboundMessage, said: ParsedMessage) -> InboundMessage:
        """The message with its files, and a notice about those refused."""
        if not said.files:
            return message
        files, told = await self._context.files.read(said.files, lambda: self._refetch(said))
        text = "\n".join(filter(None, (message.text, *told)))
        return replace(message, attachments=files, text=text)

    async def _with_history(
        self, message: InboundMessage, said: ParsedMessage, me: BotIdentity
    ) -> InboundMessage:
        """The message that calls the team into a thread, with its history.

        As far as the history can be read now.
        """
        key = message.key
        in_thread = bool(said.guild) and key.channel != said.channel
        if not in_thread or message.text.startswith("/"):
            return message
        message = await self._host.judge(message)
        if not message.may_write:
            return message
        if await self._host.thread_at(key) is not None:
            return message
        path = f"/channels/{said.channel}/messages"
        query = {"before": message.message_id, "limit": str(EARLIER)}
        try:
            async with asyncio.timeout(EARLIER_SECONDS):
                found = await self._context.rest.call("GET", path, query=query)
                parsed = parse_history(found, said.guild, me)
                earlier = [await self._history_quote(one, key, me) for one in parsed if one.text]
        except AuthError:
            raise
        except (TimeoutError, GatewayError) as error:
            LOG.info("what was said in thread %s is not read: %r", said.channel, error)
            return message
        return replace(message, quotes=(*earlier, *message.quotes))

    async def _history_quote(
        self, said: ParsedMessage, key: ConversationKey, me: BotIdentity
    ) -> Quote:
        text = readable_text(said, me, self._context.channels.name, self._context.roles)
        quote = await self.quote(ForeignMessage(text=text, sender=said.sender), key, said.guild)
        return replace(quote, kind="history")

    def _was_refused_recently(self, said: ParsedMessage) -> bool:
        """True if a channel recently refused this person.

        There, each message begins anew.
        """
        where, now = f"{said.channel}/{said.sender.id}", monotonic()
        told = self._refused_at.get(where)
        if told is not None and now - told < TELL_AGAIN:
            return True
        self._refused_at.put(where, now)
        return False

    async def _refetch(self, said: ParsedMessage) -> Sequence[FileRef]:
        path = f"/channels/{said.channel}/messages/{said.id}"
        found = await self._context.rest.call("GET", path)
        others = [found.get("referenced_message") or {}]
        others += [each.get("message", {}) for each in found.get("message_snapshots") or ()]
        return [file for each in (found, *others) for file in parse_files(each)]

    async def _reply(self, receipt: Receipt, said: ParsedMessage) -> None:
        """Send a private refusal directly, any other reply below the message."""
        refused = receipt.reply == NOT_ALLOWED
        if not receipt.reply or (refused and self._was_refused_recently(said)):
            return
        channel, below, message = (
            said.channel,
            said.id,
            Message(content=clip(receipt.reply, CONTENT)),
        )
        if refused and said.guild:
            direct = {"recipient_id": said.sender.id}
            opened = await self._context.rest.call("POST", "/users/@me/channels", json=direct)
            channel, below = opened["id"], ""
        body = message.body(nonce=f"r{said.id}", below=below)
        await self._context.rest.call("POST", f"/channels/{channel}/messages", json=body)


def sent_at(said: ParsedMessage) -> float:
    """When it was said, in seconds since the epoch: its id tells."""
    return (int(said.id) >> 22) / 1000 + DISCORD_EPOCH


def _creation_key(key: ConversationKey, message: str) -> str:
    return key.dedupe("create", message)


def _mentions_bot_late(said: ParsedMessage) -> bool:
    """True if an edit mentions the bot soon after the message."""
    edited_at = datetime.fromisoformat(said.edited).timestamp()
    return said.mentioned and edited_at - sent_at(said) <= FRESH
