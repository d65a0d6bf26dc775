"""Drafts completed to messages: authors, files and quoted text.

Slack is asked for an author when somebody writes, and again after a while: a guest may have become
a member.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from adapters.slack.connection.payload import (
    Payload,
    as_command,
    asks_for_help,
    author_id,
    mentioned,
    opens_with_mention,
    plain,
    table_at,
    text_at,
    ts_at,
)
from adapters.slack.connection.web_api import Calls, Refusal
from adapters.slack.connection.workspace import Workspace
from adapters.slack.inbound.files import awaited
from adapters.slack.inbound.history import History, quotes_of
from adapters.slack.inbound.parse_events import SLACKBOT, parse_history_message
from adapters.slack.inbound.parsed import Draft, ForeignMessage, RemoteFile
from gateway.adapter import AdapterHost
from gateway.base.describe import describe
from gateway.conversation import (
    Author,
    AuthorKind,
    ConversationKey,
    InboundMessage,
    Quote,
    order_key,
)
from gateway.errors import GatewayError

LOG = logging.getLogger("adapters.slack")

KNOWN_FOR = 300.0
"""Seconds for which an answer of Slack's is taken to hold."""
MOST_KNOWN = 10_000
NAMES_AT_ONCE = 10
"""People whose names are asked for on behalf of one message; others stay ids."""
NAMES_SECONDS = 0.6
MAY_COME = 86_400.0
"""Seconds after which a message that was deleted is surely not delivered any more."""
LATE = 10.0
"""Seconds after which a message was not delivered at the first try: later ones may have been."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A person in Slack.

    `home` is their own workspace, `places` are the ids of the organisation and its workspaces as
    whose member they may act.
    """

    name: str
    timezone: str
    kind: AuthorKind
    home: str
    places: frozenset[str] = frozenset()


class AuthorLookup:
    """The people of all workspaces, looked up and remembered.

    `groups` are the ids of the user groups in use, `clock` is in seconds and never goes back.
    """

    def __init__(
        self,
        calls: Calls,
        groups: Callable[[], Iterable[str]],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._calls = calls
        self._groups = groups
        self._clock = clock
        self._people: OrderedDict[tuple[str, str], tuple[float, Profile]] = OrderedDict()
        self._members: dict[tuple[str, str], tuple[float, frozenset[str]]] = {}

    async def author(self, draft: Draft) -> Author:
        """The author of a draft.

        Raises GatewayError if Slack can't be asked: nobody's permissions are guessed.
        """
        team, user = draft.message.key.workspace, draft.user
        if not user:
            return draft.message.author
        if not user.startswith(("U", "W")):
            return replace(draft.message.author, kind="bot")
        person = await self._person(team, user)
        if draft.bot:
            person = replace(person, kind="bot")
        elif person.kind in ("member", "guest") and self._is_elsewhere(draft, person):
            person = replace(person, kind="external", home=draft.home)
        author = await self._author(person, team, user, draft.home)
        return replace(author, aliases=draft.message.author.aliases)

    def _is_elsewhere(self, draft: Draft, person: Profile) -> bool:
        """True if the payload says that they act as of another organisation.

        In an organisation (Enterprise Grid) user.team_id may be the organisation's id, too
        (docs.slack.dev, "block_actions payload").
        """
        return draft.home not in ("", draft.message.key.workspace, *person.places)

    async def known(self, team: str, user: str) -> Author | None:
        """An author who was looked up before; None for anybody else."""
        found = self._people.get((team, user))
        return None if found is None else await self._author(found[1], team, user)

    async def _author(self, person: Profile, team: str, user: str, home: str = "") -> Author:
        outside = person.kind == "external"
        return Author(
            id=author_id((person.home or home if outside else "") or team, user),
            name=person.name,
            timezone=person.timezone,
            kind=person.kind,
            groups=await self._groups_of(team, user),
        )

    async def names(self, team: str, users: Iterable[str]) -> dict[str, str]:
        """The names of these people, as far as Slack answers."""
        found: dict[str, str] = {}

        async def look_up(user: str) -> None:
            try:
                found[user] = (await self._person(team, user)).name
            except GatewayError as error:
                LOG.info("the name of %s stays an id: %s", user, error)

        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(NAMES_SECONDS), asyncio.TaskGroup() as group:
                for user in list(users)[:NAMES_AT_ONCE]:
                    group.create_task(look_up(user), name="name")
        return found

    async def _person(self, team: str, user: str) -> Profile:
        known = self._people.get((team, user))
        if known is not None and self._clock() - known[0] < KNOWN_FOR:
            return known[1]
        person = await self._ask(team, user)
        self._people[team, user] = (self._clock(), person)
        self._people.move_to_end((team, user))
        if len(self._people) > MOST_KNOWN:
            self._people.popitem(last=False)
        return person

    async def _ask(self, team: str, user: str) -> Profile:
        try:
            answer = await self._calls.read(team, "users.info", user=user)
        except Refusal as error:
            if error.code in ("user_not_found", "user_not_visible"):
                return Profile(name="", timezone="", kind="external", home="")
            if error.code == "missing_scope":
                # Whoever may be a guest is treated as one.
                LOG.error("nobody's name or membership is known: %s", describe(error))  # noqa: TRY400 (the text says it all)
                return Profile(name="", timezone="", kind="guest", home="")
            raise
        workspace = self._calls.clients.workspace(team)
        return profile_of(table_at(answer, "user"), team, workspace.enterprise if workspace else "")

    async def _groups_of(self, team: str, user: str) -> frozenset[str]:
        wanted = [group for group in self._groups() if group.startswith("S")]
        return frozenset([group for group in wanted if user in await self._members_of(team, group)])

    async def _members_of(self, team: str, group: str) -> frozenset[str]:
        known = self._members.get((team, group))
        if known is not None and self._clock() - known[0] < KNOWN_FOR:
            return known[1]
        members: frozenset[str] = frozenset()
        try:
            answer = await self._calls.read(team, "usergroups.users.list", usergroup=group)
            listed: object = answer.get("users")
            members = frozenset(map(str, listed)) if isinstance(listed, list) else members
        except Refusal as error:
            # Somebody who is in by the group alone is refused until Slack lets the app ask.
            LOG.warning("the members of the user group %s are not known: %s", group, error)
        self._members[team, group] = (self._clock(), members)
        return members


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
        self._people = AuthorLookup(calls, lambda: host.groups)
        self.commands = frozenset(info.name for info in host.commands())
        """The names of the gateway's commands."""

    def me(self, team: str) -> Workspace:
        """The bot in a workspace."""
        return self._calls.clients.workspace(team) or Workspace(id=team)

    async def author(self, draft: Draft) -> Author:
        """The author of a draft. Raises GatewayError if Slack can't be asked."""
        return await self._people.author(draft)

    async def with_author(self, draft: Draft) -> InboundMessage:
        """The draft's message with its author. Raises GatewayError."""
        return replace(draft.message, author=await self.author(draft))

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
            begun = await host.thread_at(message.key) is not None
            return begun and (
                self._is_addressed(draft, in_thread=True) or await self._came(message)
            )
        if self._is_addressed(draft):
            return True
        return draft.in_thread and await self._continues(draft, joined=joined)

    async def _continues(self, draft: Draft, *, joined: bool) -> bool:
        """True if its thread makes a draft one for the team."""
        if self._only_answers(draft):
            thread = await self._host.thread_at(draft.message.key)
            return thread is not None and thread.state == "waiting"
        if not self._is_addressed(draft, in_thread=True):
            return False
        return joined or await self._host.thread_at(draft.message.key) is not None

    def _only_answers(self, draft: Draft) -> bool:
        """True if a draft can only be the answer to a question."""
        if not (draft.in_thread and draft.to_others) or self._is_addressed(draft, in_thread=True):
            return False
        return self._is_addressed(replace(draft, to_others=False), in_thread=True)

    def _is_addressed(self, draft: Draft, *, in_thread: bool = False) -> bool:
        message = draft.message
        return self._host.addressed(
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
        served = self._host.addressed(
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
            for each in (excerpt.messages if excerpt else ())
            if ts_at(each, "ts") > message.message_id
        ]
        return await self._not_taken(later, message.key)

    async def _not_taken(self, messages: Iterable[Payload], key: ConversationKey) -> list[Draft]:
        """Recent messages of a thread that were not taken, for whomever."""
        me = self.me(key.workspace)
        parsed = [parse_history_message(each, key.workspace, key.channel, me) for each in messages]
        recent = [
            each
            for each in parsed
            if isinstance(each, Draft) and self._age(each.message) <= self._host.missed.answer
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
        message = await self._host.judge(await self.with_author(draft))
        files: tuple[RemoteFile, ...] = ()
        foreign = draft.foreign
        if message.may_write:
            earlier = await self._earlier(draft, hand_in) if first else ()
            files, foreign = draft.files, (*earlier, *foreign)
        if self._only_answers(draft):
            message = replace(message, only_answers=True)
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
        if not foreign:
            return ()
        unknown = [each.user for each in foreign if each.user and not each.author]
        names = await self._names(key.workspace, [each.text for each in foreign], unknown)
        trusted = await self._trusted(key, {each.user for each in foreign if each.sure})
        return tuple(_quote(each, names, trusted) for each in foreign)

    async def _trusted(self, key: ConversationKey, users: Iterable[str]) -> frozenset[str]:
        """Those who may write there, as far as is known."""
        found: set[str] = set()
        for user in users:
            with contextlib.suppress(GatewayError):
                author = await self._people.known(key.workspace, user)
                if author and self._host.allows(InboundMessage(key=key, author=author)):
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
            opens_with_mention=opens_with_mention(message.text, me=self.me(team).user),
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

    async def _earlier(self, draft: Draft, hand_in: HandIn | None) -> tuple[ForeignMessage, ...]:
        """Earlier messages of a thread that the team now joins.

        Those that are for the team are handed in, if they come later than this one: then the team
        gets them, and those between, as what their authors have said.
        """
        message = draft.message
        key, me = message.key, self.me(message.key.workspace)
        joins = message.event in ("message", "file") and draft.in_thread
        if not joins or await self._host.thread_at(key) is not None:
            return ()
        excerpt = await self._history.before(message)
        messages = excerpt.messages if excerpt else ()
        if hand_in is not None:
            earlier = [each for each in messages if ts_at(each, "ts") < message.message_id]
            for each in await self._not_taken(earlier, key):
                await hand_in(each)
            if await self._host.thread_at(key) is not None:
                return ()
        limit = await self._host.history_limit(key)
        marks = [ts_at(each, "ts") for each in messages]
        gone = {ts for ts in marks if not limit.allows(order_key(ts), float(ts))}
        return quotes_of(excerpt, message, me, without=gone)


def _quote(foreign: ForeignMessage, names: Mapping[str, str], trusted: Collection[str]) -> Quote:
    return Quote(
        text=plain(foreign.text, names),
        author=foreign.author or names.get(foreign.user, "") or foreign.user,
        kind=foreign.kind,
        verified=foreign.sure and foreign.user in trusted,
    )


def profile_of(user: Payload, team: str, enterprise: str = "") -> Profile:
    """The profile in an answer of users.info, for one workspace."""
    profile = table_at(user, "profile")
    names = (
        text_at(profile, "display_name"),
        text_at(profile, "real_name"),
        text_at(user, "real_name"),
        text_at(user, "name"),
    )
    return Profile(
        name=next(filter(None, names), ""),
        timezone=text_at(user, "tz"),
        kind=_kind(user, team, enterprise),
        home=text_at(user, "team_id"),
        places=_places(user, enterprise),
    )


def _places(user: Payload, enterprise: str) -> frozenset[str]:
    """The ids of the organisation and of a member's workspaces in it."""
    if not enterprise or text_at(user, "enterprise_user", "enterprise_id") != enterprise:
        return frozenset()
    listed: object = table_at(user, "enterprise_user").get("teams")
    teams = map(str, listed) if isinstance(listed, list) else ()
    return frozenset({enterprise, text_at(user, "team_id"), *teams})


def _kind(user: Payload, team: str, enterprise: str) -> AuthorKind:
    home = text_at(user, "team_id")
    org = text_at(user, "enterprise_user", "enterprise_id")
    if user.get("is_bot") is True or text_at(user, "id") == SLACKBOT:
        return "bot"
    if user.get("is_stranger") is True or user.get("is_connector_bot") is True:
        return "external"
    if home and home != team and not (enterprise and org == enterprise):
        return "external"
    if user.get("is_restricted") is True or user.get("is_ultra_restricted") is True:
        return "guest"
    return "member"
