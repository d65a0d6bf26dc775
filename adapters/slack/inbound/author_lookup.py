"""People, channels and groups of Slack's workspaces, looked up and remembered.

Slack is asked for an author when somebody writes, and again after a while: a guest may have become
a member.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace

from adapters.bounded_cache import BoundedCache
from adapters.slack.connection.payload import Payload, author_id, table_at, tables_at, text_at
from adapters.slack.connection.web_api import Calls, Refusal, is_final
from adapters.slack.inbound.message_content import SLACKBOT
from adapters.slack.inbound.parsed import Draft
from gateway.base.describe import describe
from gateway.conversation import Author, AuthorKind
from gateway.errors import GatewayError

LOG = logging.getLogger("adapters.slack")

KNOWN_FOR = 300.0
"""Seconds for which an answer of Slack's is taken to hold."""
MOST_KNOWN = 10_000
NAMES_AT_ONCE = 10
"""Names that are asked for on behalf of one message; others stay ids."""
NAMES_SECONDS = 0.6


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
        self._people = BoundedCache[tuple[str, str], Profile](MOST_KNOWN, clock)
        self._members = BoundedCache[tuple[str, str], frozenset[str]](MOST_KNOWN, clock)
        self._named_lately = BoundedCache[tuple[str, str], dict[str, str]](MOST_KNOWN, clock)

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

    async def who_is(self, team: str, user: str) -> Author:
        """The author that a member of a workspace is. Raises as `author`."""
        return await self._author(await self._person(team, user), team, user)

    async def known(self, team: str, user: str) -> Author | None:
        """An author who was looked up before; None for anybody else."""
        found = self._people.get((team, user))
        return None if found is None else await self._author(found, team, user)

    async def _author(self, person: Profile, team: str, user: str, home: str = "") -> Author:
        outside = person.kind == "external"
        return Author(
            id=author_id((person.home or home if outside else "") or team, user),
            name=person.name,
            timezone=person.timezone,
            kind=person.kind,
            groups=await self._groups_of(team, user),
        )

    async def names(self, team: str, ids: Iterable[str]) -> dict[str, str]:
        """Names of people, channels and groups, as far as Slack answers."""
        found: dict[str, str] = {}

        async def look_up(ident: str) -> None:
            try:
                found[ident] = await self._name(team, ident)
            except GatewayError as error:
                LOG.info("the name of %s stays an id: %s", ident, error)

        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(NAMES_SECONDS), asyncio.TaskGroup() as group:
                for ident in list(ids)[:NAMES_AT_ONCE]:
                    group.create_task(look_up(ident), name="name")
        return found

    async def _name(self, team: str, ident: str) -> str:
        match ident[:1]:
            case "U" | "W":
                return (await self._person(team, ident)).name
            case "C" | "G":
                return (await self._named(team, ident, self._ask_channel)).get(ident, "")
            case "S":
                return (await self._named(team, "", self._ask_groups)).get(ident, "")
            case _:
                return ""

    async def _named(
        self, team: str, what: str, ask: Callable[[str, str], Awaitable[dict[str, str]]]
    ) -> dict[str, str]:
        """Names by id, asked for once in a while, refusals included."""
        if (known := self._named_lately.get((team, what), KNOWN_FOR)) is not None:
            return known
        try:
            found = await ask(team, what)
        except GatewayError as error:
            if not is_final(error):
                raise
            LOG.info("names stay ids: %s", error)
            found = dict[str, str]()
        self._named_lately.put((team, what), found)
        return found

    async def _ask_channel(self, team: str, channel: str) -> dict[str, str]:
        answer = await self._calls.read(team, "conversations.info", channel=channel)
        found = table_at(answer, "channel")
        # The name of a private one is nothing for whoever may only know its id.
        return {channel: "" if found.get("is_private") is True else text_at(found, "name")}

    async def _ask_groups(self, team: str, _: str) -> dict[str, str]:
        answer = await self._calls.read(team, "usergroups.list")
        groups = tables_at(answer, "usergroups")
        return {text_at(each, "id"): text_at(each, "handle") for each in groups}

    async def _person(self, team: str, user: str) -> Profile:
        if (known := self._people.get((team, user), KNOWN_FOR)) is not None:
            return known
        person = await self._ask(team, user)
        self._people.put((team, user), person)
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
        return profile_of(table_at(answer, "user"), team, self._calls.clients.me(team).enterprise)

    async def _groups_of(self, team: str, user: str) -> frozenset[str]:
        wanted = [group for group in self._groups() if group.startswith("S")]
        return frozenset([group for group in wanted if user in await self._members_of(team, group)])

    async def _members_of(self, team: str, group: str) -> frozenset[str]:
        if (known := self._members.get((team, group), KNOWN_FOR)) is not None:
            return known
        members: frozenset[str] = frozenset()
        try:
            answer = await self._calls.read(team, "usergroups.users.list", usergroup=group)
            listed: object = answer.get("users")
            members = frozenset(map(str, listed)) if isinstance(listed, list) else members
        except Refusal as error:
            # Somebody who is in by the group alone is refused until Slack lets the app ask.
            LOG.warning("the members of the user group %s are not known: %s", group, error)
        self._members.put((team, group), members)
        return members


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
