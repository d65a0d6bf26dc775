"""`[[budgets]]` and `[prices]`: how much may be used, and what models cost."""

from __future__ import annotations

from typing import Literal, Self, TypeAlias

from pydantic import Field, model_validator

from gateway.base.calendar import Scope
from gateway.config.routes import Names
from teams.kinds import Section, SettingMistake, setting_errors

Window: TypeAlias = Literal["turn", "hour", "day", "month"]


class Price(Section):
    """Price of a million tokens.

    Give all prices in the same currency.
    """

    input: float = Field(ge=0)
    """Tokens that the model is sent."""

    output: float = Field(ge=0)
    """Tokens that it answers with."""


class Budget(Section):
    """A limit for a thread, person, team or workspace.

    A turn that reaches it ends before its next model request, says so, and goes on from there
    later. At four fifths of the budget, the thread gets a warning.
    """

    per: Scope
    """Unit that has its own count.

    It is "thread", "person", "team" or "workspace". Operators have no budget as persons.
    """

    window: Window = "day"
    """Period: one "turn", or a calendar "hour", "day" or "month" in UTC."""

    only: Names = Field(default_factory=list)
    """Ids or names of those that it applies to; all if not given.

    They are ids of threads, people ("U1" or "slack:T1:U1") or workspaces, or names of teams.
    """

    tokens: int | None = Field(default=None, ge=1)
    """Tokens that models may read and write, together."""

    cost: float | None = Field(default=None, gt=0)
    """Cost of these tokens by [prices]."""

    turns: int | None = Field(default=None, ge=1)
    """Turns that may ask a model."""

    seconds: float | None = Field(default=None, gt=0)
    """Seconds that one turn may take; only with window = "turn".

    The time for which it waits for people does not count.
    """

    @model_validator(mode="after")
    def _check_limits(self) -> Self:
        wrong: list[SettingMistake] = []
        if self.seconds is not None and self.window != "turn":
            said = f'found {self.seconds:g}, expected window = "turn" with it: the length of a turn'
            wrong.append(SettingMistake(("seconds",), said, ("window",)))
        if self.turns is not None and self.window == "turn":
            said = f'found {self.turns}, expected window = "day": one turn has no number'
            wrong.append(SettingMistake(("turns",), said, ("window",)))
        limits = (self.tokens, self.cost, self.turns, self.seconds)
        if all(limit is None for limit in limits):
            said = "is missing: a budget limits tokens, cost, turns or seconds"
            wrong.append(SettingMistake(("tokens",), said, ("cost", "turns", "seconds")))
        if wrong:
            raise setting_errors(wrong)
        return self
