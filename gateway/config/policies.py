"""`[policies]`: operators, and rules for tools."""

from __future__ import annotations

import re
import zoneinfo
from collections.abc import Iterator
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import AfterValidator, ConfigDict, Field, field_validator, model_validator
from pydantic_core import Url

from gateway.base.patterns import check_pattern
from teams.kinds import Method, Section, SettingMistake, setting_errors, shorthand

ToolAction: TypeAlias = Literal["allow", "ask", "deny"]
ToolOutput: TypeAlias = Literal["foreign", "trusted"]

ASKER = "asker"
"""Among approvers: the author of the message."""
OPERATORS = "operators"
"""Among approvers, and the roles of a case: the operators."""

DAY_MINUTES = 24 * 60

_PERSON = re.compile(r"[a-z][a-z0-9_]*:[^\s:]+(:[^\s:]+)*")
_HOST = re.compile(r"[\w-]+(?:\.[\w-]+)*")
_PLACE = re.compile(r"[a-z][a-z0-9_]*:[^\s:]+:[^\s:]+")


def _person(text: str) -> str:
    if not _PERSON.fullmatch(text):
        raise ValueError(
            f"found {text!r}, expected a person such as 'slack:T1:U1' or 'discord:123'"
        )
    return text


def _pattern(text: str) -> str:
    try:
        check_pattern(text)
    except ValueError as error:
        raise ValueError(
            f"found {text!r}, expected a pattern that RE2 can match: {error}"
        ) from error
    return text


def _approver(text: str) -> str:
    if text in (ASKER, OPERATORS) or _PERSON.fullmatch(text):
        return text
    raise ValueError(
        f"found {text!r}, expected a person such as 'slack:T1:U1', or 'asker' or 'operators'"
    )


def _linked(text: str) -> str:
    name = text.removeprefix(".")
    try:
        known = Url(f"https://{name}/")
    except ValueError:
        known = None
    if text == "*" or (known and _HOST.fullmatch(name) and known.path == "/"):
        return text
    raise ValueError(
        f"found {text!r}, expected a host such as 'docs.example.com', '.example.com' for all below "
        "one, or '*' for every host"
    )


def _place(text: str) -> str:
    if not _PLACE.fullmatch(text):
        raise ValueError(
            f"found {text!r}, expected a channel such as 'slack:T1:C1' or 'discord:1234:5678'"
        )
    return text


HostName = Annotated[str, AfterValidator(_linked)]
PersonId = Annotated[str, AfterValidator(_person)]
Approver = Annotated[str, AfterValidator(_approver)]
ChannelId = Annotated[str, AfterValidator(_place)]
Pattern = Annotated[str, AfterValidator(_pattern)]


class ToolCase(Section):
    """A rule for a tool in one case.

    All conditions that are given must hold.
    """

    teams: list[str] = Field(default_factory=list)
    """Only in these teams."""

    roles: list[str] = Field(default_factory=list)
    """Only for people with one of these roles or groups.

    "operators" are the operators.
    """

    arguments: dict[str, Pattern] = Field(default_factory=dict)
    """Only if each of these arguments matches its pattern, a regular expression of RE2.

    The pattern must match the whole argument. An argument that is not a text is compared as
    JSON.
    """

    action: ToolAction
    """Run it, ask an approver before each call, or never run it."""


class DiffArguments(Section):
    """Arguments that an approval shows as a diff.

    `old` and `new`, or `path` and `content`.
    """

    old: str = ""
    """The argument with the old text."""

    new: str = ""
    """The argument with the new text."""

    path: str = ""
    """The argument with the path of a file in the thread's work folder."""

    content: str = ""
    """The argument with the file's new text."""

    @model_validator(mode="after")
    def _check_pair(self) -> Self:
        given = {name for name in ("old", "new", "path", "content") if getattr(self, name)}
        if given not in ({"old", "new"}, {"path", "content"}):
            raise ValueError("expected the arguments for old and new, or for path and content")
        return self

    def named(self) -> list[str]:
        """The arguments that it names."""
        return [name for name in (self.old, self.new, self.path, self.content) if name]


class ToolPolicy(Section):
    """The rule for one tool.

    `"allow"`, `"ask"` or `"deny"` is short for its `action`.
    """

    action: ToolAction
    """Run it, ask an approver before each call, or never run it."""

    idempotent: bool | None = None
    """True if running it twice does no harm.

    After a crash, an unfinished call is then repeated. If not given, the tool itself decides.
    """

    read_only: bool | None = None
    """True if it only reads; if not given, the tool itself decides."""

    output: ToolOutput | None = None
    """"trusted" if only you write its results.

    Results are "foreign" text otherwise: while they are in a conversation, allowed tools that
    change something need an approval. If not given, the tool itself decides.
    """

    approvers: list[Approver] = Field(default_factory=list)
    """People who may approve its calls; the operators if empty.

    Such as "slack:T1:U1". "asker" is the author of the message that the team works on, "operators"
    are the operators.
    """

    quorum: int = Field(default=1, ge=1)
    """Approvals that a call needs; a single denial ends it."""

    expires_hours: float | None = Field(default=None, ge=0)
    """Hours until a call without approval is denied; 0 for never.

    If not given, the value in [policies] applies.
    """

    always_allowed: bool = True
    """Approvers may allow the tool for the rest of a thread."""

    paths: list[str] = Field(default_factory=list)
    """Arguments that name a file or folder in the thread's work folder.

    Approvers may then allow the tool below the folder of these arguments, for the rest of a thread.
    """

    diff: DiffArguments | None = None
    """Arguments whose change an approval shows as a diff.

    `{ old = "old_str", new = "new_str" }`, or `{ path = "path", content = "content" }` for the
    change of a file in the thread's work folder.
    """

    cases: list[ToolCase] = Field(default_factory=list)
    """Exceptions from `action`; the first case that fits decides."""


def _people(approvers: list[str], operators: list[str]) -> set[str]:
    """People who may approve; the terminal's user is an operator, too."""
    named = {name for name in approvers if name != OPERATORS}
    return named | {*operators, "local:operator"} if OPERATORS in approvers else named


class ToolPolicies(Section):
    """`default` for all tools, and a key for each exception."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[  # pyright: ignore[reportIncompatibleVariableOverride]
        str, Annotated[ToolPolicy, shorthand("action")]
    ] = Field(init=False)

    default: ToolAction = "ask"
    """Action for a tool that has no key of its own.

    Code execution, `execute_code`, is denied unless it has a key.
    """

    def of(self, tool: str) -> ToolPolicy | None:
        """The tool's own policy, if it has one."""
        return self.__pydantic_extra__.get(tool)

    def named(self) -> dict[str, ToolPolicy]:
        """The policies of the tools that have one of their own."""
        return dict(self.__pydantic_extra__)


class HttpPolicy(Section):
    """Bounds of all HTTP tools.

    They hold for tools of this file, of component files and of Python.
    """

    hosts: list[HostName] | None = None
    """Hosts that they may reach.

    Such as "api.example.com"; ".example.com" means that host and all below it. If not given,
    each tool reaches the host that it names.
    """

    methods: list[Method] | None = None
    """Methods that they may use, such as ["GET"]; all if not given."""

    private_hosts: list[HostName] = Field(default_factory=list)
    """Hosts whose names may lead to addresses of a private network, or of this machine.

    For all others, such an address is refused when a request is made.
    """


class Policies(Section):
    """Operators, approvals and tools."""

    operators: list[PersonId] = Field(default_factory=list)
    """People who may do everything and approve tool calls.

    Such as "slack:T1:U1" or "discord:123". The terminal's user always is an operator.
    """

    approvals: list[ChannelId] = Field(default_factory=list)
    """Channels that get a copy of every approval, such as "slack:T1:C1".

    The copy has no conversation; it is for approvers who can't see the thread.
    """

    expires_hours: float = Field(default=24.0, ge=0)
    """Hours until a request to people expires; 0 for never.

    An approval is then denied; after a question, the team goes on without an answer.
    """

    result_kb: int = Field(default=100, ge=1, le=10_000)
    """Text of one tool result that a model is given, in kB.

    All of a larger one becomes a file of the thread, which the result names.
    """

    answer_missed_minutes: float = Field(default=15.0, ge=0, allow_inf_nan=False)
    """Minutes for which a message that came while Parley was away is answered by itself.

    It counts how old the message was when Parley came back. For an older one, a card in its thread
    offers an answer. At most `missed_days`.
    """

    missed_days: float = Field(default=7.0, ge=0, le=365, allow_inf_nan=False)
    """Days for which such a card is offered; older messages are only counted in `parley status`.

    At most 365.
    """

    timezone: str = ""
    """Time zone, such as "Europe/Berlin"; this machine's if empty.

    Times in messages use it, and so do people whose own time zone is unknown.
    """

    local_code: bool = False
    """Allow local code execution by teams that other people can reach.

    Such code runs on this machine, outside of a container.
    """

    live_links: list[HostName] = Field(default_factory=list)
    """Hosts whose links work while an answer is being written.

    Such as "docs.example.com"; ".example.com" means that host and all below it, "*" every
    host. In a finished answer all links work.
    """

    tools: ToolPolicies = ToolPolicies()
    """Rules for tools."""

    http: HttpPolicy = HttpPolicy()
    """Bounds of HTTP tools."""

    @model_validator(mode="after")
    def _check_sense(self) -> Self:
        wrong = [*self._impossible_quorums(), *self._impossible_minutes()]
        if wrong:
            raise setting_errors(wrong)
        return self

    def _impossible_quorums(self) -> Iterator[SettingMistake]:
        for tool, policy in self.tools.named().items():
            able = _people(policy.approvers or [OPERATORS], self.operators)
            if policy.quorum > len(able):
                said = (
                    f"found {policy.quorum}, expected at most {len(able)}, as many as may approve; "
                    "name more approvers or operators"
                )
                yield SettingMistake(
                    ("tools", tool, "quorum"), said, ("operators", ("tools", tool, "approvers"))
                )

    def _impossible_minutes(self) -> Iterator[SettingMistake]:
        longest = self.missed_days * DAY_MINUTES
        if self.answer_missed_minutes > longest:
            said = (
                f"found {self.answer_missed_minutes:g}, longer than missed_days, which is "
                f"{longest:g} minutes; shorten it, or lengthen missed_days"
            )
            yield SettingMistake(("answer_missed_minutes",), said, ("missed_days",))

    @field_validator("timezone")
    @classmethod
    def _check_timezone(cls, name: str) -> str:
        try:
            if name:
                zoneinfo.ZoneInfo(name)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise ValueError(
                f"found {name!r}, expected a time zone such as 'Europe/Berlin'"
            ) from error
        return name
