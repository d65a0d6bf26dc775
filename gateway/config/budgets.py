"""`[[budgets]]` and `[prices]`: how much may be used, and what models cost."""

from __future__ import annotations

from typing import Literal, Self, TypeAlias

from pydantic import Field, model_validator

from gateway.base.calendar import Scope
from gateway.config.routes import Names
from gateway.config.table import Section, setting_error

Window: TypeAlias = Literal["turn", "hour", "day", "month"]


class Price(Section):
    """What a million tokens of a model cost, in whatever currency all prices are given in."""

    input: float = Field(ge=0)
    """Tokens that the model is sent."""

    output: float = Field(ge=0)
    """Tokens that it answers with."""


class Budget(Section):
    """How much each thread, person, team or workspace may use within a window of time.

    A turn that finds it used up ends before its next request to a model, says so, and goes on from
    there later. At four fifths of it, the thread is told.
    """

    per: Scope
    """What it is counted for: each "thread", "person", "team" or "workspace" has its own count.
    Operators have no budget as persons.
    """

    window: Window = "day"
    """The time it is for: one "turn", or an "hour", "day" or "month" of the calendar, in UTC."""

    only: Names = Field(default_factory=list)
    """Ids of the threads, people ("U1" or "slack:T1:U1") or workspaces, or names of the teams it
    holds for; all if not given.
    """

    tokens: int | None = Field(default=None, ge=1)
    """How many tokens models may read and write, together."""

    cost: float | None = Field(default=None, gt=0)
    """What that may cost by [prices]."""

    turns: int | None = Field(default=None, ge=1)
    """How many turns may ask a model."""

    seconds: float | None = Field(default=None, gt=0)
    """How long one turn may take without the time it waits for people; only with
    window = "turn".
    """

    @model_validator(mode="after")
    def _limits_something(self) -> Self:
        if self.seconds is not None and self.window != "turn":
            raise setting_error("seconds", 'is the length of a turn: set window = "turn"')
        if self.turns is not None and self.window == "turn":
            raise setting_error("turns", 'can\'t be counted in one turn: set window = "day"')
        limits = (self.tokens, self.cost, self.turns, self.seconds)
        if all(limit is None for limit in limits):
            said = "is missing: a budget limits tokens, cost, turns or seconds"
            raise setting_error("tokens", said)
        return self
