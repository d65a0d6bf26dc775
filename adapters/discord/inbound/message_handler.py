"""Discord messages as the gateway takes them: author, conversation, files."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from adapters.bounded_cache import BoundedCache
from adapters.discord.connection.message_body import CONTENT, Message, clip
from adapters.discord.connection.values import Payload, sent_at, snowflake
from adapters.discord.conversations.threads import UNKNOWN_SECONDS
from adapters.discord.inbound.contents import Contents, InboundContext
from adapters.discord.inbound.parse_messages import (
    MessageDeletion,
    ParsedMessage,
    parse_history,
)
from adapters.known_places import KnownPlaces
from adapters.tolerated import tolerated
from gateway.adapter import NOT_ALLOWED, TELL_AGAIN, AdapterHost
from gateway.client import Receipt
from gateway.conversation import Author, ConversationKey, InboundMessage, Place, Quote, order_key
from gateway.surface import CallRejected

LOG = logging.getLogger("adapters.discord")

SITE = "https://discord.com/channels"
FRESH_SECONDS = 900.0
"""Seconds for which a message is answered of itself, also where an edit calls the team."""
HISTORY_MESSAGES = 50
"""Messages of a thread that are read when the team is called there."""
HISTORY_CHARACTERS = 100_000
HISTORY_SECONDS = 5.0
HELP = "/help"
"""Instead of nothing: who calls the team without a word is told what can be said."""
MAY_COME = 86_400.0
"""Seconds after which a message that was deleted is surely not found any more after a gap."""


class MessageHandler:
    """Hands messages for the team to the gateway."""

    def __init__(self, host: AdapterHost, context: InboundContext) -> None:
        self._host = host
        self._context = context
        self.contents = Contents(host, context)
        """The contents of messages."""
        self._refused = BoundedCache[str, bool](1_000)
        self._participates = BoundedCache[str, bool](10_000)
        self._places = KnownPlaces(host)

    async def handle(self, parsed: ParsedMessage) -> Receipt | None:
        """Hand in a message; None unless for the team. Raises GatewayError."""
        message = await self.prepare(parsed)
        if message is None:
            self._host.health.count_ignored("not addressed")
            return None
        return await self.submit(message, parsed)

    async def prepare(
        self,
        parsed: ParsedMessage,
        *,
        joined: bool = False,
    ) -> InboundMessage | None:
        """The message if it is for the team. Raises GatewayError.

        `joined`: messages before it are going to begin its conversation.
        """
        bare = parsed.is_bare
        if bare and not (parsed.mentioned or (parsed.content.stickers and not parsed.guild)):
            return None
        key, in_thread = await self.find_conversation(parsed)
        author = await self._context.people.author(parsed.sender, parsed.guild)
        going_on = (in_thread and joined) or await self._is_participant(
            parsed, key, in_thread=in_thread
        )
        only_answers = False
        if not self._is_addressed(parsed, key, author, in_thread=going_on):
            only_answers = going_on and await self._may_answer(parsed, key, author)
            if not only_answers:
                return None
        message = await self._build_message(parsed, key, author)
        return await self.judge(replace(message, only_answers=only_answers))

    async def judge(self, message: InboundMessage) -> InboundMessage:
        """The message with the ruling on it.

        Nobody who may not write makes the bot read files.
        """
        message = await self._host.judge(message)
        return message if message.may_write else replace(message, awaited=())

    def _is_addressed(
        self, parsed: ParsedMessage, key: ConversationKey, author: Author, *, in_thread: bool
    ) -> bool:
        return self._host.policy.addressed(
            key,
            author,
            direct=not parsed.guild,
            mentioned=parsed.mentioned,
            in_thread=in_thread,
            to_others=parsed.to_others,
        )

    async def _may_answer(
        self, parsed: ParsedMessage, key: ConversationKey, author: Author
    ) -> bool:
        """True if what mentions others may answer a question of the team."""
        said = replace(parsed, to_others=False)
        if not (parsed.to_others and self._is_addressed(said, key, author, in_thread=True)):
            return False
        thread = await self._host.conversations.thread_at(key)
        return thread is not None and thread.state == "waiting"

    async def not_taken(self, parsed: Sequence[ParsedMessage]) -> list[ParsedMessage]:
        """Those of these messages that were not accepted before."""
        keys = {each.id: (await self.find_conversation(each))[0] for each in parsed}
        known = await self._host.known_keys([_creation_key(key, id_) for id_, key in keys.items()])
        return [each for each in parsed if _creation_key(keys[each.id], each.id) not in known]

    async def submit(self, message: InboundMessage, parsed: ParsedMessage) -> Receipt:
        """Hand in a message."""
        message = await self.complete(message, parsed, first=True)
        receipt = await self.accept(message)
        if receipt.outcome == "offered":
            await self._context.offer(parsed.channel, sent_at(parsed.id))
        await self._reply(receipt, message, parsed)
        return receipt

    async def complete(
        self, message: InboundMessage, parsed: ParsedMessage, *, first: bool
    ) -> InboundMessage:
        """The whole message; the `first` one of a thread has its history."""
        if not first:
            return _or_help(message)
        self._note_place(message, parsed)
        return _or_help(await self._with_history(message, parsed))

    async def tell(self, message: InboundMessage, parsed: ParsedMessage, receipt: Receipt) -> None:
        """Note what was taken, and reply to its author."""
        if message.awaited:
            await self._context.fetching.look()
        await self._note_receipt(message, receipt)
        with tolerated(LOG, "reply to a message"):
            await self._reply(receipt, message, parsed)

    def _note_place(self, message: InboundMessage, parsed: ParsedMessage) -> None:
        """Note where a conversation stands that may begin with this message."""
        if message.direct:
            self._context.targets.add_direct(message.key.channel)
        elif message.key.channel == parsed.channel:
            self._context.targets.set_opening(message.key, message.text, parsed.sender.id)

    async def accept(self, message: InboundMessage) -> Receipt:
        """Hand something in that may begin or end a conversation."""
        receipt = await self._host.accept(message)
        if message.awaited:
            await self._context.fetching.look()
        await self._note_receipt(message, receipt)
        return receipt

    async def _note_receipt(self, message: InboundMessage, receipt: Receipt) -> None:
        if receipt.thread:
            self._participates.put(str(message.key), True)
            if message.direct:
                await self._context.targets.keep_direct(message.key, receipt.thread)
            await self._places.tell(message.key, self._place(message))

    def _place(self, message: InboundMessage) -> Place:
        """The channel's name; who reads there needs a privilege (Server Members Intent)."""
        name = self._context.cache.channel_name(message.key.channel)
        return Place(name=f"#{name}" if name else "", direct=message.direct)

    async def handle_edit(self, parsed: ParsedMessage) -> None:
        """Hand in an edited text, which may mention the team first."""
        if not parsed.edited:
            self._host.health.count_ignored("no change")
            return
        key, _ = await self.find_conversation(parsed)
        created, edit = _creation_key(key, parsed.id), key.dedupe("edit", parsed.id, parsed.edited)
        known = await self._host.known_keys((created, edit))
        if created not in known and _calls_late(parsed):
            await self.handle(parsed)
            return
        if edit in known:
            self._host.health.count_ignored("already taken")
            return
        if created not in known and await self._host.conversations.thread_at(key) is None:
            self._host.health.count_ignored("not addressed")
            return
        author = await self._context.people.author(parsed.sender, parsed.guild)
        if created not in known and not self._is_addressed(parsed, key, author, in_thread=True):
            return
        message = await self._build_message(parsed, key, author)
        mark = order_key(str(snowflake(_edited_at(parsed))))
        message = replace(message, event="edit", dedupe=(edit,), order_key=mark)
        await self._host.accept(await self.judge(message))

    async def handle_deletion(self, removed: MessageDeletion) -> None:
        """Hand in deletions, also of messages that may still come."""
        for message in removed.ids:
            key, _ = await self._context.find_conversation(removed.channel, removed.guild, message)
            if self._may_come(key, message) or await self._host.known_keys(
                (_creation_key(key, message),)
            ):
                await self.submit_deletion(key, message)
            else:
                self._host.health.count_ignored("not addressed")

    def _may_come(self, key: ConversationKey, message: str) -> bool:
        """True if a deleted message of the team may still come."""
        direct = not key.workspace
        served = self._host.policy.addressed(
            key, Author(id=""), direct=direct, mentioned=True, in_thread=True
        )
        return served and self._context.clock() - sent_at(message) <= MAY_COME

    async def submit_deletion(self, key: ConversationKey, message: str) -> None:
        """Hand in the deletion of a message. Raises GatewayError."""
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

    async def find_conversation(self, parsed: ParsedMessage) -> tuple[ConversationKey, bool]:
        """The conversation of a message; True if it is in a thread."""
        root = parsed.chain or parsed.id
        return await self._context.find_conversation(parsed.channel, parsed.guild, root)

    async def _is_participant(
        self, parsed: ParsedMessage, key: ConversationKey, *, in_thread: bool
    ) -> bool:
        """True if the bot takes part there, or made the thread.

        That is so whatever the store has lost, unless the conversation was deleted here.
        """
        if parsed.answers or not in_thread:
            return bool(parsed.answers)
        name = str(key)
        known = self._participates.get(name)
        if not known and self._participates.get(name, UNKNOWN_SECONDS) is None:
            known = await self._host.conversations.thread_at(key) is not None
            if (
                not known
                and (await self._context.cache.channel(parsed.channel)).owner == parsed.me.user
            ):
                limit, made = await self._host.conversations.history_limit(key), parsed.channel
                known = limit.allows(order_key(made), sent_at(made))
            known = known or bool(self._participates.get(name))
            self._participates.put(name, known)
        return bool(known)

    async def _build_message(
        self, parsed: ParsedMessage, key: ConversationKey, author: Author
    ) -> InboundMessage:
        message = InboundMessage(
            key=key,
            author=author,
            direct=not parsed.guild,
            dedupe=(_creation_key(key, parsed.id),),
            message_id=parsed.id,
            order_key=order_key(parsed.id),
            reply_to=parsed.request or parsed.answers,
            link=f"{SITE}/{parsed.guild or '@me'}/{parsed.channel}/{parsed.id}",
            mentioned=parsed.mentioned,
            opens_with_mention=parsed.own_text.lstrip().startswith("<@"),
            at=_edited_at(parsed) if parsed.edited else sent_at(parsed.id),
        )
        return await self.contents.add(message, parsed)

    async def _with_history(self, message: InboundMessage, parsed: ParsedMessage) -> InboundMessage:
        """The message that calls the team into a thread, with its history.

        As far as the history can be read now.
        """
        key = message.key
        in_thread = bool(parsed.guild) and key.channel != parsed.channel
        if not in_thread or message.text.startswith("/"):
            return message
        message = await self._host.judge(message)
        if not message.may_write:
            return message
        if await self._host.conversations.thread_at(key) is not None:
            return message
        with tolerated(LOG, f"read the history of thread {parsed.channel}"):
            history = await self._history(message, parsed)
            await self._submit_overtaken(history)
            if await self._host.conversations.thread_at(key) is not None:
                return message
            earlier = [
                each.as_pointed("root" if each.id == parsed.channel else "history")
                for each in history
            ]
            async with asyncio.timeout(HISTORY_SECONDS):
                return _bounded(await self.contents.add(message, parsed, earlier))
        return message

    async def _history(self, message: InboundMessage, parsed: ParsedMessage) -> list[ParsedMessage]:
        """Others' messages of a thread before this one, unless deleted here."""
        path = f"/channels/{parsed.channel}/messages"
        query = {"before": message.message_id, "limit": str(HISTORY_MESSAGES)}
        async with asyncio.timeout(HISTORY_SECONDS):
            found: list[Payload] = await self._context.rest.call("GET", path, query=query)
            if len(found) == HISTORY_MESSAGES:
                found += await self._starter(parsed.channel)
        limit = await self._host.conversations.history_limit(message.key)
        return [
            each
            for each in parse_history(found, parsed.guild, parsed.channel, parsed.me)
            if limit.allows(order_key(each.id), sent_at(each.id))
        ]

    async def _starter(self, thread: str) -> list[Payload]:
        """The message on which a thread began.

        It stands in the thread's channel, that of a post in the post.
        """
        try:
            parent = (await self._context.cache.channel(thread)).parent
            own = (await self._context.cache.channel(parent)).has_posts
            path = f"/channels/{thread if own else parent}/messages/{thread}"
            return [await self._context.rest.call("GET", path)]
        except CallRejected as error:
            LOG.info("the beginning of thread %s can't be read: %s", thread, error)
            return []

    async def _submit_overtaken(self, history: Sequence[ParsedMessage]) -> None:
        """Hand in messages that a later one of their thread has overtaken.

        They are missed ones that are still to be found: no quotes, but what their authors say.
        """
        since = self._context.clock() - self._host.limits.missed.answer
        recent = [each for each in history if each.written and sent_at(each.id) >= since]
        for each in await self.not_taken(recent):
            message = await self.prepare(each)
            if message is not None and not self._host.is_command(message.text):
                await self.submit(message, each)

    def _was_refused_recently(self, parsed: ParsedMessage) -> bool:
        """True if a channel recently refused this person.

        There, each message begins anew.
        """
        where = f"{parsed.channel}/{parsed.sender.id}"
        if refused := self._refused.get(where, TELL_AGAIN):
            return refused
        self._refused.put(where, True)
        return False

    async def _reply(
        self, receipt: Receipt, message: InboundMessage, parsed: ParsedMessage
    ) -> None:
        """Send a reply, or tell its person directly why it can't come."""
        try:
            await self._send_reply(receipt, message, parsed)
        except CallRejected as error:
            LOG.warning("a reply was not sent: %s", error)
            if error.obstacle and message.may_write:
                author = message.author.id
                await self._context.dead_ends.tell(message.key, author, error.obstacle)

    async def _send_reply(
        self, receipt: Receipt, message: InboundMessage, parsed: ParsedMessage
    ) -> None:
        """Send a private refusal directly, any other reply below the message."""
        refused = receipt.reply == NOT_ALLOWED
        if not receipt.reply or (refused and self._was_refused_recently(parsed)):
            return
        nonce = f"r{parsed.id}"
        if (refused or receipt.private) and parsed.guild:
            author = message.author.id
            await self._context.direct.send(message.key, author, receipt.reply, nonce=nonce)
            return
        reply = Message(content=clip(receipt.reply, CONTENT))
        body = reply.body(nonce=nonce, below=parsed.id)
        await self._context.rest.call("POST", f"/channels/{parsed.channel}/messages", json=body)


def _bounded(message: InboundMessage) -> InboundMessage:
    """The message without the oldest of a long history."""
    left, kept = HISTORY_CHARACTERS, list[Quote]()
    for quote in reversed(message.quotes):
        left -= len(quote.text) if quote.kind == "history" else 0
        if left >= 0 or quote.kind != "history":
            kept.append(quote)
    return replace(message, quotes=tuple(reversed(kept)))


def _or_help(message: InboundMessage) -> InboundMessage:
    """The message, or a question for the commands where it asks nothing."""
    asks = message.text or message.quotes or message.awaited or message.missing
    return message if asks else replace(message, text=HELP)


def _creation_key(key: ConversationKey, message: str) -> str:
    return key.dedupe("create", message)


def _calls_late(parsed: ParsedMessage) -> bool:
    """True if an edit is for the team, soon after its message."""
    soon = _edited_at(parsed) - sent_at(parsed.id) <= FRESH_SECONDS
    return soon and (parsed.mentioned or not parsed.guild)


def _edited_at(parsed: ParsedMessage) -> float:
    """When it was edited, in seconds since the epoch."""
    return datetime.fromisoformat(parsed.edited).timestamp()
