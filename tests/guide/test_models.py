"""The page on models: OpenAI, Azure, and everyone who speaks their language."""

import pytest
from diskcache import Cache

from teams.agents import AssistantAgent
from teams.cache_store.diskcache import DiskCacheStore
from teams.core import CacheStore, InMemoryStore
from teams.messages import ThoughtEvent
from teams.models import ChatCompletionClient, ModelFamily, UserMessage
from teams.models.anthropic import AnthropicChatCompletionClient
from teams.models.cache import ChatCompletionCache
from teams.models.fallback import FallbackChatCompletionClient
from teams.models.ollama import OllamaChatCompletionClient
from teams.models.openai import AzureOpenAIChatCompletionClient, OpenAIChatCompletionClient
from teams.testing import SaidCall, Say
from tests.fakes.anthropic_server import FakeAnthropic
from tests.fakes.ollama_server import FakeOllama
from tests.fakes.openai_script import Reply
from tests.guide.harness import connected, said, some_model

QUESTION = UserMessage(content="What is the capital of Ghana?", source="user")


async def test_a_client_can_be_asked_directly(openai_server, model):
    openai_server.script(Reply(text="Accra.", usage=(14, 3)))

    answer = await model.create([QUESTION])

    assert answer.content == "Accra."
    assert answer.finish_reason == "stop"
    assert answer.usage.prompt_tokens == 14
    assert answer.cached is False
    [request] = openai_server.requests
    assert said(request) == ["user[user]: What is the capital of Ghana?"]
    assert request.headers["Authorization"] == "Bearer sk-guide"
    assert model.total_usage().completion_tokens == 3


async def test_the_key_may_come_from_the_environment(openai_server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-environment")
    openai_server.script(Reply(text="Accra."))
    client = OpenAIChatCompletionClient(model="gpt-4o", base_url=openai_server.url, temperature=0.5)
    await client.create([QUESTION])
    await client.close()
    [request] = openai_server.requests
    assert request.headers["Authorization"] == "Bearer sk-environment"
    assert request.body["temperature"] == 0.5


async def azure_answers(server, **credentials):
    server.script(Reply(text="Accra."))
    client = AzureOpenAIChatCompletionClient(
        azure_deployment="our-deployment",
        model="gpt-4o",
        api_version="2024-06-01",
        azure_endpoint=server.url.removesuffix("/v1"),
        **credentials,
    )
    answer = await client.create([QUESTION])
    await client.close()
    assert answer.content == "Accra."
    request = server.requests[-1]
    assert request.path == "/openai/deployments/our-deployment/chat/completions"
    assert request.query["api-version"] == "2024-06-01"
    return request


async def test_azure_takes_a_key(openai_server):
    request = await azure_answers(openai_server, api_key="azure-key")
    assert request.headers["api-key"] == "azure-key"


async def test_azure_takes_a_token_provider(openai_server):
    async def token() -> str:
        return "a-token"

    request = await azure_answers(openai_server, azure_ad_token_provider=token)
    assert request.headers["Authorization"] == "Bearer a-token"


async def test_an_agent_goes_on_with_the_next_model_and_the_first_is_left_to_rest(openai_server):
    openai_server.script(Reply(text="Accra."), Reply(text="Lagos."))
    async with (
        connected(openai_server.url, "gpt-5") as withdrawn,
        connected(openai_server.url, "gpt-4o") as model,
    ):
        agent = AssistantAgent("geographer", FallbackChatCompletionClient([withdrawn, model]))
        said = [(await agent.run(task=task)).messages[-1].to_text() for task in ("Ghana?", "Nig?")]
    assert said == ["Accra.", "Lagos."]
    asked = [request.body["model"] for request in openai_server.requests]
    assert asked == ["gpt-5", "gpt-4o", "gpt-4o"]


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("gemini-2.5-flash", ModelFamily.GEMINI_2_5_FLASH),
        ("Llama-4-Maverick-17B-128E-Instruct-FP8", ModelFamily.LLAMA_4_MAVERICK),
    ],
)
async def test_providers_with_a_compatible_api_are_asked_by_model_name(openai_server, name, family):
    openai_server.models.add(name)
    openai_server.script(Reply(text="Accra."))
    async with connected(openai_server.url, name) as model:
        answer = await model.create([QUESTION])
        assert model.model_info["family"] == family
    assert answer.content == "Accra."
    assert openai_server.requests[0].body["model"] == name


async def test_an_unknown_model_is_described_by_its_model_info(openai_server):
    openai_server.models.add("gemini-9-tiny")
    openai_server.script(Reply(text="Accra."))
    info = some_model(family="unknown", structured_output=False)
    async with connected(openai_server.url, "gemini-9-tiny", model_info=info) as model:
        agent = AssistantAgent("geographer", model, system_message=None)
        result = await agent.run(task="What is the capital of Ghana?")
    assert result.messages[-1].to_text() == "Accra."

    with pytest.raises(ValueError, match="model_info"):
        OpenAIChatCompletionClient(model="nobody-knows-it", api_key="x", base_url=openai_server.url)


async def test_a_client_is_made_from_its_component_form(openai_server):
    openai_server.script(Reply(text="Accra."))
    client = ChatCompletionClient.load_component(
        {
            "provider": "OpenAIChatCompletionClient",
            "config": {"model": "gpt-4o", "api_key": "sk-guide", "base_url": openai_server.url},
        }
    )
    assert isinstance(client, OpenAIChatCompletionClient)
    assert (await client.create([QUESTION])).content == "Accra."
    await client.close()


@pytest.mark.parametrize("kind", ["in memory", "on disk"])
async def test_a_cache_asks_a_question_once(openai_server, model, tmp_path, kind):
    openai_server.script(Reply(text="Accra.", usage=(14, 3)))
    with Cache(tmp_path) as folder:
        store: CacheStore = InMemoryStore() if kind == "in memory" else DiskCacheStore(folder)
        cached = ChatCompletionCache(model, store)

        first = await cached.create([QUESTION])
        second = await cached.create([QUESTION])

    assert (first.content, first.cached) == ("Accra.", False)
    assert (second.content, second.cached) == ("Accra.", True)
    assert len(openai_server.requests) == 1
    assert cached.actual_usage().prompt_tokens == 14
    assert cached.total_usage().prompt_tokens == 28


async def test_an_agent_with_claude_thinks_between_its_tools():
    def population(country: str) -> str:
        return f"{country}: 34 million"

    async with FakeAnthropic() as server:
        call = SaidCall(name="population", arguments={"country": "Ghana"}, id="toolu_1")
        server.script(
            Say(thought="I need a number.", calls=[call]),
            Say(thought="That is it.", text="34 million."),
        )
        model = AnthropicChatCompletionClient(
            model="claude-haiku-4-5",
            api_key="sk-guide",
            base_url=server.url,
            thinking={"type": "enabled", "budget_tokens": 4000},
        )
        agent = AssistantAgent(
            "geographer",
            model,
            tools=[population],
            reflect_on_tool_use=True,
            model_client_stream=True,
        )
        result = await agent.run(task="How many people live in Ghana?")
        await model.close()

    assert result.messages[-1].to_text() == "34 million."
    thoughts = [each.content for each in result.messages if isinstance(each, ThoughtEvent)]
    assert thoughts == ["I need a number.", "That is it."]
    thinking = [request.body["thinking"]["type"] for request in server.requests]
    assert thinking == ["enabled", "enabled"]
    assert "tools" in server.requests[-1].body  # they were called, so the API wants them defined


async def test_a_server_of_llama_cpp_is_asked_without_a_key(openai_server, monkeypatch):
    openai_server.models.add("local")
    openai_server.script(Reply(text="Accra."))
    monkeypatch.setenv("OPENAI_BASE_URL", openai_server.url)
    client = OpenAIChatCompletionClient(model="local", model_info=some_model(family="unknown"))
    assert (await client.create([QUESTION])).content == "Accra."
    await client.close()

    with pytest.raises(ImportError, match=r"http://localhost:8080/v1\W.*llama-server"):
        exec("from teams.models.llama_cpp import LlamaCppChatCompletionClient", {})


async def test_a_model_of_ollama_answers_an_agent():
    async with FakeOllama(Say(text="Accra."), models={"qwen3:8b": {}}) as server:
        client = OllamaChatCompletionClient(model="qwen3:8b", host=server.url)
        agent = AssistantAgent("geographer", client, system_message=None)
        result = await agent.run(task="What is the capital of Ghana?")
        await client.close()
    assert result.messages[-1].to_text() == "Accra."
    assert server.seen[0].texts == [("user", "What is the capital of Ghana?")]
