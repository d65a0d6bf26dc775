"""Drafts completed to messages: authors, files and quoted text."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from adapters.slack.connection.payload import (
    as_command,
    asks_for_help,
    opens_with_mention,
    plain,
    unnamed,
)
from adapters.slack.connection.web_api import Calls
from adapters.slack.connection.workspace import Workspace
from adapters.slack.inbound.author_lookup import AuthorLookup
from adapters.slack.inbound.history import History, HistoryExcerpt, Quoted, quotes_of
from adapters.slack.inbound.parse_events import parse_history_message
from adapters.slack.inbound.parsed import Draft
from adapters.slack.inbound.permalinks import Permalinks
from gateway.adapter import AdapterHost
from gateway.conversation import Author, ConversationKey, InboundMessage, order_key
from gateway.errors import GatewayError
from gateway.visible import VisibleContent, Writer, with_content

MAY_COME = 86_400.0
"""Seconds after which a message that was deleted is surely not delivered any more."""
LATE = 10.0
"""Seconds after which a message was not delivered at the first try: later ones may have been."""

HandIn: TypeAlias = Callable[[Draft], Awaitable[None]]
"""Takes a message of a thread, if it is for the team."""


class Drafts:
    """Completes drafts. `clock` is in seconds since the epoch.

    Calls of Slack for that are bounded in time. All of them may fail, except the one for the
    author.
    """

    def __init__(
        self,
        host: AdapterHost,
        calls: Calls,
        history: History,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._host = host
        self._clock = clock
        self._calls = calls
        self._history = history
        self._permalinks = Permalinks(history.rates)
        self._people = AuthorLookup(calls, lambda: host.policy.groups)
        self.commands = frozenset(info.name for info in host.commands())
        """The names of the gateway's commands."""

    def me(self, team: str) -> Workspace:
        """The bot in a workspace."""
        return self._calls.clients.me(team)

    async def author(self, draft: Draft) -> Author:
        """The author of a draft. Raises GatewayError if Slack can't be asked."""
        return await self._people.author(draft)

    async def with_author(self, draft: Draft) -> InboundMessage:
        """The draft's message with its author. Raises GatewayError."""
        return replace(draft.message, author=await self.author(draft))

    async def judged(self, draft: Draft) -> InboundMessage:
        """The draft's message, judged, with its author and plain words.

        Raises GatewayError if Slack can't be asked.
        """
        message = await self._host.judge(await self.with_author(draft))
        me = self.me(message.key.workspace)
        text = as_command(plain(draft.content.text, {}, me=me.user), self.commands)
        return replace(message, text=text, only_answers=self._only_answers(draft))

    async def is_meant(self, draft: Draft, *, joined: bool = False) -> bool:
        """True if a draft is for the team.

        `joined`: that is going to be in the thread. Asks neither Slack nor, where possible, the
        store: most messages in a channel are not.
        """
        message, host = draft.message, self._host
        if draft.meant:
            return True
        if message.event == "delete" and self._may_come(message):
            return True
        if message.event in ("edit", "delete"):
            begun = await host.conversations.thread_at(message.key) is not None
            return begun and (
                self._is_addressed(draft, in_thread=True) or await self._came(message)
            )
        if self._is_addressed(draft):
            return True
        return draft.in_thread and await self._continues(draft, joined=joined)

    async def _continues(self, draft: Draft, *, joined: bool) -> bool:
        """True if its thread makes a draft one for the team."""
        if self._only_answers(draft):
            thread = await self._host.conversations.thread_at(draft.message.key)
            return thread is not None and thread.state == "waiting"
        if not self._is_addressed(draft, in_thread=True):
            return False
        return joined or await self._host.conversations.thread_at(draft.message.key) is not None

    def _only_answers(self, draft: Draft) -> bool:
        """True if a draft can only be the answer to a question."""
        if not (draft.in_thread and draft.to_others) or self._is_addressed(draft, in_thread=True):
            return False
        return self._is_addressed(replace(draft, to_others=False), in_thread=True)

    def _is_addressed(self, draft: Draft, *, in_thread: bool = False) -> bool:
        message = draft.message
        return self._host.policy.addressed(
            message.key,
            message.author,
            direct=message.direct,
            mentioned=draft.mentioned,
            in_thread=in_thread,
            to_others=draft.to_others,
        )

    async def _came(self, message: InboundMessage) -> bool:
        """True if the message of an edit or a deletion was taken."""
        created = message.key.dedupe("create", message.message_id)
        return bool(await self._host.known_keys([created]))

    def _may_come(self, message: InboundMessage) -> bool:
        """True if a deleted message of the team may still come."""
        served = self._host.policy.addressed(
            message.key, message.author, direct=message.direct, mentioned=True, in_thread=True
        )
        return served and self._age(message) <= MAY_COME

    def _age(self, message: InboundMessage) -> float:
        """Seconds since a message of Slack was written."""
        return self._clock() - float(message.message_id)

    def is_late(self, draft: Draft) -> bool:
        """True if later ones may have been delivered before it."""
        said = draft.message.event in ("message", "file")
        return said and self._age(draft.message) > LATE

    async def as_new(self, draft: Draft) -> Draft:
        """An edit of what was not taken, as a new message.

        It first mentions the bot, or came before its message.

        Other drafts are returned as they are.
        """
        message = draft.message
        if not (message.event == "edit" and draft.recent and self._is_addressed(draft)):
            return draft
        if await self._came(message):
            return draft
        created = message.key.dedupe("create", message.message_id)
        said = replace(
            message,
            event="message",
            dedupe=(created, *message.dedupe),
            order_key=order_key(message.message_id),
        )
        return replace(draft, message=said)

    async def after(self, draft: Draft) -> list[Draft]:
        """Recent messages of its thread after this one, not taken."""
        message = draft.message
        excerpt = await self._history.read(message.key, after=message.message_id)
        later = [
            each
            for each in self._parsed(excerpt, message.key)
            if each.message.message_id > message.message_id
        ]
        return await self._not_taken(later)

    def _parsed(self, excerpt: HistoryExcerpt | None, key: ConversationKey) -> list[Draft]:
        """Messages of people and other apps in a thread."""
        me, read = self.me(key.workspace), excerpt.messages if excerpt else ()
        found = [parse_history_message(each, key.workspace, key.channel, me) for each in read]
        return [each for each in found if isinstance(each, Draft)]

    async def _not_taken(self, drafts: Sequence[Draft]) -> list[Draft]:
        """Recent messages of a thread that were not taken, for whomever."""
        recent = [
            each for each in drafts if self._age(each.message) <= self._host.limits.missed.answer
        ]
        known = await self._host.known_keys([each.message.dedupe[0] for each in recent])
        return [each for each in recent if each.message.dedupe[0] not in known]

    async def message(
        self, draft: Draft, *, first: bool = True, hand_in: HandIn | None = None
    ) -> InboundMessage:
        """The whole message. Raises GatewayError.

        Of somebody who may not write there, nothing more is asked for: it is going to be refused.
        If it is not the `first` of those that are handed in, the earlier ones are no quotes.
        `hand_in` takes earlier messages of its thread that are for the team, and have not come yet.
        """
        if draft.message.event == "delete":
            return draft.message
        message = await self.judged(draft)
        content, pointed = draft.content, draft.pointed
        if not message.may_write:
            content = replace(content, files=(), unread=())
        elif first:
            pointed = (*await self._earlier(draft, hand_in), *pointed)
        if message.may_write and message.event in ("message", "file"):
            content, linked = await self._permalinks.read(message, draft.user, content)
            pointed = (*pointed, *linked)
        return await self.complete(message, content, pointed)

    async def plain(self, team: str, text: str) -> str:
        """A text with the names of those whom it mentions."""
        return plain(text, await self._names(team, [VisibleContent(text=text)]))

    async def _trusted(
        self, key: ConversationKey, contents: Sequence[VisibleContent]
    ) -> frozenset[str]:
        """Those writers who may write there, as far as is known."""
        found: set[str] = set()
        for user in {each.who.id for each in contents if each.who.sure}:
            with contextlib.suppress(GatewayError):
                author = await self._people.known(key.workspace, user)
                if author is None:
                    continue
                judged = await self._host.judge(InboundMessage(key=key, author=author))
                if judged.may_write:
                    found.add(user)
        return frozenset(found)

    async def complete(
        self, message: InboundMessage, content: VisibleContent, pointed: Sequence[Quoted]
    ) -> InboundMessage:
        """The message with what it shows and brings, with names for ids.

        A quote is verified where Slack vouches for its author, and the author may write to the team
        there.
        """
        key, me = message.key, self.me(message.key.workspace)
        names = await self._names(key.workspace, [content, *(each for _, each in pointed)])
        named = replace(_named(content, names), text=plain(content.text, names, me=me.user))
        found = with_content(
            message,
            named,
            [(kind, _named(each, names)) for kind, each in pointed],
            trusted=await self._trusted(key, [each for _, each in pointed]),
        )
        text = as_command(found.text, self.commands)
        alone = not (found.quotes or found.awaited or found.missing)
        if message.event == "message" and asks_for_help(text, alone=alone):
            text = "/help"
        is_edit = message.event == "edit"  # Slack's editor changes the text alone
        return replace(
            found,
            text=text,
            opens_with_mention=opens_with_mention(content.text, me=me.user),
            awaited=() if is_edit else found.awaited,
            missing=() if is_edit else found.missing,
            keeps_files=is_edit,
        )

    async def _names(self, team: str, contents: Sequence[VisibleContent]) -> dict[str, str]:
        """Names of all whom the contents mention, and of their writers."""
        me, texts = self.me(team), list[str]()

        def note(text: str) -> str:
            texts.append(text)
            return text

        writers = [each.who for content in contents for each in content.nested()]
        for content in contents:
            content.map(note)
        wanted = dict.fromkeys(who.id for who in writers if who.id and not who.name)
        wanted |= dict.fromkeys(ident for text in texts for ident in unnamed(text))
        wanted.pop(me.user, None)
        names = await self._people.names(team, wanted) if wanted else {}
        return {**names, me.user: me.handle}

    async def _earlier(self, draft: Draft, hand_in: HandIn | None) -> tuple[Quoted, ...]:
        """Earlier messages of a thread that the team now joins.

        Those that are for the team are handed in, if they come later than this one: then the team
        gets them, and those between, as what their authors have said.
        """
        message = draft.message
        key = message.key
        joins = message.event in ("message", "file") and draft.in_thread
        if not joins or await self._host.conversations.thread_at(key) is not None:
            return ()
        excerpt = await self._history.before(message)
        said = [
            each
            for each in self._parsed(excerpt, key)
            if each.message.message_id < message.message_id
        ]
        if hand_in is not None:
            for each in await self._not_taken(said):
                await hand_in(each)
            if await self._host.conversations.thread_at(key) is not None:
                return ()
        limit = await self._host.conversations.history_limit(key)
        return quotes_of(
            excerpt,
            [each for each in said if limit.allows(each.message.order_key, each.message.at)],
        )


def _named(content: VisibleContent, names: Mapping[str, str]) -> VisibleContent:
    def name(who: Writer) -> Writer:
        return replace(who, name=who.name or names.get(who.id, ""))

    return content.map(lambda text: plain(text, names), name)
