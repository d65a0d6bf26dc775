"""`[policies]`: operators, and what may happen with tools."""

from __future__ import annotations

import re
import zoneinfo
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import AfterValidator, ConfigDict, Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from gateway.config.table import Section, shorthand

ToolAction: TypeAlias = Literal["allow", "ask", "deny"]

ASKER = "asker"
"""Among approvers: whose message the team works on."""
OPERATORS = "operators"
"""Among approvers, and the roles of a case: the operators."""

_PERSON = re.compile(r"[a-z][a-z0-9_]*:[^\s:]+(:[^\s:]+)*")
_PLACE = re.compile(r"[a-z][a-z0-9_]*:[^\s:]+:[^\s:]+")


def _person(text: str) -> str:
    if not _PERSON.fullmatch(text):
        raise ValueError(
            f"found {text!r}, expected a person such as 'slack:T1:U1' or 'discord:123'"
        )
    return text


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"found {text!r}, expected a regular expression: {error}") from error
    return text


def _approver(text: str) -> str:
    if text in (ASKER, OPERATORS) or _PERSON.fullmatch(text):
        return text
    raise ValueError(
        f"found {text!r}, expected a person such as 'slack:T1:U1', or 'asker' or 'operators'"
    )


def _place(text: str) -> str:
    if not _PLACE.fullmatch(text):
        raise ValueError(
            f"found {text!r}, expected a channel such as 'slack:T1:C1' or 'discord:1234:5678'"
        )
    return text


PersonId = Annotated[str, AfterValidator(_person)]
Approver = Annotated[str, AfterValidator(_approver)]
ChannelId = Annotated[str, AfterValidator(_place)]
Pattern = Annotated[str, AfterValidator(_pattern)]


class ToolCase(Section):
    """What may happen with a tool in a certain case; every condition that is given must hold."""

    teams: list[str] = Field(default_factory=list)
    """Only in these teams."""

    roles: list[str] = Field(default_factory=list)
    """Only on behalf of people with one of these roles or groups; "operators" are the operators."""

    arguments: dict[str, Pattern] = Field(default_factory=dict)
    """Only where each of these arguments is matched, from its first character to its last, by its
    regular expression. An argument that is no text is compared as JSON.
    """

    action: ToolAction
    """Run it, ask an approver before each call, or never run it."""


class ToolPolicy(Section):
    """What may happen with one tool. `"allow"`, `"ask"` or `"deny"` is short for its `action`."""

    action: ToolAction
    """Run it, ask an approver before each call, or never run it."""

    idempotent: bool | None = None
    """Running it twice does no harm: after a crash an unfinished call is repeated.

    What the tool says of itself if not given.
    """

    read_only: bool | None = None
    """It changes nothing; what the tool says of itself if not given."""

    approvers: list[Approver] = Field(default_factory=list)
    """Who may approve its calls, such as "slack:T1:U1"; the operators if nobody is named.

    "asker" is whose message the team works on, "operators" are the operators.
    """

    quorum: int = Field(default=1, ge=1)
    """How many of them have to approve a call; one who denies it is enough."""

    expires_hours: float | None = Field(default=None, ge=0)
    """Hours after which a call that was not approved is denied; 0 for never. That of [policies] if
    not given.
    """

    always_allowed: bool = True
    """An approver may approve it for the rest of a thread at once."""

    cases: list[ToolCase] = Field(default_factory=list)
    """Where something else holds than `action`; the first case that fits decides."""


def _people(approvers: list[str], operators: list[str]) -> set[str]:
    """Who may approve: whoever is at the terminal is an operator, too."""
    named = {name for name in approvers if name != OPERATORS}
    return named | {*operators, "local:operator"} if OPERATORS in approvers else named


class ToolPolicies(Section):
    """`default` for all tools, and a key for each tool that is different."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[  # pyright: ignore[reportIncompatibleVariableOverride]
        str, Annotated[ToolPolicy, shorthand("action")]
    ] = Field(init=False)

    default: ToolAction = "ask"
    """What happens with a tool that has no key of its own.

    The execution of code, `execute_code`, is denied unless it has one.
    """

    def of(self, tool: str) -> ToolPolicy | None:
        """The tool's own policy, if it has one."""
        return self.__pydantic_extra__.get(tool)

    def named(self) -> dict[str, ToolPolicy]:
        """The policies of the tools that have one of their own."""
        return dict(self.__pydantic_extra__)


class Policies(Section):
    """Who may do what."""

    operators: list[PersonId] = Field(default_factory=list)
    """The people who may do everything and approve tool calls: "slack:T1:U1", "discord:123".

    Whoever sits at the terminal always is one.
    """

    approvals: list[ChannelId] = Field(default_factory=list)
    """Channels, such as "slack:T1:C1", to which every approval is copied without the conversation,
    for people who may decide and can't see the thread.
    """

    expires_hours: float = Field(default=24.0, ge=0)
    """Hours after which a request to people expires: an approval is denied then, a question goes on
    without an answer; 0 for never.
    """

    timezone: str = ""
    """Time zone in which people are told times, such as "Europe/Berlin", and of people of whom no
    other is known; this machine's if empty.
    """

    local_code: bool = False
    """Teams that other people can reach may execute code on this machine, outside of a container.
    """

    live_links: list[str] = Field(default_factory=list)
    """Hosts, such as "docs.example.com", whose links stay links while an answer is being written.
    """

    tools: ToolPolicies = ToolPolicies()
    """What may happen with tools."""

    @model_validator(mode="after")
    def _enough_people(self) -> Self:
        for tool, policy in self.tools.named().items():
            able = _people(policy.approvers or [OPERATORS], self.operators)
            if policy.quorum > len(able):
                raise PydanticCustomError(
                    "setting",
                    "{problem}",
                    {
                        "key": "tools",
                        "problem": f"{tool}: {policy.quorum} people have to approve, but only "
                        f"{len(able)} may: name more approvers or operators",
                    },
                )
        return self

    @field_validator("timezone")
    @classmethod
    def _known(cls, name: str) -> str:
        try:
            if name:
                zoneinfo.ZoneInfo(name)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise ValueError(
                f"expected a time zone such as 'Europe/Berlin', not {name!r}"
            ) from error
        return name
