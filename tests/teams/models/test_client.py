"""A run's caller sees every model request once, at any depth."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import Any

import pytest

from teams import RoundRobinGroupChat
from teams.base import ModelRequest, TeamError, run_hooks
from teams.core import CancellationToken
from teams.models import ChatCompletionClient, CreateResult, RequestUsage, UserMessage
from teams.models._client import THINKS_ALOUD, thinking_aloud
from teams.models.cache import ChatCompletionCache
from teams.models.openai import OpenAIChatCompletionClient
from teams.models.replay import ReplayChatCompletionClient
from tests.fakes.deep_teams import DEEP, alone, call, model, nested, round_robin, said


class Watch:
    def __init__(self, most: int = 100) -> None:
        self.asked: list[ChatCompletionClient] = []
        self.counted: list[RequestUsage] = []
        self.open: list[ModelRequest] = []
        self.broken: list[int] = []
        self._most = most

    async def before_request(self, request: ModelRequest) -> None:
        if len(self.asked) >= self._most:
            raise LookupError("no more")
        self.asked.append(request.client)
        self.open.append(request)

    def after_answer(self, request: ModelRequest, answer: CreateResult) -> None:
        self.counted.append(answer.usage)
        self.open.remove(request)

    def after_no_answer(self, request: ModelRequest, *, written: int | None) -> None:
        self.open.remove(request)
        self.broken += [] if written is None else [written]


def streaming():
    return round_robin(alone("a", model("one two"), model_client_stream=True)), 1


@pytest.mark.parametrize(
    "make",
    [*DEEP, streaming],
    ids=lambda make: make.__name__,
)
async def test_every_request_is_seen_once_however_deep(make):
    team, requests = make()
    watch = Watch()
    with run_hooks(model=watch):
        await team.run(task="go")
    assert len(watch.counted) == requests
    assert not watch.open
    assert all(usage.completion_tokens == 2 for usage in watch.counted)


async def test_a_run_without_a_watch_is_seen_by_nobody():
    team, _ = nested()
    watch = Watch()
    with run_hooks(model=watch):
        pass
    await team.run(task="go")
    assert not watch.asked


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_an_answer_out_of_a_cache_is_not_counted_and_one_through_it_once(stream):
    cache = ChatCompletionCache(model("one"))
    watch = Watch()
    question = [UserMessage(content="?", source="user")]
    with run_hooks(model=watch):
        for _ in range(2):
            if stream:
                async with aclosing(cache.create_stream(question)) as pieces:
                    answer = [piece async for piece in pieces][-1]
            else:
                answer = await cache.create(question)
            assert isinstance(answer, CreateResult)
            assert answer.content == "one"
    assert len(watch.counted) == 1
    assert not watch.open


async def test_what_the_watch_raises_ends_the_run_before_the_model_is_asked():
    client = model(call("look"), "done")

    async def look(task: str) -> str:
        """Look."""
        return task

    team = round_robin(alone("a", client, tools=[look], reflect_on_tool_use=True))
    with run_hooks(model=Watch(most=1)), pytest.raises(TeamError) as caught:
        await team.run(task="go")
    assert isinstance(caught.value.__cause__, LookupError)
    assert len(client.create_calls) == 1
    # The run stands where it was: it goes on with the request that was not made.
    result = await team.run(task=None)
    assert result.messages[-1].to_text() == "done"


class Unsteady(ReplayChatCompletionClient):
    """It breaks off, or hangs, at a word that says so."""

    def __init__(self, answer: str) -> None:
        super().__init__([])
        self.answer = answer
        self.hangs = asyncio.Event()

    async def create(self, *args: Any, **kwargs: Any) -> CreateResult:
        for word in self.answer.split():
            await self._meets(word)
        return said(self.answer)

    async def create_stream(
        self, *args: Any, **kwargs: Any
    ) -> AsyncGenerator[str | CreateResult, None]:
        for word in self.answer.split():
            await self._meets(word)
            yield f"{word} "
        yield said(self.answer)

    async def _meets(self, word: str) -> None:
        if word == "breaks":
            raise ConnectionError("it breaks off")
        if word == "hangs":
            self.hangs.set()
            await asyncio.Event().wait()


def asking(client: ChatCompletionClient, *, stream: bool) -> RoundRobinGroupChat:
    return round_robin(alone("a", client, model_client_stream=stream))


@pytest.mark.parametrize(
    ("answer", "stream", "broken"),
    [
        ("one two breaks off", True, [2]),  # "one two " are eight bytes
        ("breaks off", True, []),
        ("breaks off", False, []),
    ],
    ids=["in-the-midst", "before-the-first-piece", "whole"],
)
async def test_what_had_come_of_an_answer_that_breaks_off_is_told(
    answer: str, stream: bool, broken: list[int]
):
    watch = Watch()
    with run_hooks(model=watch), pytest.raises(TeamError):
        await asking(Unsteady(answer), stream=stream).run(task="go")
    assert (watch.broken, watch.counted, watch.open) == (broken, [], [])


@pytest.mark.parametrize(
    ("stream", "broken"), [(True, [2]), (False, [0])], ids=["streamed", "whole"]
)
async def test_what_is_stopped_was_asked(stream: bool, broken: list[int]):
    watch, client, token = Watch(), Unsteady("one two hangs"), CancellationToken()

    async def stop() -> None:
        await client.hangs.wait()
        token.cancel()

    async with asyncio.TaskGroup() as group:
        group.create_task(stop())
        with run_hooks(model=watch), pytest.raises(asyncio.CancelledError):
            await asking(client, stream=stream).run(task="go", cancellation_token=token)
    assert (watch.broken, watch.counted, watch.open) == (broken, [], [])


async def test_a_client_that_asks_another_one_leaves_the_answer_to_it():
    class Fallback(ReplayChatCompletionClient):
        """Asks a client that fails, and then another one."""

        async def create(self, *args: Any, **kwargs: Any) -> CreateResult:
            with suppress(ConnectionError):
                return await first.create(*args, **kwargs)
            return await second.create(*args, **kwargs)

    first, second = Unsteady("breaks off"), Unsteady("fine")
    watch = Watch()
    with run_hooks(model=watch):
        await asking(Fallback([]), stream=False).run(task="go")
    assert len(watch.counted) == 1
    assert (watch.broken, watch.open) == ([], [])


def test_a_request_tells_how_much_it_may_take():
    client = OpenAIChatCompletionClient(model="gpt-4o", api_key="sk-test", max_tokens=70)
    messages = [UserMessage(content="one two three", source="user")]
    request = ModelRequest(client=client, messages=messages)
    assert request.prompt_tokens() == client.count_tokens(messages)
    assert request.max_answer_tokens() == 70
    more = ModelRequest(client=client, messages=messages, extra={"max_completion_tokens": 5})
    assert more.max_answer_tokens() == 5
    assert ChatCompletionCache(client).max_output_tokens == 70
    assert ModelRequest(client=model("one"), messages=messages).max_answer_tokens() is None


def test_a_request_counts_texts_and_answers():
    client = OpenAIChatCompletionClient(model="gpt-4o", api_key="sk-test")
    request = ModelRequest(client=client, messages=[UserMessage(content="12345", source="user")])
    assert request.text_tokens() == 2
    assert request.answer_tokens(said("123456789")) == 3
    assert request.answer_tokens(call("look")) == 5


def test_a_client_tells_earlier_forms_of_its_abilities_and_leaves_no_tool_out():
    client = model("one")
    info = client.model_info
    assert client.capabilities == {
        name: info[name] for name in ("vision", "function_calling", "json_output")
    }
    assert client.left_out([]) == ()


def test_thoughts_are_told_where_somebody_wants_them():
    assert not THINKS_ALOUD.get()
    with thinking_aloud():
        assert THINKS_ALOUD.get()
        with thinking_aloud(False):
            assert not THINKS_ALOUD.get()
    assert not THINKS_ALOUD.get()
