"""`[[routes]]`: people, places and teams; everything else is refused."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import BeforeValidator, Field, model_validator

from gateway.config.table import Section, setting_error

Mention: TypeAlias = Literal["always", "mention", "thread"]
OthersMentioned: TypeAlias = Literal["ignore", "answer"]
Mode: TypeAlias = Literal["queue", "steer", "interrupt", "collect"]

MEMBERS = "members"
"""Stands for every full member of the workspace or guild."""

ANYWHERE = "*"
"""Stands for every channel that the bot is in."""


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


Names = Annotated[list[str], BeforeValidator(_listed)]
"""A list of texts; one text stands for a list of it."""


class RouteLimits(Section):
    """Limits for each person on this route.

    Operators have none. If one is not given, [limits] applies.
    """

    parallel_turns: int | None = Field(default=None, ge=1)
    """Turns of one person that may run at the same time."""

    turns: int | None = Field(default=None, ge=1)
    """Turns of one person that may begin within ten minutes."""


class Route(Section):
    """A place, the people who may write there, and their team.

    The first route that matches place and person holds.
    """

    adapter: str
    """Name of the platform's table in [adapters], such as "slack"."""

    workspace: Names = Field(default_factory=list)
    """Id of the workspace or guild, or a list; any if not given. `guild` is another name for it.

    `users = "members"` needs it on Discord, where anybody can add a bot to a server of their own.
    In direct messages there, people who are in none of these servers count as outsiders.
    """

    channels: Names = Field(default_factory=list)
    """Ids of channels, with their threads; "*" is all the bot's channels."""

    dm: bool = False
    """Direct messages to the bot."""

    users: Names = Field(default_factory=list)
    """Ids of people, "U1" or "slack:T1:U1", or "members".

    "members" is every full member of the workspace. Guests and outsiders need their id here, or
    `guests` or `external`.
    """

    roles: Names = Field(default_factory=list)
    """Ids of roles whose holders may write."""

    groups: Names = Field(default_factory=list)
    """Ids of user groups whose members may write."""

    guests: bool = False
    """Guests count for `users = "members"`, `roles` and `groups`, too."""

    external: bool = False
    """People of other organisations in shared channels count, too."""

    bots: Names = Field(default_factory=list)
    """Ids of bots that may write, at most 20 messages a minute.

    On Slack, the id of the bot (B...) or of its user (U...).
    """

    pairing: bool = False
    """Send unknown people a code for `parley pair CODE` in direct messages.

    The operator lets them in with that command.
    """

    team: str = ""
    """Name of the team in [teams]; default_team if not given."""

    mention: Mention = "thread"
    """Messages in a channel that the team answers.

    "always": all; "mention": those that mention the bot; "thread": these and what follows in their
    thread. Direct messages are always answered.
    """

    others_mentioned: OthersMentioned = "ignore"
    """Messages in the team's threads that mention other people, but not the bot.

    "ignore": they are not for the team, unless they answer a question that it has asked; "answer":
    they are answered like any others. With `mention = "always"` and in direct messages everything
    is answered.
    """

    mode: Mode = "queue"
    """Effect of a message during a turn.

    "queue": it waits for its own turn; "steer": it joins the turn; "interrupt": it ends the turn;
    "collect": it waits together with others.
    """

    change_mode: bool = False
    """People may change their thread's mode with `/queue mode`.

    Operators always may.
    """

    limits: RouteLimits = RouteLimits()
    """Limits for each person."""

    @model_validator(mode="before")
    @classmethod
    def _rename_guild(cls, data: Any) -> Any:
        if not isinstance(data, dict) or "guild" not in data:
            return data  # pyright: ignore[reportUnknownVariableType]
        if "workspace" in data:
            raise setting_error("guild", "means the same as workspace; keep one of them")
        return {("workspace" if key == "guild" else key): value for key, value in data.items()}  # pyright: ignore[reportUnknownVariableType]

    @model_validator(mode="after")
    def _check_reach(self) -> Self:
        if not self.channels and not self.dm:
            raise setting_error("channels", "is missing: give the route channels, or dm = true")
        people = (self.users, self.roles, self.groups, self.bots)
        if not any(people) and not self.pairing:
            problem = 'is missing: give the route users (or "members"), roles or groups'
            raise setting_error("users", problem)
        if self.pairing and not self.dm:
            problem = "needs dm = true, because codes are given in direct messages only"
            raise setting_error("pairing", problem)
        return self
