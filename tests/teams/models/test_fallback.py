"""A model client asks the next model while one is missing."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest
from pydantic import BaseModel

from teams.base import run_hooks
from teams.core import CancellationToken, Image
from teams.models import (
    BadAnswer,
    BadCredentials,
    BadRequest,
    ChatCompletionClient,
    ContextOverflow,
    CreateResult,
    LLMMessage,
    ModelDisconnected,
    ModelError,
    ModelInfo,
    ModelRefused,
    ModelTimeout,
    ModelUnavailable,
    ModelUnreachable,
    OutOfQuota,
    RateLimited,
    UnknownModel,
    UserMessage,
)
from teams.models.fallback import FallbackChatCompletionClient, Substitution
from teams.models.openai import OpenAIChatCompletionClient
from teams.models.replay import ReplayChatCompletionClient
from teams.testing import CHECKS, Subject, perform
from teams.tools import FunctionTool
from tests.fakes.openai_model_server import OpenAIModelServer
from tests.fakes.openai_script import Fail, Reply
from tests.fakes.openai_server import FakeOpenAI
from tests.fakes.scripted_model import ScriptedModel, says

PIXEL = Image.from_base64("R0lGODlhAQABAAAAACwAAAAAAQABAAACAkQBADs=")


class Shape(BaseModel):
    text: str


def look(at: str) -> str:
    """Look."""
    return at


class Time:
    """A clock that only sleeping moves, and what was slept."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def asking(text: str | list[str | Image] = "hi") -> list[LLMMessage]:
    return [UserMessage(content=text, source="user")]


def fallback(*clients: ChatCompletionClient, **more: Any) -> FallbackChatCompletionClient:
    time = more.pop("time", Time())
    names = ["main", "other", "third"][: len(clients)]
    given: dict[str, Any] = {"names": names, "clock": time, "sleep": time.sleep, **more}
    return FallbackChatCompletionClient(clients, **given)


async def ask(client: ChatCompletionClient, *, stream: bool = False, **more: Any) -> CreateResult:
    messages = more.pop("messages", asking())
    if not stream:
        return await client.create(messages, **more)
    async with aclosing(client.create_stream(messages, **more)) as pieces:
        return [piece async for piece in pieces][-1]  # type: ignore


both = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


@both
@pytest.mark.parametrize(
    "kind",
    [
        *(BadAnswer, BadCredentials, ModelDisconnected, ModelTimeout, ModelUnavailable),
        *(ModelUnreachable, OutOfQuota, RateLimited, UnknownModel),
    ],
)
async def test_a_model_that_is_not_available_is_replaced_by_the_next(kind, stream):
    main, other = ScriptedModel(kind("no")), ScriptedModel(says("yes"))
    answer = await ask(fallback(main, other), stream=stream)
    assert answer.content == "yes"
    assert (len(main.requests), len(other.requests)) == (1, 1)


@both
@pytest.mark.parametrize("kind", [BadRequest, ContextOverflow, ModelRefused, ValueError])
async def test_an_error_about_the_request_is_not_tried_on_others(kind, stream):
    other = ScriptedModel(says("yes"))
    with pytest.raises(kind):
        await ask(fallback(ScriptedModel(kind("no")), other), stream=stream)
    assert not other.requests


async def test_a_stream_that_has_begun_is_not_repeated_and_the_next_request_goes_elsewhere():
    main = ScriptedModel(["one ", ModelDisconnected("broke")], says("main again"))
    client = fallback(main, ScriptedModel(says("other")))
    async with aclosing(client.create_stream(asking())) as pieces:
        assert await anext(pieces) == "one "
        with pytest.raises(ModelDisconnected):
            await anext(pieces)
    assert (await ask(client)).content == "other"


async def test_a_model_that_failed_rests_as_long_as_it_asks_and_is_first_again_then():
    time = Time()
    main = ScriptedModel(RateLimited("busy", retry_after=40), says("main"))
    client = fallback(main, ScriptedModel(*[says("other")] * 2), time=time)
    assert (await ask(client)).content == "other"
    time.now += 39
    assert (await ask(client)).content == "other"
    assert len(main.requests) == 1
    time.now += 2
    assert (await ask(client)).content == "main"


async def test_a_rest_grows_with_each_failure_up_to_ten_minutes_and_an_answer_ends_that():
    time, rests = Time(), list[float]()
    failures = [ModelUnavailable("down")] * 8
    main = ScriptedModel(*failures, says("up"), failures[0], says("up"))
    client = fallback(main, ScriptedModel(*[says("other")] * 10_000), time=time)

    async def time_to_next_try() -> float:
        asked, begun = len(main.requests), time.now
        while len(main.requests) == asked:
            time.now += 1
            await ask(client)
        return time.now - begun

    await ask(client)
    rests = [await time_to_next_try() for _ in range(8)]
    assert rests == [15, 30, 60, 120, 240, 480, 600, 600]
    await ask(client)  # it has answered, and fails anew
    assert await time_to_next_try() == 15


async def test_a_refused_key_rests_for_ten_minutes_at_once():
    time = Time()
    main = ScriptedModel(BadCredentials("no"), says("main"))
    client = fallback(main, ScriptedModel(*[says("other")] * 2), time=time)
    await ask(client)
    time.now += 599
    assert (await ask(client)).content == "other"
    time.now += 1
    assert (await ask(client)).content == "main"


async def test_failures_of_requests_side_by_side_count_once():
    time, gate = Time(), asyncio.Event()
    main = ScriptedModel(*[[gate, ModelUnavailable("down")]] * 4, says("main"))
    client = fallback(main, ScriptedModel(*[says("other")] * 4), time=time)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(ask(client)) for _ in range(4)]
        await main.asked(4)
        gate.set()
    assert [task.result().content for task in tasks] == ["other"] * 4
    time.now += 15
    assert (await ask(client)).content == "main"


async def test_those_that_rest_are_asked_when_nobody_else_is_left():
    main = ScriptedModel(ModelUnavailable("down"), says("main"))
    other = ScriptedModel(says("other"), ModelUnavailable("down, too"))
    client = fallback(main, other)
    assert [(await ask(client)).content for _ in range(2)] == ["other", "main"]


@pytest.mark.parametrize(
    ("errors", "raised", "noted"),
    [
        ([RateLimited("busy"), BadCredentials("key")], "busy", "other was asked, too: BadCreden"),
        ([BadCredentials("key"), RateLimited("busy")], "busy", "main was asked, too: BadCreden"),
        ([BadCredentials("key"), OutOfQuota("pay")], "key", "other was asked, too: OutOfQuota: p"),
        ([RateLimited("busy"), BadRequest("odd")], "busy", "other was asked, too: BadRequest: odd"),
    ],
)
async def test_if_none_answers_the_error_that_passes_goes_up_with_the_others(errors, raised, noted):
    client = fallback(*map(ScriptedModel, errors))
    with pytest.raises(ModelError, match=raised) as told:
        await ask(client)
    [note] = told.value.__notes__
    assert noted in note


@both
async def test_a_passing_error_is_tried_again_after_a_wait(stream):
    time = Time()
    busy, slow = ModelUnavailable("busy"), RateLimited("slow", retry_after=7)
    main = ScriptedModel(busy, busy, slow, says("main"))
    client = fallback(main, attempts=4, max_wait=10, time=time)
    assert (await ask(client, stream=stream)).content == "main"
    assert time.slept == [1, 2, 7]


async def test_a_wait_that_is_too_long_is_not_waited_for():
    time = Time()
    main = ScriptedModel(RateLimited("slow", retry_after=11))
    client = fallback(main, ScriptedModel(says("other")), attempts=4, max_wait=10, time=time)
    assert (await ask(client)).content == "other"
    assert not time.slept


async def test_an_error_that_lasts_is_not_tried_again():
    main = ScriptedModel(BadCredentials("no"))
    client = fallback(main, attempts=4)
    with pytest.raises(BadCredentials):
        await ask(client)
    assert len(main.requests) == 1


async def test_a_wait_ends_with_the_token():
    token, waiting = CancellationToken(), asyncio.Event()

    async def sleep(_: float) -> None:
        waiting.set()
        await asyncio.Event().wait()

    client = fallback(ScriptedModel(ModelUnavailable("busy")), attempts=2, sleep=sleep)
    asked = asyncio.ensure_future(ask(client, cancellation_token=token))
    await waiting.wait()
    token.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked


@pytest.mark.parametrize(
    ("needs", "able"),
    [
        pytest.param({"messages": asking(["look", PIXEL])}, False, id="image"),
        pytest.param({"messages": asking(["look", "here"])}, True, id="texts"),
        pytest.param({"tools": [FunctionTool(look)]}, False, id="tools"),
        pytest.param({"json_output": True}, False, id="json"),
        pytest.param({"json_output": Shape}, False, id="schema"),
    ],
)
async def test_a_model_that_lacks_what_a_request_needs_is_left_out(needs, able):
    plain = ReplayChatCompletionClient(["plain"])
    able_one = ScriptedModel(says("third"), vision=True)
    main = ScriptedModel(ModelUnavailable("down"), vision=True)
    answer = await ask(fallback(main, plain, able_one), **needs)
    assert answer.content == ("plain" if able else "third")


async def test_it_says_of_itself_what_the_first_says_and_leaves_room_for_all():
    small = OpenAIChatCompletionClient(model="gpt-4", api_key="k")
    large = OpenAIChatCompletionClient(model="gpt-4o", api_key="k", max_tokens=7)
    unknown = ReplayChatCompletionClient(["x"])
    client = FallbackChatCompletionClient([large, small])
    assert client.model == "gpt-4o"
    assert client.model_info is large.model_info
    assert client.max_output_tokens == 7
    assert client.count_tokens(asking()) == large.count_tokens(asking())
    assert client.remaining_tokens(asking()) == small.remaining_tokens(asking())
    assert FallbackChatCompletionClient([unknown]).model == "ReplayChatCompletionClient"
    await client.close()


async def test_an_unknown_context_is_left_out_of_what_remains():
    info = ScriptedModel().model_info
    mine = OpenAIChatCompletionClient(model="mine", api_key="k", model_info=info)
    known = OpenAIChatCompletionClient(model="gpt-4", api_key="k")
    client = FallbackChatCompletionClient([mine, known])
    assert client.remaining_tokens(asking()) == known.remaining_tokens(asking())
    with pytest.raises(ValueError, match="context length"):
        FallbackChatCompletionClient([mine]).remaining_tokens(asking())
    await client.close()


async def test_usage_is_that_of_the_answers_that_came_through_it():
    shared = ScriptedModel(says("mine"), says("through"))
    client = fallback(ScriptedModel(ModelUnavailable("down")), shared)
    await ask(shared)
    await ask(client)
    assert client.actual_usage() == client.total_usage() == says("").usage


class Other(ScriptedModel):
    """A model of another name."""


class Watch:
    """Counts requests, answers, and answers of other models."""

    def __init__(self) -> None:
        self.answered: list[str] = []
        self.open = 0
        self.replaced: list[Substitution] = []

    async def before_request(self, request) -> None:
        self.open += 1

    def after_answer(self, request, answer) -> None:
        self.open -= 1
        self.answered.append(type(request.client).__name__)

    def after_no_answer(self, request, *, written) -> None:
        self.open -= 1

    def after_substitution(self, substitution: Substitution) -> None:
        self.replaced.append(substitution)


@both
async def test_a_watch_counts_the_model_that_answered_and_learns_whom_it_replaced(stream):
    watch = Watch()
    main = ScriptedModel(RateLimited("busy", retry_after=60), says("main"))
    client = fallback(main, Other(says("a"), says("b")))
    with run_hooks(model=watch):
        for _ in range(2):
            await ask(client, stream=stream)
    assert watch.answered == ["Other"] * 2
    assert watch.open == 0
    replaced = Substitution(missed="main", answered="other", because=RateLimited)
    assert watch.replaced == [replaced, replaced]


async def test_the_log_names_a_model_that_is_not_available_once_while_it_rests(caplog):
    main = ScriptedModel(*[ModelUnavailable("down")] * 2)
    client = fallback(main, ScriptedModel(says("other"), says("other"), ModelUnavailable("down")))
    with caplog.at_level(logging.WARNING, logger="teams"):
        await ask(client)
        await ask(client)
        with pytest.raises(ModelUnavailable):
            await ask(client)
    assert [record.message for record in caplog.records] == [
        "The model main is not available, and other is asked: down",
        "The model other is not available, and main is asked: down",
    ]


async def test_it_is_written_down_and_loaded_with_its_clients():
    client = FallbackChatCompletionClient(
        [ReplayChatCompletionClient(["a"]), ReplayChatCompletionClient(["b"])],
        attempts=3,
        names=["main", "other"],
    )
    form = client.dump_component()
    assert form.provider == "teams.models.fallback.FallbackChatCompletionClient"
    loaded = ChatCompletionClient.load_component(form)
    assert loaded.dump_component() == form
    assert (await ask(loaded)).content == "a"


def test_a_chain_of_nobody_and_names_for_others_are_refused():
    with pytest.raises(ValueError, match="at least one"):
        FallbackChatCompletionClient([])
    with pytest.raises(ValueError, match="1 clients, and names for 2"):
        FallbackChatCompletionClient([ScriptedModel()], names=["a", "b"])


@asynccontextmanager
async def openai(server: FakeOpenAI) -> AsyncGenerator[OpenAIChatCompletionClient]:
    client = OpenAIChatCompletionClient(
        model="gpt-4o", api_key="k", base_url=server.url, max_retries=0
    )
    yield client
    await client.close()


@both
async def test_over_the_wire_a_provider_that_fails_is_replaced(stream):
    async with (
        FakeOpenAI(Fail(status=429, message="slow", headers={"retry-after": "60"})) as busy,
        FakeOpenAI(*[Reply(text="here")] * 2) as fine,
        openai(busy) as first,
        openai(fine) as second,
    ):
        client = FallbackChatCompletionClient([first, second])
        assert [(await ask(client, stream=stream)).content for _ in range(2)] == ["here"] * 2
        assert (len(busy.requests), len(fine.requests)) == (1, 2)


PASSED_ON = {
    *("leaving_a_stream_frees_its_connection", "tool_choice_is_sent", "images_reach_the_model"),
    *("json_of_a_schema_is_asked_for", "dump_holds_no_key", "cut_answer_is_disconnected"),
    *(
        "cancelling_ends_the_request",
        "cancelled_token_asks_nothing",
        "error_within_a_stream_is_raised",
    ),
}
"""Checks of model clients that a client of clients could fail."""


@pytest.mark.parametrize(
    "check",
    [check for check in CHECKS if check.__name__ in PASSED_ON],
    ids=lambda check: check.__name__,
)
async def test_it_keeps_what_its_client_promises(check):
    async with FakeOpenAI() as server:

        def connect(*, timeout: float, model_info: ModelInfo) -> ChatCompletionClient:
            client = OpenAIChatCompletionClient(
                model="gpt-4o",
                base_url=server.url,
                api_key="conformance-secret-key",
                max_retries=0,
                timeout=timeout,
                model_info=model_info,
            )
            return FallbackChatCompletionClient([client])

        wire = OpenAIModelServer(server)
        await perform(check, Subject(server=wire, connect=connect, secret="conformance-secret-key"))


@both
async def test_an_empty_answer_counts_as_none(stream):
    main, other = ScriptedModel(says("")), ScriptedModel(says("yes"))
    assert (await ask(fallback(main, other), stream=stream)).content == "yes"
    with pytest.raises(BadAnswer, match="is empty"):
        await ask(fallback(ScriptedModel(says(""))), stream=stream)
    thinks = says("", thought="Hm.")
    assert (await ask(fallback(ScriptedModel(thinks)), stream=stream)).thought == "Hm."
