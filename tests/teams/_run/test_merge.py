"""Calls that ignore their cancellation are soon abandoned, and logged."""

import asyncio
import logging
import threading
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import pytest

from teams import RoundRobinGroupChat
from teams._run.merge import Emit, merge, while_left
from teams.agents import AssistantAgent, UserProxyAgent
from teams.base import Response, TeamError
from teams.core import CancellationToken
from teams.messages import BaseChatMessage, TextMessage
from tests.fakes.agents import Talker
from tests.fakes.scripted_model import ScriptedModel, calls
from tests.fakes.streams import texts
from tests.fakes.traps import CANCELS, Talk, Trap, cancel_by_task, cancel_by_token, worker


class LogLine(logging.Handler):
    """Waits for a line in the log."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.seen = asyncio.Event()
        self._text = text

    def emit(self, record: logging.LogRecord) -> None:
        if self._text in record.getMessage():
            self.seen.set()


@pytest.mark.parametrize("cancel", [cancel_by_token, cancel_by_task], ids=["token", "task"])
async def test_a_tool_that_swallows_its_cancellation_is_abandoned_and_logged(
    cancel: Any, caplog: pytest.LogCaptureFixture
):
    trap = Trap()

    async def stubborn() -> str:
        await trap.stand_firm()
        return "late"

    agent = worker(stubborn)
    team = RoundRobinGroupChat([agent], max_turns=1)
    started = asyncio.get_running_loop().time()
    with caplog.at_level(logging.WARNING, logger="teams"):
        await cancel(team, trap)
    assert 0.4 < asyncio.get_running_loop().time() - started < 1.5
    assert "abandoned" in caplog.text
    state = await team.save_state()
    trap.opened.set()
    await trap.over.wait()
    for _ in range(10):
        await asyncio.sleep(0)
    assert await team.save_state() == state
    assert texts(await team.run(task="again")) == ["again", "next"]


async def test_a_human_function_that_swallows_its_cancellation_is_abandoned():
    trap = Trap()

    async def ask(prompt: str, cancellation_token: CancellationToken | None) -> str:
        await trap.stand_firm()
        return "late"

    team = RoundRobinGroupChat([UserProxyAgent("human", input_func=ask)], max_turns=1)
    async with asyncio.timeout(1):
        await cancel_by_token(team, trap)
    trap.opened.set()
    await trap.over.wait()
    assert texts(await team.run(task="again"))[-1] == "late"


@pytest.mark.parametrize("cancel", CANCELS, ids=lambda cancel: cancel.__name__)
async def test_a_function_in_a_thread_is_left_alone_at_once_and_told_by_its_token(cancel: Any):
    trap, loop = Trap(), asyncio.get_running_loop()
    told, go_on = threading.Event(), threading.Event()

    def blocking(cancellation_token: CancellationToken) -> str:
        cancellation_token.add_callback(told.set)
        loop.call_soon_threadsafe(trap.entered.set)
        go_on.wait(5)
        return "late"

    team = RoundRobinGroupChat([worker(blocking)], max_turns=1)
    async with asyncio.timeout(0.4):
        await cancel(team, trap)
    assert told.is_set()
    dropped = LogLine("outcome is dropped")
    logging.getLogger("teams").addHandler(dropped)
    go_on.set()
    await dropped.seen.wait()
    logging.getLogger("teams").removeHandler(dropped)
    assert texts(await team.run(task="again")) == ["again", "next"]


async def test_a_blocking_input_function_does_not_hold_a_cancelled_run():
    trap, loop, go_on = Trap(), asyncio.get_running_loop(), threading.Event()

    def ask(prompt: str) -> str:
        loop.call_soon_threadsafe(trap.entered.set)
        go_on.wait(5)
        return "late"

    team = RoundRobinGroupChat([UserProxyAgent("human", input_func=ask)], max_turns=1)
    async with asyncio.timeout(0.4):
        await cancel_by_token(team, trap)
    go_on.set()


async def try_again(trap: Trap, attempts: int = 3) -> None:
    """Waits in the trap, and takes cancellation for a failure to retry."""
    if trap.entered.is_set():
        return
    trap.entered.set()
    for attempt in range(1, attempts):
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            trap.ended.append(f"attempt {attempt}")
    await asyncio.Event().wait()


class TriesAgain(ScriptedModel):
    """A model client with such a loop around its requests."""

    def __init__(self, trap: Trap, attempts: int = 3) -> None:
        super().__init__("next")
        self._trap, self._attempts = trap, attempts

    async def create(self, *args: Any, **options: Any) -> Any:
        await try_again(self._trap, self._attempts)
        return await super().create(*args, **options)

    async def create_stream(self, *args: Any, **options: Any) -> AsyncGenerator[Any, None]:
        await try_again(self._trap, self._attempts)
        async for piece in super().create_stream(*args, **options):
            yield piece


class AgentTriesAgain(Talker):
    """An agent of a user's own with such a loop."""

    def __init__(self, trap: Trap) -> None:
        super().__init__("own", "next")
        self._trap = trap

    async def on_messages(
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
    ) -> Response:
        await try_again(self._trap, 2)
        return await super().on_messages(messages, cancellation_token)


@pytest.mark.parametrize(
    "speaker",
    [
        lambda trap: AssistantAgent("a", TriesAgain(trap, 2)),
        lambda trap: AssistantAgent("a", TriesAgain(trap, 2), model_client_stream=True),
        AgentTriesAgain,
    ],
    ids=["model", "stream", "agent"],
)
async def test_what_takes_its_cancellation_for_a_failure_is_cancelled_again(speaker: Any):
    trap = Trap()
    team = RoundRobinGroupChat([speaker(trap)], max_turns=1)
    async with asyncio.timeout(1.5):
        await cancel_by_token(team, trap)
    assert trap.ended == ["attempt 1"]
    assert texts(await team.run(task="again"))[-1] == "next"


async def test_it_is_cancelled_again_where_its_consumer_is_cancelled_without_a_token():
    async def consume(model_client_stream: bool) -> None:
        trap, counts = Trap(), list[int]()
        agent = AssistantAgent("a", TriesAgain(trap, 2), model_client_stream=model_client_stream)
        team = RoundRobinGroupChat([agent], max_turns=1)

        async def run() -> None:
            try:
                await team.run(task="hi")
            finally:
                task = asyncio.current_task()
                counts.append(task.cancelling() if task is not None else -1)
                await asyncio.sleep(0)  # cleaning up is not disturbed

        running = asyncio.get_running_loop().create_task(run())
        await trap.entered.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert counts == [1]
        assert texts(await team.run(task="again"))[-1] == "next"

    async def time_out() -> None:
        team = RoundRobinGroupChat([AssistantAgent("a", TriesAgain(Trap(), 2))], max_turns=1)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await team.run(task="hi")
        assert texts(await team.run(task="again"))[-1] == "next"

    async with asyncio.timeout(5):
        await asyncio.gather(consume(False), consume(True), time_out())


async def test_what_swallows_its_cancellation_and_answers_is_not_heard():
    trap = Trap()

    async def answer() -> str:
        trap.entered.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "late"
        return "never"

    team = RoundRobinGroupChat([Talker("own", answer, "next"), Talker("more", "on")], max_turns=2)
    running = asyncio.get_running_loop().create_task(team.run(task="hi"))
    await trap.entered.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert "late" not in texts(await team.run(task="again"))


@pytest.mark.chaos
async def test_however_often_it_does_so_the_run_ends_and_its_task_is_not_left_cancelled():
    trap = Trap()
    team = RoundRobinGroupChat([AssistantAgent("a", TriesAgain(trap))], max_turns=1)
    async with asyncio.timeout(3):
        await cancel_by_token(team, trap)
    assert trap.ended == ["attempt 1", "attempt 2"]
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_a_tool_that_raises_cancelled_error_itself_fails_alone():
    async def odd() -> str:
        raise asyncio.CancelledError

    model = ScriptedModel(calls(("odd", {})), "fine")
    agent = AssistantAgent("a", model, tools=[odd], max_tool_iterations=2)
    assert texts(await agent.run(task="hi"))[-1] == "fine"
    result = model.messages()[-1]["content"][0]
    assert result["is_error"] is True
    assert "cancelled" in result["content"]


@pytest.mark.parametrize("nested", [False, True])
async def test_an_agent_that_raises_cancelled_error_itself_fails_the_run(nested: bool):
    own = Talker("own", asyncio.CancelledError(), "better")
    team = RoundRobinGroupChat([own], name="inner", max_turns=1)
    if nested:
        team = RoundRobinGroupChat([team], max_turns=1)
    with pytest.raises(TeamError, match="CancelledError") as caught:
        await team.run(task="hi", cancellation_token=CancellationToken())
    assert isinstance(caught.value.__cause__, asyncio.CancelledError)
    assert texts(await team.run()) == ["better"]


async def test_a_second_cancellation_does_not_wait_for_a_stubborn_call():
    trap = Trap()

    async def stubborn() -> str:
        await trap.stand_firm()
        return "late"

    team = RoundRobinGroupChat([worker(stubborn)], max_turns=1)
    task = asyncio.get_running_loop().create_task(team.run(task="hi"))
    await trap.entered.wait()
    task.cancel()
    for _ in range(5):
        await asyncio.sleep(0)
    task.cancel()
    async with asyncio.timeout(0.3):
        with pytest.raises(asyncio.CancelledError):
            await task
    trap.opened.set()
    await trap.over.wait()
    assert texts(await team.run(task="again")) == ["again", "next"]


async def test_a_run_that_is_left_drops_what_a_stubborn_call_says_later():
    trap, ran = Trap(), 0

    async def stubborn() -> str:
        nonlocal ran
        ran += 1
        await trap.stand_firm()
        return f"run {ran}"

    wanted = calls(("talk", {}), ("stubborn", {}))
    agent = AssistantAgent("a", ScriptedModel(wanted), tools=[Talk(Trap()), stubborn])
    team = RoundRobinGroupChat([agent], max_turns=1)
    stream = team.run_stream(task="hi")
    while not (isinstance(item := await anext(stream), TextMessage) and item.source == "tool"):
        pass
    await trap.entered.wait()
    state = await team.save_state()
    async with asyncio.timeout(1):
        await stream.aclose()
    trap.opened.set()
    await trap.over.wait()
    for _ in range(5):
        await asyncio.sleep(0)
    assert await team.save_state() == state


async def test_nothing_begins_while_a_run_is_left():
    begun = asyncio.Event()

    async def job(emit: Emit[str]) -> None:
        try:
            await emit("hi")
        except asyncio.CancelledError:
            await while_left()
            begun.set()
            raise

    stream = merge([job], grace=0.01)
    assert await anext(stream) == "hi"
    await stream.aclose()
    assert not begun.is_set()
    await begun.wait()
