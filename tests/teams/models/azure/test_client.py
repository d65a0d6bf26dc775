"""Azure's client: addresses, credentials, and the reference's settings."""

from __future__ import annotations

from typing import Any

import pytest

from teams.models import BadCredentials, UserMessage
from teams.models.azure import AzureAIChatCompletionClient
from tests.fakes.openai_script import Fail, Reply
from tests.fakes.openai_server import FakeOpenAI

ABLE: Any = {
    "vision": False,
    "function_calling": True,
    "json_output": True,
    "structured_output": True,
    "family": "unknown",
}
HELLO = [UserMessage(content="Hello", source="user")]
GITHUB = "https://models.github.ai/inference"


class Key:
    key = "key-of-a-test"


class Token:
    token = "token-of-a-test"


class WaitingCredential:
    """As those of azure.identity.aio."""

    def __init__(self) -> None:
        self.scopes: list[str] = []

    async def get_token(self, *scopes: str) -> Token:
        self.scopes += scopes
        return Token()


class BlockingCredential:
    """As those of azure.identity."""

    def get_token(self, *_: str) -> Token:
        return Token()


class FailingCredential:
    async def get_token(self, *_: str) -> Token:
        raise RuntimeError("please run 'az login'")


def client(endpoint: str, **settings: Any) -> AzureAIChatCompletionClient:
    given: Any = {"credential": Key(), "model": "gpt-4o", "model_info": ABLE, **settings}
    return AzureAIChatCompletionClient(endpoint=endpoint, **given)


@pytest.mark.parametrize(
    ("endpoint", "settings", "model", "address"),
    [
        (
            "https://house.services.ai.azure.com/models",
            {},
            "gpt-4o",
            "https://house.services.ai.azure.com/openai/v1",
        ),
        (
            "https://house.openai.azure.com/openai/deployments/ours",
            {"model": None},
            "ours",
            "https://house.openai.azure.com/openai/v1",
        ),
        (f"{GITHUB}/", {"model": "openai/gpt-4.1"}, "openai/gpt-4.1", GITHUB),
        (
            "https://ours.eastus.models.ai.azure.com",
            {"model": None},
            "azureai",
            "https://ours.eastus.models.ai.azure.com",
        ),
    ],
    ids=["foundry", "deployment", "github", "one model"],
)
async def test_the_address_is_the_openai_compatible_one(
    endpoint: str, settings: dict[str, Any], model: str, address: str
):
    made = client(endpoint, **settings)
    await made.close()
    assert repr(made) == f"AzureAIChatCompletionClient(model={model!r}, endpoint={address!r})"


async def test_a_key_goes_both_ways(openai_server: FakeOpenAI):
    openai_server.script(Reply(text="ok"))
    made = client(openai_server.url)
    assert (await made.create(HELLO)).content == "ok"
    await made.close()
    headers = openai_server.requests[0].headers
    assert headers["api-key"] == "key-of-a-test"
    assert headers["Authorization"] == "Bearer key-of-a-test"


@pytest.mark.parametrize("credential", [WaitingCredential(), BlockingCredential()])
async def test_a_credential_gives_a_token_for_each_request(
    openai_server: FakeOpenAI, credential: Any
):
    openai_server.script(Reply(text="ok"), Reply(text="ok"))
    made = client(openai_server.url, credential=credential)
    await made.create(HELLO)
    _ = [item async for item in made.create_stream(HELLO)]
    await made.close()
    for request in openai_server.requests:
        assert request.headers["Authorization"] == "Bearer token-of-a-test"
        assert "api-key" not in request.headers
    if isinstance(credential, WaitingCredential):
        assert set(credential.scopes) == {"https://ml.azure.com/.default"}


async def test_a_credential_without_a_token_is_bad(openai_server: FakeOpenAI):
    made = client(openai_server.url, credential=FailingCredential())
    with pytest.raises(BadCredentials, match="az login") as caught:
        await made.create(HELLO)
    assert isinstance(caught.value.__cause__, RuntimeError)
    await made.close()
    assert not openai_server.requests


async def test_a_refused_key_is_told_as_the_credential(openai_server: FakeOpenAI):
    openai_server.script(Fail(status=401))
    made = client(openai_server.url, max_retries=0)
    with pytest.raises(BadCredentials, match=r"\(credential\)"):
        await made.create(HELLO)
    await made.close()


async def test_settings_and_arguments_are_sent(openai_server: FakeOpenAI):
    openai_server.script(Reply(text="{}"))
    made = client(
        openai_server.url,
        temperature=0.5,
        seed=7,
        response_format="json_object",
        model_extras={"safe_mode": True},
    )
    about = [UserMessage(content="Answer in JSON.", source="user")]
    await made.create(about, extra_create_args={"seed": 8, "model_extras": {"top_k": 3}})
    await made.close()
    body = openai_server.requests[0].body
    assert (body["temperature"], body["seed"], body["top_k"]) == (0.5, 8, 3)
    assert body["response_format"] == {"type": "json_object"}
    assert body["messages"] == [{"role": "user", "content": "Answer in JSON."}]


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"endpoint": None}, "endpoint is required"),
        ({"credential": None}, "credential is required"),
        ({"model_info": None}, "model_info is required"),
        ({"model_info": {"vision": True}}, "function_calling"),
        ({"endpoint": GITHUB, "model": None}, "model is required"),
        ({"endpoint": "https://a.openai.azure.com", "model": None}, "name of the deployment"),
        ({"endpoint": "a.openai.azure.com"}, "expected a URL"),
        ({"credential": "a key"}, "found a str"),
        ({"temprature": 1.0}, "unknown temprature"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, Any], complaint: str):
    given: Any = {"endpoint": "https://a.example", "credential": Key(), "model_info": ABLE}
    given |= {"model": "m", **settings}
    with pytest.raises(ValueError, match=complaint) as caught:
        AzureAIChatCompletionClient(**given)
    assert "a key" not in str(caught.value)


async def test_unknown_arguments_of_a_call_are_refused(openai_server: FakeOpenAI):
    made = client(openai_server.url)
    with pytest.raises(ValueError, match="extra_create_args: unknown logprobs"):
        await made.create(HELLO, extra_create_args={"logprobs": True})
    await made.close()
    assert not openai_server.requests
