"""A human among the agents."""

import asyncio
import functools
import threading
from typing import Any

import pytest

from teams import RoundRobinGroupChat
from teams.agents import UserProxyAgent
from teams.base import TeamError, run_hooks
from teams.core import CancellationToken
from teams.messages import HandoffMessage, TextMessage, UserInputRequestedEvent
from tests.fakes.streams import everything, take, texts


async def reply(prompt: str, cancellation_token: CancellationToken | None) -> str:
    return f"async: {prompt}"


def reply_sync(prompt: str) -> str:
    return f"sync: {prompt}"


class Replier:
    async def __call__(self, prompt: str, cancellation_token: CancellationToken | None) -> str:
        return f"async: {prompt}"

    async def method(self, prompt: str, cancellation_token: CancellationToken | None) -> str:
        return f"async: {prompt}"


@pytest.mark.parametrize(
    "function",
    [
        reply,
        reply_sync,
        functools.partial(reply),
        Replier(),
        Replier().method,
        lambda prompt: prompt,
    ],
    ids=["async", "sync", "partial", "object", "method", "lambda"],
)
async def test_an_input_function_may_be_anything_callable(function: Any):
    result = await UserProxyAgent("human", input_func=function).run(task="hi")
    event, answer = result.messages[1:]
    assert isinstance(event, UserInputRequestedEvent)
    assert isinstance(answer, TextMessage)
    assert answer.content.endswith("Your response: ")
    assert answer.source == "human"


async def test_the_request_is_announced_before_the_human_is_asked():
    asked: list[str] = []

    def ask(prompt: str) -> str:
        asked.append(UserProxyAgent.InputRequestContext.request_id())
        return "fine"

    stream = UserProxyAgent("human", input_func=ask).run_stream(task="hi")
    _, event = await take(stream, 2)
    assert isinstance(event, UserInputRequestedEvent)
    assert asked == []
    await everything(stream)
    assert asked == [event.request_id]


def test_a_request_id_exists_only_while_a_human_is_asked():
    with pytest.raises(RuntimeError, match="input function"):
        UserProxyAgent.InputRequestContext.request_id()


async def test_a_blocking_function_runs_in_a_thread_and_the_token_goes_to_async_ones():
    threads: list[threading.Thread] = []
    tokens: list[CancellationToken | None] = []

    def blocking(prompt: str) -> str:
        threads.append(threading.current_thread())
        return ""

    async def free(prompt: str, cancellation_token: CancellationToken | None) -> str:
        tokens.append(cancellation_token)
        return ""

    await UserProxyAgent("human", input_func=blocking).run(task="hi")
    assert threads[0] is not threading.main_thread()
    assert threads[0].daemon
    token = CancellationToken()
    await UserProxyAgent("human", input_func=free).run(task="hi", cancellation_token=token)
    assert tokens == [token]


async def test_without_a_function_or_hook_the_terminal_is_asked(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("builtins.input", lambda prompt: f"typed after {prompt}")
    assert texts(await UserProxyAgent("human").run(task="hi"))[-1] == "typed after Your response: "
    with run_hooks(ask=reply):
        result = await UserProxyAgent("human").run(task="hi")
    assert texts(result)[-1] == "async: Your response: "


async def test_the_answer_to_a_handoff_is_a_handoff_back():
    agent = UserProxyAgent("human", input_func=reply_sync)
    said = [
        TextMessage(content="x", source="desk"),
        HandoffMessage(content="yours", source="desk", target="human"),
    ]
    answer = (await agent.run(task=said)).messages[-1]
    assert isinstance(answer, HandoffMessage)
    assert (answer.target, answer.source) == ("desk", "human")
    assert "desk" in answer.content


@pytest.mark.parametrize("target", ["human", "other"])
async def test_an_earlier_handoff_is_answered_with_text(target: str):
    said = [
        HandoffMessage(content="theirs", source="desk", target=target),
        TextMessage(content="and this", source="desk"),
    ]
    agent = UserProxyAgent("human", input_func=reply_sync)
    assert isinstance((await agent.run(task=said)).messages[-1], TextMessage)


async def test_a_handoff_that_is_meant_for_somebody_else_is_refused_before_anybody_is_asked():
    asked: list[str] = []

    def ask(prompt: str) -> str:
        asked.append(prompt)
        return "fine"

    agent = UserProxyAgent("human", input_func=ask)
    handoff = HandoffMessage(content="theirs", source="desk", target="other")
    with pytest.raises(RuntimeError, match="'desk' handed off to 'other', not to 'human'"):
        await agent.on_messages([handoff], CancellationToken())
    team = RoundRobinGroupChat([agent], max_turns=1)
    with pytest.raises(TeamError, match="handed off to 'other'"):
        await team.run(task=handoff)
    assert asked == []
    assert texts(await team.run(task="go on"))[-1] == "fine"


async def test_an_error_of_the_function_is_a_runtime_error_and_the_question_stays_open():
    answers: list[Any] = [OSError("terminal gone"), "fine"]
    ids: list[str] = []

    def ask(prompt: str) -> str:
        ids.append(UserProxyAgent.InputRequestContext.request_id())
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    team = RoundRobinGroupChat([UserProxyAgent("human", input_func=ask)], max_turns=1)
    with pytest.raises(TeamError, match="Failed to get user input: terminal gone") as caught:
        await team.run(task="hi")
    assert isinstance(caught.value.__cause__, RuntimeError)
    assert isinstance(caught.value.__cause__.__cause__, OSError)
    assert texts(await team.run()) == ["fine"]
    assert ids[0] == ids[1]


async def test_what_it_can_say_and_what_it_is():
    agent = UserProxyAgent("human", description="the boss")
    assert set(agent.produced_message_types) == {TextMessage, HandoffMessage}
    loaded = UserProxyAgent.load_component(agent.dump_component())
    assert (loaded.name, loaded.description) == ("human", "the boss")


@pytest.mark.parametrize("blocking", [False, True])
async def test_asked_directly_it_stops_waiting_when_its_token_is_cancelled(blocking: bool):
    asked, answered, loop = asyncio.Event(), threading.Event(), asyncio.get_running_loop()

    async def ask(prompt: str, cancellation_token: CancellationToken | None) -> str:
        asked.set()
        await asyncio.Event().wait()
        return "never"

    def ask_blocking(prompt: str) -> str:
        loop.call_soon_threadsafe(asked.set)
        answered.wait(5)
        return "late"

    agent = UserProxyAgent("human", input_func=ask_blocking if blocking else ask)
    token = CancellationToken()
    question = [TextMessage(content="Well?", source="a")]
    async with asyncio.timeout(1):
        answer = loop.create_task(agent.on_messages(question, token))
        await asked.wait()
        token.cancel()
        with pytest.raises(asyncio.CancelledError):
            await answer
    answered.set()
