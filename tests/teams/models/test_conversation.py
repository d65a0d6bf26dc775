"""A model client may change the list it gets, and nothing else."""

import asyncio
import gc
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from benchmarks.gateway.teams import DoNothing
from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.core import CancellationToken
from teams.messages import TextMessage
from teams.model_context import (
    BufferedChatCompletionContext,
    ChatCompletionContext,
    TokenLimitedChatCompletionContext,
    UnboundedChatCompletionContext,
)
from teams.models import AssistantMessage, CreateResult, LLMMessage, SystemMessage, UserMessage
from tests.fakes.scripted_model import says

INTRUDER = UserMessage(content="Not what was said.", source="nobody")


class Client(DoNothing):
    """Answers with a number each time.

    It records its messages, then treats them.
    """

    def __init__(self, treat: Callable[[list[Any]], object] = lambda _: None) -> None:
        super().__init__()
        self._treat = treat
        self.asked: list[list[str]] = []

    async def create(self, messages: Sequence[LLMMessage], **_: Any) -> CreateResult:
        assert isinstance(messages, list)
        self.asked.append([str(message.content) for message in messages])
        self._treat(messages)
        return says(f"answer {len(self.asked)}")


class LatestContext(ChatCompletionContext):
    """A user's own: the last three messages."""

    async def get_messages(self) -> list[LLMMessage]:
        return self._messages[-3:]


def ask(client: Client, context: ChatCompletionContext | None = None) -> RoundRobinGroupChat:
    agents = [
        AssistantAgent("ann", client, system_message="You are Ann.", model_context=context),
        AssistantAgent("bob", Client(), system_message=None),
    ]
    return RoundRobinGroupChat(agents, max_turns=8)


def keep(kept: list[Any]) -> Callable[[list[Any]], object]:
    return kept.append


def replace(position: int) -> Callable[[list[Any]], object]:
    def treat(messages: list[Any]) -> None:
        messages[position] = INTRUDER

    return treat


def cut_and_add(messages: list[Any]) -> None:
    del messages[0]
    messages.append(INTRUDER)


TREATMENTS: dict[str, Callable[[list[Any]], object]] = {
    "kept": keep([]),
    "appended to": lambda messages: messages.append(INTRUDER),
    "the first replaced": replace(0),
    "one in the middle replaced": replace(1),
    "the last replaced": replace(-1),
    "one taken out, one added": cut_and_add,
    "reversed": lambda messages: messages.reverse(),
    "emptied": lambda messages: messages.clear(),
}
CONTEXTS: dict[str, Callable[[], ChatCompletionContext]] = {
    "unbounded": UnboundedChatCompletionContext,
    "buffered": lambda: BufferedChatCompletionContext(3),
    "token limited": lambda: TokenLimitedChatCompletionContext(DoNothing(), token_limit=12),
    "own": LatestContext,
}


@pytest.mark.parametrize("context", CONTEXTS.values(), ids=CONTEXTS)
@pytest.mark.parametrize("treat", TREATMENTS.values(), ids=TREATMENTS)
async def test_later_requests_are_the_same_whatever_a_client_does_with_its_list(
    treat: Callable[[list[Any]], object], context: Callable[[], ChatCompletionContext]
):
    quiet, meddling = Client(), Client(treat)
    for client in (quiet, meddling):
        team = ask(client, context())
        await team.run(task="Begin.")
        await team.run(task="Go on.")
    assert len(quiet.asked) == 8
    assert meddling.asked == quiet.asked


async def test_a_list_that_a_client_keeps_stays_as_it_was_sent():
    kept: list[list[LLMMessage]] = []
    client = Client(keep(kept))
    await ask(client).run(task="Begin.")
    assert [[message.content for message in messages] for messages in kept] == client.asked
    assert [len(messages) for messages in kept] == [2, 4, 6, 8]


async def test_a_history_that_was_replaced_is_what_is_sent():
    client = Client()
    context = UnboundedChatCompletionContext()
    agent = AssistantAgent("ann", client, system_message="You are Ann.", model_context=context)
    await agent.on_messages([TextMessage(content="One", source="user")], CancellationToken())
    await context.clear()
    for word in ("Two", "Three"):
        await context.add_message(UserMessage(content=word, source="user"))
    await agent.on_messages([TextMessage(content="Four", source="user")], CancellationToken())
    assert client.asked[1] == ["You are Ann.", "Two", "Three", "Four"]


async def test_a_system_message_that_was_changed_in_place_is_what_is_sent():
    client = Client()
    agent = AssistantAgent("ann", client, system_message="You are Ann.")
    token = CancellationToken()
    await agent.on_messages([TextMessage(content="One", source="user")], token)
    agent._system_messages[0] = SystemMessage(content="You are Eve.")
    await agent.on_messages([TextMessage(content="Two", source="user")], token)
    agent._system_messages.append(SystemMessage(content="Be brief."))
    await agent.on_messages([TextMessage(content="Three", source="user")], token)
    assert client.asked[1] == ["You are Eve.", "One", "answer 1", "Two"]
    assert client.asked[2][:3] == ["You are Eve.", "Be brief.", "One"]


async def test_an_agent_that_is_asked_twice_at_once_sends_two_lists():
    sent: list[list[LLMMessage]] = []
    both = asyncio.Event()

    class Waiting(Client):
        async def create(self, messages: Sequence[LLMMessage], **_: Any) -> CreateResult:
            sent.append(messages)  # pyright: ignore[reportArgumentType]
            if len(sent) == 2:
                both.set()
            await both.wait()
            return await super().create(messages)

    agent = AssistantAgent("ann", Waiting(), system_message=None)
    message = TextMessage(content="Hello", source="user")
    async with asyncio.TaskGroup() as group:
        for _ in range(2):
            group.create_task(agent.on_messages([message], CancellationToken()))
    assert sent[0] is not sent[1]


@pytest.mark.chaos
async def test_a_long_history_is_not_copied_for_each_request_and_a_team_at_rest_keeps_no_copy():
    said, size = 40, 3000
    copies: list[int] = []
    client = Client(lambda messages: copies.append(id(messages)))
    agents = [AssistantAgent(name, client) for name in ("ann", "bob")]
    for agent in agents:
        for number in range(size):
            await agent.model_context.add_message(UserMessage(content=str(number), source="user"))
    await RoundRobinGroupChat(agents, max_turns=said).run(task="Begin.")
    assert len(copies) == said
    assert len(set(copies)) == 2
    gc.collect()
    lists: list[list[Any]] = [each for each in gc.get_objects() if isinstance(each, list)]  # pyright: ignore
    long = [each for each in lists if len(each) > size]
    assert sum(isinstance(each[-1], UserMessage | AssistantMessage) for each in long) == len(agents)
