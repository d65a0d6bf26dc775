"""`[[routes]]`: people, places and teams; everything else is refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import AliasChoices, BeforeValidator, Field, model_validator

from teams.kinds import Section, SettingMistake, setting_error, setting_errors

Mention: TypeAlias = Literal["always", "mention", "thread"]
OthersMentioned: TypeAlias = Literal["ignore", "answer"]
Reasoning: TypeAlias = Literal["fold", "stream", "hide"]
Mode: TypeAlias = Literal["queue", "steer", "interrupt", "collect"]

MEMBERS = "members"
"""Stands for every full member of the workspace or guild."""

ANYWHERE = "*"
"""Stands for every channel that the bot is in."""

_PEOPLE = ("users", "roles", "groups", "bots", "pairing")


def listed(value: Any) -> Any:
    """A list of one text for a text alone."""
    return [value] if isinstance(value, str) else value


Names = Annotated[list[str], BeforeValidator(listed)]
"""A list of texts; one text stands for a list of it."""


class RouteLimits(Section):
    """Limits for each person on this route.

    Operators have none. If one is not given, [limits] applies.
    """

    parallel_turns: int | None = Field(default=None, ge=1)
    """Turns of one person that may run at the same time."""

    turns: int | None = Field(default=None, ge=1)
    """Turns of one person that may begin within ten minutes."""


class Reset(Section):
    """Times at which a conversation begins anew, as by `/new`.

    The next message there does it, and a notice says so. A turn that runs, a message that waits, or
    an open question puts it off.
    """

    idle_hours: float | None = Field(default=None, gt=0)
    """Hours since something has happened in the thread."""

    daily: str = Field(default="", pattern=r"^(([01]\d|2[0-3]):[0-5]\d)?$")
    """A time of day, such as "04:00", in the `timezone` of [policies], else that of the machine."""


class Route(Section):
    """A place, the people who may write there, and their team.

    The first route that matches place and person holds.
    """

    adapter: str
    """Name of the platform's table in [adapters], such as "slack"."""

    workspace: Names = Field(
        default_factory=list, validation_alias=AliasChoices("workspace", "guild")
    )
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

    teams: Names = Field(default_factory=list, max_length=24)
    """Further teams that people there may choose: `/team NAME` begins a new thread with one."""

    models: Names = Field(default_factory=list)
    """Models in [models] that people there may choose with `/model NAME`.

    `/model default` is among them if they are all that the team's agents use by themselves.
    Operators may choose any; others none if not given.
    """

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

    reasoning: Reasoning = "fold"
    """Reasoning of models that show it.

    "stream": people see it while it grows, as a quotation, until the answer begins; "fold": only
    the terminal shows it, folded; "hide": nobody sees it, and the thread's history lacks it.
    """

    instructions: str = Field(default="", max_length=16_000)
    """Told to all agents at each turn that somebody asks for there.

    They stand before what the agents are told by themselves, and in no saved state.
    """

    reset: Reset = Reset()
    """Times at which conversations begin anew."""

    suggested_prompts: list[str] = Field(default_factory=list, max_length=4)
    """Up to four first messages that people are offered in a direct conversation on Slack.

    They take the place of those of the adapter. The route needs `dm = true`.
    """

    limits: RouteLimits = RouteLimits()
    """Limits for each person."""

    @model_validator(mode="before")
    @classmethod
    def _check_guild(cls, data: Any) -> Any:
        if not isinstance(data, dict) or "guild" not in data:
            return data  # pyright: ignore[reportUnknownVariableType]
        if "workspace" in data:
            raise setting_error(
                "guild", "found workspace beside it, expected one of the two: they mean the same"
            )
        return data  # pyright: ignore[reportUnknownVariableType]

    @model_validator(mode="after")
    def _check_reach(self) -> Self:
        wrong: list[SettingMistake] = []
        if not self.channels and not self.dm:
            said = "is missing: give the route channels, or dm = true"
            wrong.append(SettingMistake(("channels",), said, ("channels", "dm")))
        if not any((self.users, self.roles, self.groups, self.bots)) and not self.pairing:
            said = 'is missing: give the route users (or "members"), roles or groups'
            wrong.append(SettingMistake(("users",), said, _PEOPLE))
        if self.pairing and not self.dm:
            said = "found true, expected dm = true with it: codes are given in direct messages only"
            wrong.append(SettingMistake(("pairing",), said, ("dm",)))
        if self.suggested_prompts and not self.dm:
            said = "found some, expected dm = true with them: they are for direct messages"
            wrong.append(SettingMistake(("suggested_prompts",), said, ("dm",)))
        wrong += self._without_effect()
        if wrong:
            raise setting_errors(wrong)
        return self

    def _without_effect(self) -> Iterator[SettingMistake]:
        """Settings that let nobody in, as the route is."""
        if MEMBERS in self.users or self.roles or self.groups:
            return
        for key in ("guests", "external"):
            if getattr(self, key):
                said = (
                    'found true, expected users = "members", roles or groups with it: alone it '
                    "admits no one"
                )
                yield SettingMistake((key,), said, _PEOPLE)
