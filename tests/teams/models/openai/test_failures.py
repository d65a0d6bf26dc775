"""The OpenAI client on bad days: errors, their text, closed connections."""

import asyncio
import logging
import socket
import traceback
from typing import Any

import pytest
from openai import AsyncAzureOpenAI, AsyncOpenAI
from pydantic import BaseModel

from teams.core import CancellationToken
from teams.models import (
    BadAnswer,
    BadCredentials,
    BadRequest,
    ContextOverflow,
    CreateResult,
    CutAnswer,
    ModelDisconnected,
    ModelError,
    ModelRefused,
    ModelTimeout,
    ModelUnavailable,
    ModelUnreachable,
    OutOfQuota,
    RateLimited,
    UnknownModel,
    UserMessage,
)
from teams.models.openai import (
    AzureOpenAIChatCompletionClient,
    BaseOpenAIChatCompletionClient,
    OpenAIChatCompletionClient,
)
from tests.fakes.openai_script import Answer, Fail, Fault, Reply
from tests.fakes.openai_server import FakeOpenAI

KEY = "sk-of-a-test"
HELLO = [UserMessage(content="Hello", source="user")]


class Yes(BaseModel):
    yes: bool


def client(server: FakeOpenAI, **settings: Any) -> OpenAIChatCompletionClient:
    given: Any = {"model": "gpt-4o", "api_key": KEY, "base_url": server.url, "max_retries": 0}
    return OpenAIChatCompletionClient(**{**given, **settings})


async def streamed(asked: BaseOpenAIChatCompletionClient, **arguments: Any) -> CreateResult:
    items = [item async for item in asked.create_stream(HELLO, **arguments)]
    assert isinstance(items[-1], CreateResult)
    return items[-1]


async def failure(
    server: FakeOpenAI, answer: Answer, *, stream: bool, **settings: Any
) -> ModelError:
    server.script(answer)
    asked = client(server, **settings)
    with pytest.raises(ModelError) as caught:
        await (streamed(asked) if stream else asked.create(HELLO))
    await server.idle()
    await asked.close()
    return caught.value


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize(
    ("answer", "kind", "says"),
    [
        (Fail(status=401, code="invalid_api_key"), BadCredentials, "OPENAI_API_KEY"),
        (Fail(status=403, message="Country not supported"), BadCredentials, "Country not"),
        (Fail(status=404, code="model_not_found"), UnknownModel, "model's name"),
        (Fail(status=404, body="<html>nothing here</html>"), BadRequest, "status 404"),
        (Fail(status=429, code="rate_limit_exceeded"), RateLimited, "rate limit"),
        (Fail(status=429, code="insufficient_quota"), OutOfQuota, "credit"),
        (Fail(status=402, message="Payment required"), OutOfQuota, "credit"),
        (Fail(status=400, code="context_length_exceeded"), ContextOverflow, "Send less"),
        (
            Fail(status=400, message="This model's maximum context length is 8192 tokens"),
            ContextOverflow,
            "8192",
        ),
        (Fail(status=413, message="prompt is too long: 9 > 8"), ContextOverflow, "Send less"),
        (Fail(status=400, message="Unknown parameter: 'x'"), BadRequest, "'x'"),
        (Fail(status=400, code="content_filter"), ModelRefused, "filter"),
        (Fail(status=500), ModelUnavailable, "Try again"),
        (Fail(status=503, body="<html>gateway</html>"), ModelUnavailable, "status 503"),
        (Reply(finish_reason="content_filter"), ModelRefused, "withheld"),
        (Reply(finish_reason="length"), CutAnswer, "max_tokens"),
    ],
    ids=lambda value: str(getattr(value, "code", None) or getattr(value, "status", "")),
)
async def test_each_failure_says_what_happened_where_and_what_to_do(
    openai_server: FakeOpenAI, answer: Answer, kind: type[ModelError], says: str, stream: bool
):
    error = await failure(openai_server, answer, stream=stream)
    assert type(error) is kind
    assert says in str(error)
    assert "'gpt-4o'" in str(error)
    assert openai_server.url in str(error)
    assert error.model == "gpt-4o"
    assert error.endpoint == openai_server.url
    if isinstance(answer, Fail):
        assert error.status == answer.status
        assert error.code == answer.code
        assert error.__cause__ is not None


async def test_a_rate_limit_tells_how_long_to_wait(openai_server: FakeOpenAI):
    for headers, seconds in [
        ({"Retry-After": "7"}, 7.0),
        ({"Retry-After-Ms": "1500"}, 1.5),
        ({"Retry-After": "next week"}, None),
        ({}, None),
    ]:
        answer = Fail(status=429, headers=headers)
        error = await failure(openai_server, answer, stream=True)
        assert error.retry_after == seconds
        assert error.transient
        assert (f"in {seconds:g} s" if seconds else "later") in str(error)


async def test_a_model_nobody_knows_is_named(openai_server: FakeOpenAI):
    error = await failure(openai_server, Reply(), stream=False, model="gpt-4o-of-tomorrow")
    assert isinstance(error, UnknownModel)
    assert "'gpt-4o-of-tomorrow'" in str(error)


async def test_what_the_server_refuses_is_told_with_its_reason(openai_server: FakeOpenAI):
    asked = client(openai_server)
    with pytest.raises(BadRequest, match="must contain the word 'json'"):
        await asked.create(HELLO, json_output=True)
    await asked.close()


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_passing_failures_are_tried_again_before_the_first_byte(
    openai_server: FakeOpenAI, stream: bool
):
    soon = {"Retry-After-Ms": "1"}
    openai_server.script(
        Fail(status=429, headers=soon), Fail(status=500, headers=soon), Reply(text="ok")
    )
    asked = client(openai_server, max_retries=2)
    result = await (streamed(asked) if stream else asked.create(HELLO))
    await asked.close()
    assert result.content == "ok"
    assert len(openai_server.requests) == 3


async def test_refused_requests_are_not_tried_again(openai_server: FakeOpenAI):
    await failure(openai_server, Fail(status=400), stream=False, max_retries=5)
    assert len(openai_server.requests) == 1


async def test_an_answer_that_began_is_not_asked_for_again(openai_server: FakeOpenAI):
    openai_server.script(Fault(kind="reset", after=2), Reply(text="a second time"))
    asked = client(openai_server, max_retries=5)
    stream = asked.create_stream(HELLO)
    assert [await anext(stream), await anext(stream)] == ["one ", "two "]
    with pytest.raises(ModelUnreachable) as caught:
        await anext(stream)
    await asked.close()
    assert len(openai_server.requests) == 1
    assert caught.value.transient


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Fault(kind="cut", after=2), ModelDisconnected),
        (Fault(kind="garbage", after=2), BadAnswer),
        (Fault(kind="garbage"), BadAnswer),
        (Fault(kind="error", after=2), ModelUnavailable),
        (Fault(kind="reset"), ModelUnreachable),
        (Fail(status=200, body="<html>a login page</html>"), BadAnswer),
    ],
    ids=["cut", "garbage later", "garbage first", "error", "reset", "page"],
)
async def test_a_broken_stream_is_an_error_and_not_a_short_answer(
    openai_server: FakeOpenAI, fault: Answer, kind: type[ModelError]
):
    error = await failure(openai_server, fault, stream=True)
    assert type(error) is kind


@pytest.mark.parametrize(
    "body", ["<html>a login page</html>", "[]", '{"choices": []}'], ids=["page", "list", "none"]
)
async def test_an_answer_of_another_kind_is_a_bad_one(openai_server: FakeOpenAI, body: str):
    error = await failure(openai_server, Fail(status=200, body=body), stream=False)
    assert type(error) is BadAnswer


async def test_a_refusal_is_an_answer_but_not_a_structure(openai_server: FakeOpenAI):
    openai_server.script(*[Reply(refusal="I won't.")] * 3)
    asked = client(openai_server)
    assert (await asked.create(HELLO)).content == "I won't."
    with pytest.raises(ModelRefused, match="I won't"):
        await asked.create(HELLO, json_output=Yes)
    with pytest.raises(ModelRefused, match="I won't"):
        await streamed(asked, json_output=Yes)
    await asked.close()


async def test_an_address_where_nobody_listens_is_unreachable():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
    asked = OpenAIChatCompletionClient(model="gpt-4o", base_url=address, max_retries=0)
    with pytest.raises(ModelUnreachable, match=address):
        await asked.create(HELLO)
    with pytest.raises(ModelUnreachable, match="base_url"):
        await streamed(asked)
    await asked.close()


async def test_an_address_that_is_none_is_named():
    asked = OpenAIChatCompletionClient(model="gpt-4o", base_url="http://a\x01b/v1")
    for request in (asked.create(HELLO), streamed(asked)):
        with pytest.raises(BadRequest, match="non-printable"):
            await request
    await asked.close()


# Deadlines


@pytest.mark.parametrize("after", [0, 2], ids=["before the first byte", "in the middle"])
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_silence_ends_at_its_limit(openai_server: FakeOpenAI, after: int, stream: bool):
    answer = Fault(kind="hang", after=after)
    error = await failure(openai_server, answer, stream=stream, timeout=0.2)
    assert type(error) is ModelTimeout
    assert "timeout" in str(error)


@pytest.mark.parametrize("kind", ["ping", "hang"])
async def test_a_whole_answer_ends_at_its_deadline_even_if_the_server_shows_life(
    openai_server: FakeOpenAI, kind: Any
):
    openai_server.script(Fault(kind=kind), Fault(kind=kind))
    sdk = AsyncOpenAI(api_key=KEY, base_url=openai_server.url, max_retries=0)
    asked = BaseOpenAIChatCompletionClient(sdk, create_args={"model": "gpt-4o"}, deadline=0.2)
    with pytest.raises(ModelTimeout, match=r"longer than 0\.2 s"):
        await streamed(asked)
    with pytest.raises(ModelTimeout, match=r"longer than 0\.2 s"):
        await asked.create(HELLO)
    await openai_server.idle()
    await asked.close()


async def test_time_the_consumer_takes_does_not_count(openai_server: FakeOpenAI):
    openai_server.script(Reply(text="one two", chunks=2))
    sdk = AsyncOpenAI(api_key=KEY, base_url=openai_server.url, max_retries=0)
    asked = BaseOpenAIChatCompletionClient(sdk, create_args={"model": "gpt-4o"}, deadline=0.5)
    pieces: list[object] = []
    async for piece in asked.create_stream(HELLO):
        pieces.append(piece)
        await asyncio.sleep(0.3)
    await asked.close()
    assert pieces[:2] == ["one ", "two"]


# Cancellation


@pytest.mark.parametrize("by_token", [True, False], ids=["token", "task"])
@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
async def test_cancelling_a_wait_leaves_no_connection(
    openai_server: FakeOpenAI, by_token: bool, stream: bool
):
    openai_server.script(Reply(text="one two", gate=openai_server.gate, hold=True))
    asked = client(openai_server)
    token = CancellationToken()

    async def asking() -> None:
        await (
            streamed(asked, cancellation_token=token)
            if stream
            else asked.create(HELLO, cancellation_token=token)
        )

    async with asyncio.TaskGroup() as group:
        task = group.create_task(asking())
        await openai_server.gate.reached()
        if by_token:
            token.cancel()
        else:
            task.cancel()
    assert task.cancelled()
    await openai_server.idle()
    await asked.close()


async def test_cancelling_in_the_middle_of_a_stream_ends_it(openai_server: FakeOpenAI):
    openai_server.script(Reply(text="one two three", gate=openai_server.gate), Reply(text="ok"))
    asked = client(openai_server)
    token = CancellationToken()
    begun = asyncio.Event()

    async def asking() -> None:
        async for piece in asked.create_stream(HELLO, cancellation_token=token):
            assert piece == "one t"
            begun.set()

    openai_server.gate.open()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(asking())
        await begun.wait()
        await openai_server.gate.reached()
        token.cancel()
    assert task.cancelled()
    await openai_server.idle()
    # The client itself is as good as new.
    assert (await asked.create(HELLO)).content == "ok"
    await asked.close()


# Keys


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_a_key_is_never_shown_even_if_the_server_repeats_it(
    openai_server: FakeOpenAI, stream: bool, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.INFO)
    answer = Fail(status=401, message=f"Incorrect API key provided: {KEY}.")
    error = await failure(openai_server, answer, stream=stream)
    told = "".join(traceback.format_exception(error)) + repr(error) + repr(vars(error))
    assert "Incorrect API key provided: ***" in str(error)
    assert KEY not in told
    assert KEY not in caplog.text


def test_without_a_key_it_says_which_variable_to_set():
    with pytest.raises(BadCredentials, match="OPENAI_API_KEY"):
        OpenAIChatCompletionClient(model="gpt-4o")
    with pytest.raises(BadCredentials, match="GEMINI_API_KEY"):
        OpenAIChatCompletionClient(model="gemini-2.5-pro")
    with pytest.raises(BadCredentials, match="AZURE_OPENAI_API_KEY"):
        AzureOpenAIChatCompletionClient(
            model="gpt-4o", azure_endpoint="https://example.invalid", api_version="2024-10-21"
        )


class OurAzure(AsyncAzureOpenAI):
    """A client of somebody's own."""


class TheirAzure(OurAzure):
    """One further away."""


@pytest.mark.parametrize("kind", [AsyncAzureOpenAI, OurAzure, TheirAzure])
async def test_each_client_of_azure_names_its_variable(
    openai_server: FakeOpenAI, kind: type[AsyncAzureOpenAI]
):
    given = kind(
        azure_endpoint=openai_server.url.removesuffix("/v1"),
        api_version="2024-10-21",
        api_key=KEY,
        max_retries=0,
    )
    asked = BaseOpenAIChatCompletionClient(given, create_args={"model": "gpt-4o"})
    openai_server.script(Fail(status=401))
    with pytest.raises(BadCredentials, match="AZURE_OPENAI_API_KEY"):
        await asked.create(HELLO)
    await asked.close()
    assert given.is_closed()


async def test_a_local_server_needs_no_key(openai_server: FakeOpenAI):
    openai_server.script(Reply(text="ok"))
    asked = OpenAIChatCompletionClient(model="gpt-4o", base_url=openai_server.url)
    assert (await asked.create(HELLO)).content == "ok"
    await asked.close()
