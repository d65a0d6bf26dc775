"""The cost of answers of a client that was made elsewhere."""

from typing import Any

import pytest

from teams.conversable import ChatCompletionModel, ConversableAgent
from teams.models.fallback import FallbackChatCompletionClient
from teams.models.openai import OpenAIChatCompletionClient
from teams.models.replay import ReplayChatCompletionClient
from tests.fakes.openai_script import Reply
from tests.fakes.openai_server import FakeOpenAI


class Named(ReplayChatCompletionClient):
    """A client that tells its model's name, as those of providers do."""

    model = "gpt-4o-mini"


async def cost(client: ReplayChatCompletionClient, **entry: Any) -> dict[str, Any]:
    """The cost of a chat of one question and one answer."""
    entry = {"model": "m", "model_client_cls": "ChatCompletionModel", **entry}
    al = ConversableAgent("al", llm_config={"config_list": [entry]}, human_input_mode="NEVER")
    al.register_model_client(ChatCompletionModel, client=client)
    bo = ConversableAgent("bo", human_input_mode="NEVER")
    chat = await bo.a_initiate_chat(al, message="how much?", max_turns=1, silent=True)
    assert chat.cost is not None
    return chat.cost["usage_excluding_cached_inference"]


def paid(client: ReplayChatCompletionClient) -> ReplayChatCompletionClient:
    client.set_cached_bool_value(False)
    return client


async def test_the_price_of_the_entry_counts():
    client = paid(ReplayChatCompletionClient(["two euros"]))
    told = await cost(client, price=[1, 10])
    usage = client.actual_usage()
    assert usage.completion_tokens == 2
    assert told["total_cost"] == pytest.approx((usage.prompt_tokens + 20) / 1000)
    assert told["m"]["completion_tokens"] == 2


async def test_a_model_of_the_price_table_has_its_price():
    assert (await cost(paid(Named(["two euros"]))))["total_cost"] > 0


async def test_a_model_that_runs_here_costs_nothing():
    class Local(Named):
        __module__ = "teams.models.ollama"

    assert (await cost(paid(Local(["two euros"]))))["total_cost"] == 0


async def test_an_unknown_model_and_an_answer_out_of_a_cache_cost_nothing():
    assert (await cost(paid(ReplayChatCompletionClient(["two euros"]))))["total_cost"] == 0
    assert (await cost(ReplayChatCompletionClient(["two euros"]), price=1))["total_cost"] == 0


async def test_a_wrong_price_is_told_before_the_model_is_asked():
    client = ReplayChatCompletionClient(["two euros"])
    with pytest.raises(ValueError, match="is neither a number nor"):
        await cost(client, price="cheap")
    assert client.create_calls == []


@pytest.mark.parametrize("behind", [False, True], ids=["alone", "behind a fallback"])
async def test_an_unknown_key_goes_on_to_a_client_that_was_made_elsewhere(
    openai_server: FakeOpenAI, behind: bool
):
    openai_server.script(Reply(text="two euros"))
    made = OpenAIChatCompletionClient(model="gpt-4o", api_key="k", base_url=openai_server.url)
    client = FallbackChatCompletionClient([made]) if behind else made
    entry = {"model": "m", "model_client_cls": "ChatCompletionModel", "top_k": 7}
    al = ConversableAgent("al", llm_config={"config_list": [entry]}, human_input_mode="NEVER")
    al.register_model_client(ChatCompletionModel, client=client)
    bo = ConversableAgent("bo", human_input_mode="NEVER")
    await bo.a_initiate_chat(al, message="how much?", max_turns=1, silent=True)
    await client.close()
    assert openai_server.requests[0].body["top_k"] == 7
