"""`[policies]`, `[limits]`, `[store]`, `[terminal]`, `[logging]`: rules and places."""

from __future__ import annotations

import zoneinfo
from typing import Annotated, Literal, TypeAlias

from pydantic import ConfigDict, Field, field_validator

from gateway.config.section import ConfigPath, Section, shorthand

ToolAction: TypeAlias = Literal["allow", "ask", "deny"]


class ToolPolicy(Section):
    """What may happen with one tool. `"allow"`, `"ask"` or `"deny"` is short for its `action`."""

    action: ToolAction
    """Run it, ask an approver before each call, or never run it."""

    idempotent: bool = False
    """Running it twice does no harm: after a crash an unfinished call is repeated."""

    read_only: bool = False
    """It changes nothing."""


class ToolPolicies(Section):
    """`default` for all tools, and a key for each tool that is different."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[  # pyright: ignore[reportIncompatibleVariableOverride]
        str, Annotated[ToolPolicy, shorthand("action")]
    ] = Field(init=False)

    default: ToolAction = "ask"
    """What happens with a tool that has no key of its own."""

    def of(self, tool: str) -> ToolPolicy | None:
        """The tool's own policy, if it has one."""
        return self.__pydantic_extra__.get(tool)


class Policies(Section):
    """Who may do what."""

    operators: list[str] = Field(default_factory=list)
    """The people who approve tool calls, such as "slack:T1:U1" or "discord:123".

    Whoever sits at the terminal always is one.
    """

    timezone: str = ""
    """Time zone of dates and times, such as "Europe/Berlin"; this machine's if empty."""

    tools: ToolPolicies = ToolPolicies()
    """What may happen with tools."""

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


class Limits(Section):
    """How much may happen at once."""

    parallel_turns: int = Field(default=16, ge=1)
    """How many threads may have a turn running at the same time."""


class StoreConfig(Section):
    """Where threads are kept."""

    folder: ConfigPath | None = None
    """The folder of the database, its lock and socket; ~/.local/share/parley if not given."""


class TerminalConfig(Section):
    """How `parley chat` looks and feels."""

    theme: str = ""
    """Name of its colours, such as "parley-light"; chosen by the terminal if empty."""

    mouse: bool = True
    """Take the mouse; without, the terminal's own selection works."""


class LoggingConfig(Section):
    """What is written down about Parley's own doings; never what people or models say."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    """How much."""

    file: ConfigPath | None = None
    """Where; parley.log beside the store if not given."""
