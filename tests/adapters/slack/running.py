"""A gateway on the simulated workspace and its clock."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adapters.slack.connection.rate_limits import SlackLimits
from adapters.slack.connection.web_api import SlackClients
from adapters.slack.outbound.surface import SlackSurface
from adapters.slack.simulator.state import Message
from adapters.slack.testing import HOME, Person, RenderedMessage, SlackSimulator, VirtualClock
from gateway.access.authority import Access
from gateway.base.clock import Clock, sleep
from gateway.conversation import Author, InboundMessage
from gateway.delivery.service import delivering
from gateway.gateway import Gateway, Limits
from gateway.pacing.pacer import Pacer
from gateway.rates import RateLimit, SharedRate
from gateway.registry import ToolRule
from teams import Swarm
from teams.agents import AssistantAgent
from teams.base import Team
from teams.conditions import TextMentionTermination
from teams.models import CreateResult
from teams.models.replay import ReplayChatCompletionClient
from tests.adapters.slack.desk import key_of
from tests.adapters.slack.serving import config_of
from tests.fakes.new_store import new_store
from tests.gateway.scripted import CAN_CALL, ScriptedTeams, calls, solo

PEOPLE = ("alice", "bob")


class SlowModel(ReplayChatCompletionClient):
    """Answers word by word, with pauses in the workspace's time."""

    def __init__(self, clock: Clock, *answers: str | CreateResult, pause: float = 0.05) -> None:
        super().__init__(list(answers), model_info=CAN_CALL)
        self._clock = clock
        self._pause = pause

    async def create_stream(self, *args: Any, **more: Any) -> AsyncGenerator[str | CreateResult]:
        async for piece in super().create_stream(*args, **more):
            if isinstance(piece, str):
                await sleep(self._clock, self._pause)
            yield piece


@dataclass
class RunningGateway:
    """A gateway that runs, and the workspace that it writes to."""

    slack: SlackSimulator
    gateway: Gateway
    surface: SlackSurface

    async def ask(self, name: str, text: str, *, channel: str = "general") -> Message:
        """Somebody asks in a thread of its own; what they wrote."""
        asked = await self.slack.person(name).asks(channel, text)
        await self.say(name, text, asked)
        return asked

    async def say(self, name: str, text: str, thread: Message, **more: Any) -> None:
        """Somebody says something in a thread."""
        await self.gateway.accept(message(self.slack.person(name), text, thread, **more))

    def messages(self, thread: Message) -> list[RenderedMessage]:
        """The bot's messages in the thread."""
        return self.slack.messages(thread.channel, thread)[1:]

    def finished(self, thread: Message) -> bool:
        """True once the team has answered and nothing is running."""
        shown = self.messages(thread)
        session = self.slack.session("general", thread)
        resting = session is None or session.status == "active"
        return bool(shown) and resting and all(each.stream != "streaming" for each in shown)


def message(person: Person, text: str, thread: Message, **more: Any) -> InboundMessage:
    author = Author(id=f"slack:{HOME}:{person.id}", name="someone")
    return InboundMessage(key=key_of(thread), author=author, text=text, **more)


@asynccontextmanager
async def running(
    slack: SlackSimulator,
    folder: Path,
    make: Callable[[], Team],
    *,
    rules: Mapping[str, ToolRule] | None = None,
    parallel: int = 30,
    shared: Callable[[RateLimit], SharedRate] | None = None,
) -> AsyncGenerator[RunningGateway]:
    """A serving process; time stands still unless advanced."""
    operators = [f"slack:{HOME}:{slack.person(name).id}" for name in PEOPLE]
    teams = ScriptedTeams(make, rules=rules or {})
    async with (
        SlackClients(config_of(slack)) as clients,
        Gateway(
            new_store(folder, clock=slack.clock.time),
            teams,
            access=Access(operators),
            limits=Limits(parallel_turns=parallel, shutdown=0.1),
            clock=slack.clock.time,
        ) as gateway,
    ):
        surface = SlackSurface(
            clients,
            clock=slack.clock,
            call_seconds=2.0,
            rates=SlackLimits(Pacer(shared, slack.clock)),
        )
        async with surface.maintained(), delivering(gateway.delivery, surface, clock=slack.clock):
            yield RunningGateway(slack, gateway, surface)


def relay(clock: VirtualClock, text: str) -> Swarm:
    """A planner hands over to a writer, whose text ends with END."""
    planner = AssistantAgent(
        "planner",
        SlowModel(clock, calls("transfer_to_writer")),
        handoffs=["writer"],
        model_client_stream=True,
    )
    # So slow that its first words are stored and shown before its last one comes.
    words = SlowModel(clock, text, pause=0.2)
    writer = AssistantAgent("writer", words, model_client_stream=True)
    return Swarm([planner, writer], termination_condition=TextMentionTermination("END"))


def one(
    clock: Clock,
    *answers: str | CreateResult,
    pause: float = 0.05,
    tools: Sequence[Any] = (),
) -> Team:
    """One agent that streams."""
    client = SlowModel(clock, *answers, pause=pause)
    return solo(client, model_client_stream=True, tools=tools)
