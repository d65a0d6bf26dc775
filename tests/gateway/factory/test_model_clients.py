"""Clients of a config's models: their providers, fallbacks and retry rules."""

import logging
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from gateway.base.imports import Imports
from gateway.config.root import Config
from gateway.factory.model_clients import ModelClients
from teams.models import BadCredentials, ChatCompletionClient, RateLimited, UserMessage
from teams.models.openai import AzureOpenAIChatCompletionClient, OpenAIChatCompletionClient
from teams.testing import Say
from tests.fakes.anthropic_server import FakeAnthropic
from tests.fakes.openai_script import Fail, Reply
from tests.fakes.openai_server import FakeOpenAI

BUSY = Fail(status=429, message="slow down", headers={"retry-after": "50"})


@asynccontextmanager
async def clients(folder: Path, **models: dict[str, Any]):
    config = Config.model_validate({"models": models})
    made = ModelClients(config, Imports(folder))
    yield made
    await made.aclose()


def at(server: FakeOpenAI, **more: Any) -> dict[str, Any]:
    return {"model": "gpt-4o", "base_url": server.url, "api_key": "sk-good-key", **more}


async def answer(client: ChatCompletionClient) -> Any:
    return (await client.create([UserMessage(content="hi", source="user")])).content


async def test_azure_is_called_at_its_resource_with_its_key_and_version(tmp_path):
    async with FakeOpenAI(Reply(text="from Azure")) as server:
        azure = {
            "provider": "azure",
            "model": "gpt-4o",
            "base_url": server.url.removesuffix("/v1"),
            "api_key": "azure-key",
            "options": {"api_version": "2024-06-01", "azure_deployment": "ours"},
        }
        async with clients(tmp_path, azure=azure) as made:
            assert isinstance(made.client("azure"), AzureOpenAIChatCompletionClient)
            assert await answer(made.client("azure")) == "from Azure"
    [request] = server.requests
    assert request.path == "/openai/deployments/ours/chat/completions"
    assert request.headers["api-key"] == "azure-key"


async def test_a_model_that_is_not_available_is_replaced_by_those_of_its_fallback(tmp_path):
    async with FakeOpenAI(BUSY) as busy, FakeOpenAI(BUSY) as full, FakeOpenAI() as fine:
        fine.script(Reply(text="here"), Reply(text="again"), Reply(text="other's own"))
        main = at(busy, max_retries=0, fallback=["second"])
        second = at(full, max_retries=0, fallback=["third"])
        async with clients(tmp_path, main=main, second=second, third=at(fine)) as made:
            assert made.chain("main") == ["main", "second", "third"]
            assert [await answer(made.client()) for _ in range(2)] == ["here", "again"]
            assert await answer(made.only("third").client("main")) == "other's own"
        assert [len(each.requests) for each in (busy, full, fine)] == [1, 1, 3]


async def test_alone_a_model_is_asked_without_its_fallback(tmp_path):
    async with FakeOpenAI(BUSY) as busy, FakeOpenAI(Reply(text="here")) as fine:
        main = at(busy, max_retries=0, fallback=["other"])
        async with clients(tmp_path, main=main, other=at(fine)) as made:
            with pytest.raises(RateLimited):
                await answer(made.alone("main"))
        assert not fine.requests


async def test_rules_for_sending_again_replace_those_of_the_client(tmp_path):
    again = Fail(status=503, headers={"retry-after": "0"})
    async with FakeOpenAI(*[again] * 3, Reply(text="at last")) as server:
        main = at(server, retry={"attempts": 4, "max_wait": 0})
        async with clients(tmp_path, main=main) as made:
            assert await answer(made.client()) == "at last"
        assert len(server.requests) == 4

    async with FakeOpenAI(*[again] * 3) as server:
        main = at(server, retry={"attempts": 1})
        async with clients(tmp_path, main=main) as made:
            assert isinstance(made.client(), OpenAIChatCompletionClient)
            with pytest.raises(Exception, match="server"):
                await answer(made.client())
        assert len(server.requests) == 1


async def test_a_model_without_a_key_is_left_out_and_the_log_says_so(tmp_path, caplog):
    async with FakeOpenAI(Reply(text="here")) as server:
        main = {"model": "gpt-4o", "fallback": ["other"]}
        async with clients(tmp_path, main=main, other=at(server)) as made:
            with caplog.at_level(logging.WARNING, logger="gateway"):
                assert await answer(made.client()) == "here"
    assert "The model main can't be used: There is no API key" in caplog.text


async def test_a_model_without_its_package_is_left_out_and_the_log_says_so(
    tmp_path, caplog, monkeypatch
):
    monkeypatch.setitem(sys.modules, "anthropic", None)  # as if it were not installed
    async with FakeOpenAI(Reply(text="here")) as server:
        main = {"provider": "anthropic", "model": "claude-sonnet-4-5", "fallback": ["other"]}
        async with clients(tmp_path, main=main, other=at(server)) as made:
            with caplog.at_level(logging.WARNING, logger="gateway"):
                assert await answer(made.client()) == "here"
    assert "The model main can't be used: Claude models need the" in caplog.text


async def test_an_unknown_model_on_a_server_of_claude_s_protocol_calls_tools(tmp_path):
    async with FakeAnthropic() as server:
        server.script(Say(text="here"))
        glm = {"provider": "anthropic", "model": "glm-9", "base_url": server.url, "api_key": "x"}
        async with clients(tmp_path, glm=glm) as made:
            assert made.client().model_info["function_calling"]
            assert await answer(made.client()) == "here"
        del glm["base_url"]
        async with clients(tmp_path, glm=glm) as made:
            with pytest.raises(ValueError, match="model_info is required"):
                made.client()


async def test_a_chain_of_models_without_keys_fails_as_the_first_does(tmp_path):
    keyless = {"model": "gpt-4o"}
    async with clients(tmp_path, main={**keyless, "fallback": ["other"]}, other=keyless) as made:
        with pytest.raises(BadCredentials, match="no API key for the model 'gpt-4o'"):
            made.client()


async def test_settings_that_the_first_model_refuses_are_not_hidden_by_its_fallback(tmp_path):
    async with FakeOpenAI() as server:
        main = {"model": "nobody-knows-it", "api_key": "sk-good-key", "fallback": ["other"]}
        async with clients(tmp_path, main=main, other=at(server)) as made:
            with pytest.raises(ValueError, match="model_info"):
                made.client()


async def test_everything_that_was_made_is_closed_once(tmp_path):
    async with FakeOpenAI(Reply(text="x"), Reply(text="y")) as server:
        main = at(server, fallback=["other"])
        async with clients(tmp_path, main=main, other=at(server)) as made:
            await answer(made.client("main"))
            closed = made.client("main")
        with pytest.raises(RuntimeError):
            await answer(closed)
