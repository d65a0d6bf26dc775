"""Settings, component forms and errors of the Claude clients."""

from __future__ import annotations

import logging
import sys
import traceback
from typing import Any

import pytest

from teams.core import EVENT_LOGGER_NAME, ComponentModel
from teams.logging import LLMCallEvent, LLMStreamEndEvent, LLMStreamStartEvent
from teams.models import (
    BadCredentials,
    BadRequest,
    ChatCompletionClient,
    ContextOverflow,
    ModelError,
    ModelTimeout,
    ModelUnavailable,
    ModelUnreachable,
    OutOfQuota,
    UserMessage,
)
from teams.models.anthropic import (
    AnthropicBedrockChatCompletionClient,
    AnthropicChatCompletionClient,
    BaseAnthropicChatCompletionClient,
    BedrockInfo,
)
from teams.testing import Say, Stop
from tests.fakes.anthropic_server import Fail, FakeAnthropic, Ping
from tests.teams.models.anthropic.conftest import Make

KEY = "key-of-a-test"
SECRETS = ("access-key-of-a-test", "secret-key-of-a-test", "session-of-a-test")
ACCOUNT = BedrockInfo(
    aws_access_key=SECRETS[0],
    aws_secret_key=SECRETS[1],
    aws_session_token=SECRETS[2],
    aws_region="eu-central-1",
)
HELLO = [UserMessage(content="Hello", source="user")]
ANSWER = Say(text="Well.")


def bedrock(server: FakeAnthropic, **settings: Any) -> AnthropicBedrockChatCompletionClient:
    given: Any = {
        "model": "eu.anthropic.claude-haiku-4-5-20251001-v1:0",
        "base_url": server.url,
        "bedrock_info": ACCOUNT,
        "max_retries": 0,
    }
    return AnthropicBedrockChatCompletionClient(**{**given, **settings})


async def failure(client: ChatCompletionClient) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await client.create(HELLO)
    return caught.value


@pytest.mark.parametrize(
    ("answer", "kind", "says"),
    [
        (Fail(status=402), OutOfQuota, "credit"),
        (Fail(status=400, message="Your credit balance is too low"), OutOfQuota, "credit"),
        (
            Fail(status=400, message="You have reached your specified API usage limits."),
            OutOfQuota,
            "usage limits",
        ),
        (Fail(status=403), BadCredentials, "ANTHROPIC_API_KEY"),
        (Fail(status=404, message="Not Found"), BadRequest, "address"),
        (Fail(status=413), ContextOverflow, "Send less"),
        (
            Fail(status=400, message="input length and `max_tokens` exceed context limit: 9 + 9"),
            ContextOverflow,
            "Send less",
        ),
        (Fail(status=504), ModelTimeout, "in time"),
        (Fail(status=529), ModelUnavailable, "overloaded"),
    ],
    ids=lambda value: getattr(value, "status", None),
)
async def test_the_provider_s_own_errors_are_told_apart(
    server: FakeAnthropic, make: Make, answer: Fail, kind: type[ModelError], says: str
):
    server.script(answer)
    error = await failure(make())
    assert type(error) is kind
    assert says in str(error)
    assert error.status == answer.status
    assert error.request_id == "req_1"
    assert error.__cause__ is not None


async def test_an_error_that_repeats_the_key_does_not_show_it(server: FakeAnthropic, make: Make):
    server.script(Fail(status=401, message=f"invalid x-api-key: {KEY}"))
    error = await failure(make())
    assert KEY not in "".join(traceback.format_exception(error))


async def test_a_passing_failure_is_tried_again(server: FakeAnthropic, make: Make):
    server.script(Fail(status=529, headers={"Retry-After-Ms": "1"}), ANSWER)
    result = await make(max_retries=1).create(HELLO)
    assert result.content == "Well."
    assert len(server.requests) == 2


async def test_nobody_at_the_address_is_unreachable(make: Make):
    error = await failure(make(base_url="http://127.0.0.1:1"))
    assert isinstance(error, ModelUnreachable)


@pytest.mark.parametrize("answer", [Ping(), Stop(how="stall")], ids=["pings", "silence"])
async def test_a_whole_answer_has_a_deadline(server: FakeAnthropic, answer: Any):
    from anthropic import AsyncAnthropic  # two seconds, which each run's collection would pay

    server.script(answer)
    sdk = AsyncAnthropic(api_key=KEY, base_url=server.url, max_retries=0)
    arguments = {"model": "claude-haiku-4-5"}
    client = BaseAnthropicChatCompletionClient(sdk, create_args=arguments, deadline=0.1)
    with pytest.raises(ModelTimeout, match=r"longer than 0\.1 s"):
        assert [item async for item in client.create_stream(HELLO)]
    await server.idle()
    await client.close()


def test_a_key_is_needed_for_anthropic_alone(monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(BadCredentials, match="set ANTHROPIC_API_KEY"):
        AnthropicChatCompletionClient(model="claude-haiku-4-5")
    AnthropicChatCompletionClient(model="claude-haiku-4-5", base_url="http://localhost:1")
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    client = AnthropicChatCompletionClient(model="claude-haiku-4-5")
    assert repr(client) == (
        "AnthropicChatCompletionClient(model='claude-haiku-4-5', "
        "endpoint='https://api.anthropic.com')"
    )


@pytest.mark.parametrize(
    ("make_client", "extra", "missing"),
    [
        (AnthropicChatCompletionClient, "anthropic", "anthropic"),
        (AnthropicBedrockChatCompletionClient, "bedrock", "botocore.eventstream"),
    ],
)
def test_a_missing_sdk_names_its_extra(
    monkeypatch: pytest.MonkeyPatch, make_client: Any, extra: str, missing: str
):
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ImportError, match=rf"pip install 'parley-gateway\[{extra}\]'"):
        make_client(model="claude-haiku-4-5", api_key=KEY)


@pytest.mark.parametrize(
    "settings",
    [{}, {"model": "claude-haiku-4-5", "temprature": 1}, {"model": "gpt-4o"}],
    ids=["no model", "unknown", "no Claude"],
)
def test_settings_that_are_missing_or_wrong_are_refused(settings: Any):
    with pytest.raises(ValueError, match=r"model|temprature"):
        AnthropicChatCompletionClient(api_key=KEY, **settings)


@pytest.mark.parametrize(
    ("name", "family", "context", "answer"),
    [
        ("claude-3-5-sonnet-20241022", "claude-3-5-sonnet", 200_000, 4096),
        ("claude-3-opus-20240229", "claude-3-opus", 200_000, 4096),
        ("claude-3-7-sonnet-latest", "claude-3-7-sonnet", 200_000, 4096),
        ("claude-4-opus-20250514", "claude-4-opus", 200_000, 4096),
        ("claude-sonnet-4-20250514", "claude-4-sonnet", 200_000, 4096),
        ("claude-haiku-4-5-20251001", "claude-4-haiku", 200_000, 4096),
        ("us.anthropic.claude-opus-4-1-20250805-v1:0", "claude-4-opus", 200_000, 4096),
        ("claude-opus-4-6", "claude-4-opus", 200_000, 16384),
        ("claude-opus-5-5", "claude-5-opus", 1_000_000, 16384),
        ("claude-fable-5", "claude-5-fable", 1_000_000, 16384),
        ("claude-next", "claude-unknown", 200_000, 16384),
        ("claude-2.1", "unknown", 200_000, 4096),
        ("claude-instant-1.2", "unknown", 100_000, 4096),
    ],
)
def test_a_model_is_known_by_the_parts_of_its_name(
    name: str, family: str, context: int, answer: int
):
    client = AnthropicChatCompletionClient(model=name, api_key=KEY)
    able = family != "unknown"
    assert client.model_info == {
        "vision": able,
        "function_calling": able,
        "json_output": True,
        "structured_output": able,
        "family": family,
        "multiple_system_messages": False,
    }
    assert client.remaining_tokens(HELLO) == context - client.count_tokens(HELLO)
    assert client.max_output_tokens == answer


async def test_what_was_set_is_sent_and_a_call_may_say_otherwise(server: FakeAnthropic, make: Make):
    server.script(ANSWER, ANSWER)
    client = make(
        max_tokens=100,
        temperature=0.5,
        top_p=0.9,
        top_k=5,
        stop_sequences=["END"],
        metadata={"user_id": "u1"},
        default_headers={"x-team": "blue"},
    )
    extra = {"max_tokens": 9, "service_tier": "auto", "extra_headers": {"x-call": "1"}}
    await client.create(HELLO, extra_create_args=extra)
    [request] = server.requests
    settings = ("max_tokens", "temperature", "top_p", "top_k", "stop_sequences", "metadata")
    assert [request.body[name] for name in settings] == [9, 0.5, 0.9, 5, ["END"], {"user_id": "u1"}]
    assert request.body["service_tier"] == "auto"
    assert (request.headers["x-team"], request.headers["x-call"]) == ("blue", "1")
    assert request.headers["anthropic-version"] == "2023-06-01"


async def test_sampling_is_left_to_the_provider_unless_it_was_set(
    server: FakeAnthropic, make: Make
):
    server.script(ANSWER)
    await make(temperature=1.0).create(HELLO)
    [request] = server.requests
    assert request.body.keys() == {"model", "max_tokens", "messages"}
    assert request.headers["anthropic-version"] != "2023-06-01"
    assert request.headers["Authorization"] == f"Bearer {KEY}"


async def test_the_event_log_hears_of_answers(
    server: FakeAnthropic, make: Make, caplog: pytest.LogCaptureFixture
):
    server.script(ANSWER, ANSWER)
    client = make()
    with caplog.at_level(logging.INFO, logger=EVENT_LOGGER_NAME):
        await client.create(HELLO)
        assert [item async for item in client.create_stream(HELLO)]
    told = [type(record.msg) for record in caplog.records]
    assert told == [LLMCallEvent, LLMStreamStartEvent, LLMStreamEndEvent]


@pytest.mark.parametrize("module", ["autogen_ext.models.anthropic", "teams.models.anthropic"])
async def test_a_client_is_loaded_by_its_provider_s_name(server: FakeAnthropic, module: str):
    form = ComponentModel(
        provider=f"{module}.AnthropicChatCompletionClient",
        component_type="model",
        config={
            "model": "claude-haiku-4-5",
            "api_key": KEY,
            "base_url": server.url,
            "max_tokens": 4096,
            "temperature": 1.0,
        },
    )
    client = ChatCompletionClient.load_component(form)
    server.script(ANSWER)
    assert (await client.create(HELLO)).content == "Well."
    dumped = client.dump_component()
    assert dumped.provider == "teams.models.anthropic.AnthropicChatCompletionClient"
    assert KEY not in dumped.model_dump_json()
    again = AnthropicChatCompletionClient.load_component(dumped)
    assert again.dump_component() == dumped
    theirs = client.dump_component(provider="autogen")
    assert theirs.provider == "autogen_ext.models.anthropic.AnthropicChatCompletionClient"
    assert theirs.config == {
        "model": "claude-haiku-4-5",
        "base_url": server.url,
        "max_tokens": 4096,
        "temperature": 1.0,
    }
    for each in (client, again):
        await each.close()


async def test_bedrock_is_asked_at_its_address_with_a_signature(server: FakeAnthropic):
    server.script(ANSWER, ANSWER)
    client = bedrock(server, temperature=0.5)
    await client.create(HELLO)
    assert [item async for item in client.create_stream(HELLO)][:-1] == ["We", "ll", "."]
    whole, streamed = server.requests
    address = "/model/eu.anthropic.claude-haiku-4-5-20251001-v1:0"
    assert [whole.path, streamed.path] == [
        f"{address}/invoke",
        f"{address}/invoke-with-response-stream",
    ]
    signature = whole.headers["Authorization"]
    assert signature.startswith(f"AWS4-HMAC-SHA256 Credential={SECRETS[0]}/")
    assert "/eu-central-1/bedrock/aws4_request" in signature
    assert whole.headers["X-Amz-Security-Token"] == SECRETS[2]
    assert whole.body["temperature"] == 0.5
    await client.close()


async def test_bedrock_without_any_credentials_says_so(
    server: FakeAnthropic, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    client = bedrock(server, bedrock_info=BedrockInfo(aws_access_key="x", aws_region="eu-west-1"))
    error = await failure(client)
    assert isinstance(error, BadCredentials)
    assert "AWS_ACCESS_KEY_ID" in str(error)
    assert server.requests == []
    await client.close()


async def test_bedrock_s_keys_stay_out_of_errors_and_dumps(server: FakeAnthropic):
    server.script(Fail(status=403, message=f"no such token: {SECRETS[2]}"))
    client = bedrock(server)
    error = await failure(client)
    dumped = client.dump_component()
    for text in (
        "".join(traceback.format_exception(error)),
        dumped.model_dump_json(),
        repr(client),
    ):
        assert not any(secret in text for secret in SECRETS)
    assert dumped.config["bedrock_info"]["aws_region"] == "eu-central-1"
    theirs = client.dump_component(provider="autogen")
    assert {value for value in theirs.config["bedrock_info"].values() if value} == {"eu-central-1"}
    again = AnthropicBedrockChatCompletionClient.load_component(dumped)
    assert again.dump_component() == dumped
    await again.close()
    await client.close()
