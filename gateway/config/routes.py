"""`[[routes]]`: who may reach which team, and where. What no route matches is refused."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from gateway.config.table import Section

Mention: TypeAlias = Literal["always", "mention", "thread"]
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
    """What each person may use at a time, operators excepted; [limits] says what is not given."""

    parallel_turns: int | None = Field(default=None, ge=1)
    """How many of their turns may run side by side."""

    turns: int | None = Field(default=None, ge=1)
    """How many of their turns may begin within ten minutes."""


class Route(Section):
    """One way in: a place, the people who may write there, and the team that answers them.

    The first route that matches place and person holds.
    """

    adapter: str
    """Name of the platform's table in [adapters], such as "slack"."""

    workspace: str = ""
    """Id of the workspace or guild; any if not given. `guild` is another name for it."""

    channels: Names = Field(default_factory=list)
    """Ids of channels, threads in them included; "*" is every channel that the bot is in."""

    dm: bool = False
    """Direct messages to the bot."""

    users: Names = Field(default_factory=list)
    """Ids of people, "U1" or "slack:T1:U1"; "members" is every full member of the workspace.

    Only somebody who is named may be a guest or from outside without `guests` or `external`.
    """

    roles: Names = Field(default_factory=list)
    """Ids of roles whose holders may write."""

    groups: Names = Field(default_factory=list)
    """Ids of user groups whose members may write."""

    guests: bool = False
    """Guests are let in by `users = "members"`, `roles` and `groups`, too."""

    external: bool = False
    """So are people of other organisations, in shared channels."""

    bots: Names = Field(default_factory=list)
    """Ids of other bots that may write; no more than 20 messages a minute are taken of them."""

    pairing: bool = False
    """Unknown people get a code in direct messages, with which `parley pair CODE` lets them in."""

    team: str = ""
    """Name of the team in [teams]; default_team if not given."""

    mention: Mention = "thread"
    """What is addressed to the team in a channel: "always" everything, "mention" what mentions the
    bot, "thread" that and what follows in its thread. Direct messages always are.
    """

    mode: Mode = "queue"
    """What a message during a turn does: wait for its own ("queue"), join it ("steer"), end it
    ("interrupt"), or wait together with others ("collect").
    """

    change_mode: bool = False
    """Its people may give their thread another mode, with `/queue mode`; operators always may."""

    limits: RouteLimits = RouteLimits()
    """What each person may use at a time."""

    @model_validator(mode="before")
    @classmethod
    def _guild(cls, data: Any) -> Any:
        if not isinstance(data, dict) or "guild" not in data:
            return data  # pyright: ignore[reportUnknownVariableType]
        if "workspace" in data:
            raise _at("guild", "given beside workspace, which is the same")
        return {("workspace" if key == "guild" else key): value for key, value in data.items()}  # pyright: ignore[reportUnknownVariableType]

    @model_validator(mode="after")
    def _reaches_somebody(self) -> Self:
        if not self.channels and not self.dm:
            raise _at("channels", "is missing: a route needs channels, or dm = true")
        people = (self.users, self.roles, self.groups, self.bots)
        if not any(people) and not self.pairing:
            raise _at("users", 'is missing: a route needs users (or "members"), roles or groups')
        if self.pairing and not self.dm:
            raise _at("pairing", "codes are given in direct messages only: set dm = true, too")
        return self


def _at(key: str, problem: str) -> PydanticCustomError:
    return PydanticCustomError("setting", "{problem}", {"key": key, "problem": problem})
