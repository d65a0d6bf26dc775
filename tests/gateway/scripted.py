"""Shared by the gateway's tests: scripted teams, and people who answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from gateway.client import Client
from gateway.control.socket_server import serve_control
from gateway.conversation import Author
from gateway.events import SessionEvent, TurnFinished
from gateway.factory.advice import advise
from gateway.factory.ownership import holdings_of
from gateway.gateway import Gateway
from gateway.registry import BuiltTeam, ModelChoice, TeamInfo, ToolRule
from gateway.values import NO_ORIGIN, Origin
from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.base import Team, ToolCall
from teams.conditions import MaxMessageTermination
from teams.core import FunctionCall
from teams.models import ChatCompletionClient, CreateResult, ModelInfo, RequestUsage
from teams.models.replay import ReplayChatCompletionClient
from tests.fakes.new_store import new_store

CAN_CALL = ModelInfo(
    vision=True,
    function_calling=True,
    json_output=False,
    family="unknown",
    structured_output=False,
)
ALLOW = ToolRule(action="allow", output="trusted")


def model(*answers: str | CreateResult) -> ReplayChatCompletionClient:
    return ReplayChatCompletionClient(list(answers), model_info=CAN_CALL)


def calls(*names: str, **arguments: str) -> CreateResult:
    """A model's answer that asks for tools; `arguments` by name, as JSON."""
    return CreateResult(
        finish_reason="function_calls",
        content=[
            FunctionCall(id=f"c{n}", name=name, arguments=arguments.get(name, "{}"))
            for n, name in enumerate(names)
        ],
        usage=RequestUsage(prompt_tokens=3, completion_tokens=2),
        cached=False,
    )


def solo(*answers, tools: Sequence = (), messages: int = 2, **more) -> Team:
    """One agent that answers each message, and ends after two messages.

    A model given instead of answers is shared by all teams made with it, as models are.
    """
    client = answers[0] if isinstance(answers[0], ChatCompletionClient) else model(*answers)
    agent = AssistantAgent("solo", client, tools=list(tools), max_tool_iterations=5, **more)
    return RoundRobinGroupChat([agent], termination_condition=MaxMessageTermination(messages))


@dataclass
class ScriptedTeams:
    """Builds the teams of `make`.

    `rules` by the name of the tool, else `rule`.
    """

    make: Callable[[], Team]
    rules: Mapping[str, ToolRule] = field(default_factory=dict)
    rule_of_others: ToolRule = ALLOW
    default: str = "demo"
    participants: tuple[str, ...] = ("solo",)
    built: int = 0
    workdirs: list[Path] = field(default_factory=list)
    choices: tuple[ModelChoice, ...] = ()
    built_on: list[str] = field(default_factory=list)
    origin: Origin = NO_ORIGIN
    titler: ChatCompletionClient | None = None

    def readers(self, team: str, *, model: str = "") -> tuple[str, ...]:
        return (f"{model or 'replay'} (models.example)",)

    def names(self) -> list[str]:
        return ["demo", "other"]

    def models(self) -> dict[str, str]:
        return {"small": "replay-small", "large": "replay-large"}

    def model_choices(self, team: str) -> tuple[ModelChoice, ...]:
        return self.choices

    def info(self, name: str, *, model: str = "") -> TeamInfo:
        if name not in self.names():
            raise KeyError(name)
        return TeamInfo(
            name=name,
            description="",
            participants=self.participants,
            models=dict.fromkeys(self.participants, model or "replay"),
            definition="1",
        )

    async def build(self, name: str, *, workdir: Path, model: str = "") -> BuiltTeam:
        self.built += 1
        self.built_on.append(model)
        self.workdirs.append(workdir)
        made: Any = self.make()
        team = await made if isinstance(made, Awaitable) else made
        return BuiltTeam(team=team, holds=replace(holdings_of(team), titler=self.titler))

    def rule(self, team: str, call: ToolCall, asker: Author) -> ToolRule:
        return self.rules.get(call.name, self.rule_of_others)

    def remembers_elsewhere(self) -> bool:
        return False

    async def forget(self, person: str) -> None:
        pass

    def explain(self, error: BaseException) -> str:
        return advise(error, {})

    async def aclose(self) -> None:
        pass


@asynccontextmanager
async def opened(folder: Path, make: Callable[[], Team] | ScriptedTeams, **more):
    """A gateway on the store in `folder`, with its socket."""
    teams = make if isinstance(make, ScriptedTeams) else ScriptedTeams(make)
    async with Gateway(new_store(folder), teams, **more) as gateway, serve_control(gateway):
        yield gateway


def client_of(there: Gateway | Client) -> Client:
    """The client of a gateway, here or in another process."""
    return there.client if isinstance(there, Gateway) else there


async def until(
    there: Gateway | Client, thread: str, stop: Callable[[Any], bool], after: int = 0
) -> list[Any]:
    """The thread's events up to the first for which `stop` holds."""
    seen: list[SessionEvent] = []
    events_of = client_of(there).events
    stream = cast("AsyncGenerator[SessionEvent]", events_of(thread, after=after))
    async with aclosing(stream) as events:
        async for event in events:
            seen.append(event)
            if stop(event):
                return seen
    raise AssertionError(f"the events ended: {kinds(seen)}")


async def turn(there: Gateway | Client, thread: str, text: str, **more: Any) -> list[Any]:
    """Send a message; the events to the end of its turn."""
    client = client_of(there)
    after = (await client.thread(thread)).last_seq
    await client.send(thread, text, **more)
    return await until(client, thread, ends, after)


def ends(event: SessionEvent) -> bool:
    return isinstance(event, TurnFinished)


def kinds(events: Sequence[SessionEvent]) -> list[str]:
    return [event.kind for event in events]


def of(kind: type, events: Sequence[SessionEvent]) -> list:
    return [event for event in events if isinstance(event, kind)]


class Door:
    """Something that waits until it is opened, and tells that it waits."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self._opened = asyncio.Event()

    async def pass_through(self) -> None:
        self.reached.set()
        await self._opened.wait()

    def open(self) -> None:
        self._opened.set()
