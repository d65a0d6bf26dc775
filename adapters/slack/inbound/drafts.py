"""Drafts completed to messages: authors, files and quoted text."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from adapters.slack.connection.payload import (
    Payload,
    as_command,
    asks_for_help,
    mentioned,
    plain,
    ts_at,
)
from adapters.slack.connection.web_api import Calls
from adapters.slack.connection.workspace import Workspace
from adapters.slack.inbound.author_lookup import AuthorLookup
from adapters.slack.inbound.files import awaited
from adapters.slack.inbound.history import History
from adapters.slack.inbound.parse_events import parse_history_message, quoted
from adapters.slack.inbound.parsed import Draft, ForeignMessage, RemoteFile
from gateway.adapter import AdapterHost
from gateway.conversation import Author, ConversationKey, InboundMessage, Quote

HISTORY_SECONDS = 1.0
"""Seconds for reading a thread that began without the team."""
MOST_EARLIER = 50
"""Messages of it that the team is given: the thread's first, and the newest."""

LEFT_OUT = "({count} messages after this one are left out.)"
UNREAD = "({which} messages in the thread could not be read.)"


class Drafts:
    """Completes drafts.

    Calls of Slack for that are bounded in time. All of them may fail, except the one for the
    author.
    """

    def __init__(self, host: AdapterHost, calls: Calls, history: History) -> None:
        self._host = host
        self._calls = calls
        self._history = history
        self._people = AuthorLookup(calls, lambda: host.groups)
        self.commands = frozenset(info.name for info in host.commands())
        """The names of the gateway's commands."""

    def me(self, team: str) -> Workspace:
        """The bot in a workspace."""
        return self._calls.clients.workspace(team) or Workspace(id=team)

    async def author(self, draft: Draft) -> Author:
        """The author of a draft.

        Raises GatewayError if Slack can't be asked.
        """
        return await self._people.author(draft)

    async def with_author(self, draft: Draft) -> InboundMessage:
        """The draft's message with its author. Raises GatewayError."""
        return replace(draft.message, author=await self.author(draft))

    async def is_meant(self, draft: Draft) -> bool:
        """True if a draft is for the team.

        Asks neither Slack nor, where possible, the store: most messages in a channel are not.
        """
        message, host = draft.message, self._host
        if draft.meant:
            return True
        if message.event in ("edit", "delete"):
            return await host.thread_at(message.key) is not None

        def addressed(*, in_thread: bool) -> bool:
            return host.addressed(
                message.key,
                message.author,
                direct=message.direct,
                mentioned=draft.mentioned,
                in_thread=in_thread,
            )

        if addressed(in_thread=False):
            return True
        if not draft.in_thread or not addressed(in_thread=True):
            return False
        return await host.thread_at(message.key) is not None

    async def as_new(self, draft: Draft) -> Draft:
        """An edit that first mentions the bot, as a new message.

        Other drafts are returned as they are.
        """
        message = draft.message
        created = message.key.dedupe("create", message.message_id)
        if not draft.called or await self._host.known_keys([created]):
            return draft
        said = replace(message, event="message", dedupe=(created, *message.dedupe))
        return replace(draft, message=said)

    async def message(self, draft: Draft) -> InboundMessage:
        """The whole message. Raises GatewayError.

        Of somebody who may not write there, nothing more is asked for: it is going to be refused.
        """
        if draft.message.event == "delete":
            return draft.message
        message = await self._host.judge(await self.with_author(draft))
        files: tuple[RemoteFile, ...] = ()
        foreign = draft.foreign
        if message.may_write:
            files, foreign = draft.files, (*await self._earlier(draft), *foreign)
        return await self._with(message, files, foreign)

    async def plain(self, team: str, text: str) -> str:
        """A text with the names of those whom it mentions."""
        return plain(text, await self._names(team, [text]))

    async def quotes(
        self, key: ConversationKey, foreign: Sequence[ForeignMessage]
    ) -> tuple[Quote, ...]:
        """Quotes with the names of authors and of mentioned people.

        A quote is verified where Slack vouches for its author, and the author may write to the team
        there.
        """
        unknown = [each.user for each in foreign if each.user and not each.author]
        names = await self._names(key.workspace, [each.text for each in foreign], unknown)
        trusted = await self._trusted(key, {each.user for each in foreign if each.sure})
        return tuple(_quote(each, names, trusted) for each in foreign)

    async def _trusted(self, key: ConversationKey, users: Iterable[str]) -> frozenset[str]:
        """Those who may write there, as far as is known."""
        found: set[str] = set()
        for user in users:
            author = await self._people.known(key.workspace, user)
            said = InboundMessage(key=key, author=author) if author else None
            if said is not None and self._host.allows(said):
                found.add(user)
        return frozenset(found)

    async def _with(
        self,
        message: InboundMessage,
        files: tuple[RemoteFile, ...],
        foreign: Sequence[ForeignMessage],
    ) -> InboundMessage:
        team = message.key.workspace
        names = await self._names(team, [message.text])
        quotes = await self.quotes(message.key, foreign)
        text = as_command(plain(message.text, names, me=self.me(team).user), self.commands)
        if message.event == "message" and asks_for_help(text, alone=not quotes):
            text = "/help"
        is_edit = message.event == "edit"  # Slack's editor changes the text alone
        return replace(
            message,
            text=text,
            awaited=() if is_edit else tuple(map(awaited, files)),
            keeps_files=is_edit,
            quotes=quotes,
        )

    async def _names(
        self, team: str, texts: Iterable[str], users: Iterable[str] = ()
    ) -> dict[str, str]:
        me = self.me(team)
        wanted = dict.fromkeys([*(user for text in texts for user in mentioned(text)), *users])
        wanted.pop(me.user, None)
        names = await self._people.names(team, wanted) if wanted else {}
        return {**names, me.user: me.handle}

    async def _earlier(self, draft: Draft) -> tuple[ForeignMessage, ...]:
        """Earlier messages of a thread that the team now joins.

        As far as they can be read now.
        """
        message, key = draft.message, draft.key
        called = message.event in ("message", "file") and draft.in_thread
        if not called or await self._host.thread_at(key) is not None:
            return ()
        excerpt = await self._history.earlier(
            key, before=message.message_id, seconds=HISTORY_SECONDS
        )
        if excerpt is None:
            return (_remark(UNREAD.format(which="Earlier")),)
        found = earlier_messages(excerpt.messages, key, message.message_id, self.me(key.workspace))
        unread = () if excerpt.whole else (_remark(UNREAD.format(which="Later")),)
        return (*newest(found, between=excerpt.between), *unread)


def earlier_messages(
    messages: Iterable[Payload], key: ConversationKey, ts: str, me: Workspace
) -> tuple[ForeignMessage, ...]:
    """People's messages in a thread before `ts`, without the bot's own."""
    found: list[ForeignMessage] = []
    for each in messages:
        said = parse_history_message(each, key.workspace, key.channel, me)
        quote = (
            quoted(each, "history") if isinstance(said, Draft) and ts_at(each, "ts") < ts else None
        )
        if quote is not None:
            found.append(quote)
    return tuple(found)


def newest(said: Sequence[ForeignMessage], *, between: int = 0) -> tuple[ForeignMessage, ...]:
    """A thread's first message and the newest of the rest.

    A remark counts those between, with about `between` that were not read.
    """
    left = max(0, len(said) - MOST_EARLIER)
    if left + between == 0:
        return tuple(said)
    count = f"About {left + between}" if between else str(left)
    return said[0], _remark(LEFT_OUT.format(count=count)), *said[left + 1 :]


def _remark(text: str) -> ForeignMessage:
    return ForeignMessage(kind="history", text=text)


def _quote(foreign: ForeignMessage, names: Mapping[str, str], trusted: Collection[str]) -> Quote:
    return Quote(
        text=plain(foreign.text, names),
        author=foreign.author or names.get(foreign.user, "") or foreign.user,
        kind=foreign.kind,
        verified=foreign.sure and foreign.user in trusted,
    )
