"""Tokens for Azure's services, and the configs that hold their source."""

from __future__ import annotations

import builtins
import time
from dataclasses import dataclass, field
from typing import Any

import pytest

from teams.auth.azure import AzureTokenProvider
from teams.core import ComponentLoader, ComponentModel
from teams.models import BadCredentials, ChatCompletionClient, UserMessage
from teams.models.openai import AzureOpenAIChatCompletionClient
from tests.fakes.openai_script import Reply
from tests.fakes.openai_server import FakeOpenAI

SCOPE = "https://cognitiveservices.azure.com/.default"
HELLO = [UserMessage(content="Hello", source="user")]
FORM = {
    "provider": "autogen_ext.auth.azure.AzureTokenProvider",
    "component_type": "token_provider",
    "config": {"provider_kind": "DefaultAzureCredential", "scopes": [SCOPE]},
}


@dataclass
class Token:
    token: str
    expires_on: int


@dataclass
class Credential:
    """Gives tokens that hold for so many seconds."""

    seconds: int = 3600
    asked: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])

    def get_token(self, *scopes: str) -> Token:
        self.asked.append(scopes)
        return Token(f"token-{len(self.asked)}", int(time.time()) + self.seconds)


class DefaultAzureCredential(Credential):
    """Named like the one that a config can name."""


def azure(server: FakeOpenAI, provider: Any) -> AzureOpenAIChatCompletionClient:
    return AzureOpenAIChatCompletionClient(
        model="gpt-4o",
        azure_endpoint=server.url.removesuffix("/v1"),
        api_version="2024-10-21",
        azure_ad_token_provider=provider,
    )


def test_a_token_is_kept_until_it_is_about_to_end():
    lasting, ending = Credential(), Credential(seconds=60)
    provider = AzureTokenProvider(lasting, SCOPE, "other")
    assert [provider(), provider()] == ["token-1", "token-1"]
    assert lasting.asked == [(SCOPE, "other")]
    provider = AzureTokenProvider(ending, SCOPE)
    assert [provider(), provider()] == ["token-1", "token-2"]


def test_a_config_names_the_default_credential_alone():
    dumped = AzureTokenProvider(DefaultAzureCredential(), SCOPE).dump_component()
    assert dumped.provider == "teams.auth.azure.AzureTokenProvider"
    assert dumped.config == FORM["config"]
    with pytest.raises(ValueError, match="found a Credential"):
        AzureTokenProvider(Credential(), SCOPE).dump_component()
    config = {"provider_kind": "CliCredential", "scopes": [SCOPE]}
    with pytest.raises(ValueError, match="'CliCredential'"):
        AzureTokenProvider.load_component({**FORM, "config": config})


def test_a_loaded_provider_has_the_real_credential():
    pytest.importorskip("azure.identity")
    loaded = ComponentLoader.load_component(FORM, AzureTokenProvider)
    assert loaded.dump_component().config == FORM["config"]


def test_without_its_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch):
    really = builtins.__import__

    def missing(name: str, *arguments: Any) -> Any:
        if name.startswith("azure"):
            raise ModuleNotFoundError(name)
        return really(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(ImportError, match=r"parley-gateway\[azure\]"):
        AzureTokenProvider.load_component(FORM)


async def test_azure_openai_asks_its_provider_and_dumps_it(openai_server: FakeOpenAI):
    openai_server.script(Reply(text="ok"))
    asked = azure(openai_server, AzureTokenProvider(DefaultAzureCredential(), SCOPE))
    await asked.create(HELLO)
    dumped = asked.dump_component()
    foreign = asked.dump_component(provider="autogen")
    await asked.close()
    assert openai_server.requests[0].headers["Authorization"] == "Bearer token-1"
    assert "token-1" not in dumped.model_dump_json()
    assert dumped.config["azure_ad_token_provider"]["config"] == FORM["config"]
    theirs = foreign.config["azure_ad_token_provider"]
    assert (theirs["provider"], theirs["config"]) == (FORM["provider"], FORM["config"])

    pytest.importorskip("azure.identity")
    loaded = ChatCompletionClient.load_component(foreign)
    assert loaded.dump_component() == dumped
    await loaded.close()


async def test_a_provider_that_fails_is_bad_credentials(openai_server: FakeOpenAI):
    def failing() -> str:
        raise RuntimeError("please run 'az login'")

    asked = azure(openai_server, failing)
    for asking in (asked.create(HELLO), anext(asked.create_stream(HELLO))):
        with pytest.raises(BadCredentials, match="az login") as caught:
            await asking
        assert isinstance(caught.value.__cause__, RuntimeError)
    await asked.close()


async def test_a_provider_may_be_given_in_its_component_form(openai_server: FakeOpenAI):
    pytest.importorskip("azure.identity")
    asked = azure(openai_server, ComponentModel.model_validate(FORM))
    assert asked.dump_component().config["azure_ad_token_provider"]["config"] == FORM["config"]
    await asked.close()


def test_what_is_no_provider_is_refused(openai_server: FakeOpenAI):
    stop = {
        "provider": "autogen_agentchat.conditions.MaxMessageTermination",
        "config": {"max_messages": 1},
    }
    client = {
        "provider": "AzureOpenAIChatCompletionClient",
        "config": {
            "model": "gpt-4o",
            "azure_endpoint": openai_server.url,
            "api_version": "2024-10-21",
            "azure_ad_token_provider": stop,
        },
    }
    with pytest.raises(ValueError, match="azure_ad_token_provider"):
        ChatCompletionClient.load_component(client)
