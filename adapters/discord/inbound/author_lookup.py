"""Discord's people as authors for the gateway's access rules.

Members of a server with their roles as groups; who has not passed its screening, or was let into a
voice channel only, is a guest, who has left it is external. In direct messages nobody has roles:
somebody counts as what they are in the servers that the bot is in, with all roles they have there,
and the author names these servers; who is in none is external. Servers that routes name are looked
into first, so that strangers' servers push none of them out.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from http import HTTPStatus

from adapters.bounded_cache import BoundedCache
from adapters.discord.config import PLATFORM
from adapters.discord.connection.rest import ApiError, Rest
from adapters.discord.connection.values import Sender
from adapters.discord.inbound.parse_messages import parse_sender
from gateway.conversation import Author, AuthorKind

KNOWN_SECONDS = 300.0
MOST_GUILDS = 25


class AuthorLookup:
    """Looks up authors beyond their event.

    `guilds` are the bot's servers, as far as is known, `named` those that routes name.
    """

    def __init__(
        self,
        rest: Rest,
        guilds: Callable[[], Awaitable[Iterable[str]]],
        named: Callable[[], Iterable[str]],
    ) -> None:
        self._rest = rest
        self._guilds = guilds
        self._named = named
        self._known = BoundedCache[str, tuple[Sender | None]](10_000)

    async def author(self, sender: Sender, guild: str) -> Author:
        """The sender, as they are in this guild; "" for direct messages.

        Raises what a call raises.
        """
        if sender.bot:
            aliases = frozenset(filter(None, [sender.application]))
            return replace(as_author(sender, "bot"), aliases=aliases)
        if guild:
            if sender.roles is None:
                member = await self._member(guild, sender.id)
                if member is None:
                    return as_author(sender, "external")
                sender = member
            return as_author(sender, "guest" if sender.guest else "member")
        return await self._author_in_direct(sender)

    async def _author_in_direct(self, sender: Sender) -> Author:
        joined = list(await self._guilds())
        guilds = dict.fromkeys([*filter(joined.__contains__, self._named()), *joined])
        asked = {
            guild: await self._member(guild, sender.id) for guild in list(guilds)[:MOST_GUILDS]
        }
        found = {guild: member for guild, member in asked.items() if member is not None}
        members = {guild: member for guild, member in found.items() if not member.guest}
        if not found:
            return as_author(sender, "external")
        kind: AuthorKind = "member" if members else "guest"
        counted = members or found
        roles = frozenset(role for member in counted.values() for role in member.roles or ())
        author = as_author(sender, kind, roles)
        return replace(author, workspaces=frozenset(counted))

    async def _member(self, guild: str, user: str) -> Sender | None:
        key = f"{guild}/{user}"
        if known := self._known.get(key, KNOWN_SECONDS):
            return known[0]
        try:
            found = await self._rest.call("GET", f"/guilds/{guild}/members/{user}")
        except ApiError as error:
            if error.status not in (HTTPStatus.NOT_FOUND, HTTPStatus.FORBIDDEN):
                raise
            member = None
        else:
            member = parse_sender(found["user"], found)
        self._known.put(key, (member,))
        return member


def as_author(sender: Sender, kind: AuthorKind, roles: frozenset[str] | None = None) -> Author:
    """The sender, as a kind of author."""
    groups = sender.roles or frozenset[str]() if roles is None else roles
    return Author(id=f"{PLATFORM}:{sender.id}", name=sender.name, kind=kind, groups=groups)
