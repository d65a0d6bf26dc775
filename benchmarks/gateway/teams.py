"""Cheap teams for the gateway: an agent on an immediate model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

from gateway.base.imports import Imports
from gateway.config.root import Config
from gateway.conversation import Author
from gateway.factory.ownership import holdings_of
from gateway.factory.teams import TeamFactory
from gateway.registry import BuiltTeam, ModelChoice, TeamInfo, ToolRule
from gateway.values import NO_ORIGIN
from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.base import Team, ToolCall
from teams.models import CreateResult, LLMMessage, ModelInfo, RequestUsage
from teams.models.replay import ReplayChatCompletionClient

ANSWER = "An answer of the length that answers in chats have, about two lines, and no more. " * 2
INFO = ModelInfo(
    vision=False, function_calling=True, json_output=True, family="unknown", structured_output=False
)
USAGE = RequestUsage(prompt_tokens=10, completion_tokens=5)


class DoNothing(ReplayChatCompletionClient):
    """Always gives the same answer at once.

    A stream gives it piece by piece, `pause` seconds apart.
    """

    def __init__(self, *pieces: str, pause: float = 0.0) -> None:
        super().__init__([], model_info=INFO)
        self._pieces = pieces or (ANSWER,)
        self._pause = pause
        self._answer = CreateResult(
            finish_reason="stop", content="".join(self._pieces), usage=USAGE, cached=False
        )

    async def create(self, messages: Sequence[LLMMessage], **_: Any) -> CreateResult:
        """The answer."""
        return self._answer

    async def create_stream(
        self, messages: Sequence[LLMMessage], **_: Any
    ) -> AsyncGenerator[str | CreateResult, None]:
        """The pieces in time, whatever the consumer took; then the answer."""
        loop = asyncio.get_running_loop()
        due = loop.time()
        for piece in self._pieces:
            yield piece
            if self._pause:
                due += self._pause
                await asyncio.sleep(max(0.0, due - loop.time()))
        yield self._answer


def solo(model: DoNothing, *, stream: bool = False) -> Team:
    """One agent that answers once."""
    agent = AssistantAgent("agent", model, model_client_stream=stream)
    return RoundRobinGroupChat([agent], max_turns=1)


def lookup(place: str, near: bool = False) -> str:
    """Look something up."""
    return place if near else ""


def convert(amount: float, unit: Annotated[str, "Such as 'm'."] = "m") -> str:
    """Convert an amount."""
    return f"{amount} {unit}"


async def note(lines: list[str]) -> str:
    """Note some lines."""
    return "\n".join(lines)


_MODEL = {"provider": f"{__name__}:DoNothing"}
_TOOLS = {
    each.__name__: [{"path": f"{__name__}:{each.__name__}"}] for each in (lookup, convert, note)
}
CONFIG = {
    "models": {"immediate": _MODEL},
    "teams": {
        "solo": {"type": "round_robin", "max_turns": 1, "agents": {"agent": {}}},
        "tools": {
            "type": "selector",
            "termination": "MaxMessage(10) | TextMention('DONE')",
            "agents": {
                name: {"description": name, "tools": tools} for name, tools in _TOOLS.items()
            },
        },
    },
}
"""A config of two teams: one assistant; and three with a tool each, among whom a model chooses."""


def configured() -> TeamFactory:
    """The teams of the config, as `parley serve` has them."""
    return TeamFactory(Config.model_validate(CONFIG), Imports(), start_folder=Path.cwd())


class OneTeam:
    """A `TeamSource` of one team."""

    default = "team"
    origin = NO_ORIGIN

    def readers(self, team: str, *, model: str = "") -> tuple[str, ...]:
        """Nobody."""
        return ()

    def __init__(self, make: Callable[[], Team]) -> None:
        self._make = make

    def names(self) -> list[str]:
        """The one."""
        return [self.default]

    def model_choices(self, team: str) -> tuple[ModelChoice, ...]:
        """None to choose."""
        return ()

    def info(self, name: str, *, model: str = "") -> TeamInfo:
        """The team's entry in lists."""
        return TeamInfo(
            name=name, description="", participants=("agent",), models={}, definition="1"
        )

    async def build(self, name: str, *, workdir: Path, model: str = "") -> BuiltTeam:
        """A fresh one."""
        team = self._make()
        return BuiltTeam(team=team, holds=holdings_of(team))

    def rule(self, team: str, call: ToolCall, asker: Author) -> ToolRule:
        """Everything is allowed."""
        return ToolRule(action="allow")

    def models(self) -> dict[str, str]:
        """No models to choose from."""
        return {}

    def remembers_elsewhere(self) -> bool:
        """Nothing is."""
        return False

    async def forget(self, person: str) -> None:
        """Nothing is remembered."""

    def explain(self, error: BaseException) -> str:
        """Its text."""
        return str(error)

    async def aclose(self) -> None:
        """There is nothing to close."""
