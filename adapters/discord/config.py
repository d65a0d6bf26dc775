"""`[adapters.discord]`: the bot's token, what it hears, and where its conversations stand."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import ClassVar, Literal, TypeAlias

from pydantic import Field, SecretStr
from typing_extensions import override

from gateway.config.table import AdapterSection, IdForm
from gateway.faces import Face

PLATFORM = "discord"
"""The platform that ids of its people begin with."""

API = "https://discord.com/api/v10"

Threads: TypeAlias = Literal["public", "private", "none"]


_COPY = "switch on Developer Mode in Discord's settings, Advanced; then right-click, Copy {} ID"


def _form(what: str, menu: str) -> IdForm:
    return IdForm(f"the id of a {what}", r"\d+", "80351110224678912", _COPY.format(menu))


IDS = {
    "workspace": _form("server", "Server"),
    "channels": _form("channel", "Channel"),
    "users": _form("person", "User"),
    "roles": _form("role", "Role"),
    "bots": _form("bot", "User"),
}
"""Discord's ids, by the keys of a route; there are no user groups."""


PERMISSIONS: Mapping[str, int] = {
    "View Channels": 1 << 10,
    "Send Messages": 1 << 11,
    "Attach Files": 1 << 15,
    "Read Message History": 1 << 16,
    "Send Messages in Threads": 1 << 38,
}
PUBLIC, PRIVATE = ("Create Public Threads", 1 << 35), ("Create Private Threads", 1 << 36)
REACTIONS = ("Add Reactions", 1 << 6)
WEBHOOKS = ("Manage Webhooks", 1 << 29)


class Config(AdapterSection):
    """The bot, as the Discord developer portal knows it."""

    _account: str = PLATFORM
    strangers_add_it: ClassVar[bool] = True
    ids: ClassVar[Mapping[str, IdForm]] = IDS

    token: SecretStr
    """The bot's token, from the page "Bot" of the developer portal."""

    message_content: bool = True
    """Hear what is said in threads without a mention; the portal's switch "Message Content Intent"
    has to be on. Without it, mentions, direct messages and commands still work.
    """

    threads: Threads = "public"
    """Where a conversation that begins in a channel goes on: in a thread that all can read, in one
    for its author alone, or in replies ("none").
    """

    ask: str = Field(default="ask", pattern=r"^[a-z0-9_-]{1,32}$")
    """Name of the slash command that asks the team."""

    answer_messages: int = Field(default=3, ge=1, le=20)
    """Messages that one answer may take; a longer one is its beginning, and a file of all of it."""

    answer_characters: int = Field(default=6000, ge=1000, le=100_000)
    """Characters of one answer that messages may show, likewise."""

    leave_unknown_servers: bool = False
    """Leave a server at once if no route is for it. Otherwise the bot stays there and is silent."""

    webhooks: bool = False
    """Each agent writes under a name of its own, where the bot may manage webhooks."""

    show_progress: bool = False
    """Show with a reaction on a message that it was seen, is worked on, and is done."""

    thumbs: bool = False
    """Show two buttons below each answer, with which people rate it and say why."""

    shards: int | None = Field(default=None, ge=1)
    """The number of connections that carry the events. By default, Discord is asked if a bot in
    more than 2,000 servers needs more than one.
    """

    api_url: str = Field(default=API, pattern=r"^https?://")
    """Base address of Discord's REST API; another one is for a proxy before it, or a simulator."""

    gateway_url: str | None = Field(default=None, pattern=r"^wss?://")
    """Address of Discord's gateway; the API is asked for it if not given."""

    @property
    def app_ids(self) -> tuple[str, ...]:
        """The bot's id, with which its token begins."""
        # discord.py's docs/token.rst: the first of three parts is the id, in Base64.
        first = self.token.get_secret_value().partition(".")[0]
        try:
            ident = base64.urlsafe_b64decode(first + "=" * (-len(first) % 4)).decode("ascii")
        except ValueError:
            return ()
        return (f"bot {ident}",) if ident.isdecimal() else ()

    @override
    def look_of(self, face: Face) -> str:
        hooks, given = self.webhooks, bool(face.picture)
        return face.in_words(
            "its picture as an emoji," if given else face.character,
            address=hooks,
            picture=hooks,
            draws=hooks,
            needs="" if given else "webhooks = true",
        )

    @property
    def api_address(self) -> str:
        """The address of Discord's REST API."""
        return self.api_url


def required_permissions(config: Config) -> dict[str, int]:
    """Permissions that the bot needs, by Discord's names."""
    wanted = dict(PERMISSIONS)
    if config.threads == "public":
        wanted |= [PUBLIC]
    elif config.threads == "private":
        wanted |= [PRIVATE]
    if config.show_progress:
        wanted |= [REACTIONS]
    if config.webhooks:
        wanted |= [WEBHOOKS]
    return wanted
