"""A client of `teams.models` that was made elsewhere, as an agent's model."""

from __future__ import annotations

from typing import Any

from teams.conversable._answers import Answer, make_answer
from teams.conversable._model_messages import model_messages
from teams.conversable._protocols import Given
from teams.conversable._providers import CHUNKS, ProviderClient, show_stream
from teams.conversable._usage import listed_price, parse_price
from teams.models._client import ChatCompletionClient
from teams.models._types import RequestUsage


class ChatCompletionModel:
    """Asks a client of `teams.models`, which others made and will close.

    For an entry of the `config_list` with `"model_client_cls": "ChatCompletionModel"`:
    `agent.register_model_client(ChatCompletionModel, client=client)`. Only in async chats. Its
    answers cost the entry's `price`, else what the table knows, else nothing; so do cached ones.
    """

    def __init__(self, entry: Given, *, client: ChatCompletionClient) -> None:
        self._model = str(entry.get("model") or "")
        self._client = client
        self._price = entry.get("price")

    async def create(self, params: Given) -> Answer:
        """The model's answer; streamed if somebody takes its pieces."""
        images = self._client.model_info["vision"]
        messages = model_messages(params["messages"], images=images)
        tools = [tool["function"] for tool in params.get("tools", ())]
        if CHUNKS.get() is None:
            result = await self._client.create(messages, tools=tools)
        else:
            result = await show_stream(self._client.create_stream(messages, tools=tools))
        cost = 0.0 if result.cached else self._cost(result.usage)
        return make_answer(result, model=self._model, cost=cost, legacy_call=False)

    def _cost(self, usage: RequestUsage) -> float:
        provider = type(self._client).__module__.removeprefix("teams.models.").partition(".")[0]
        name = str(getattr(self._client, "model", self._model))
        listed = listed_price(provider, name, warns=False)
        price = listed if self._price is None else parse_price(self._price)
        return price.cost(usage.prompt_tokens, usage.completion_tokens)

    def message_retrieval(self, response: Answer) -> list[Any]:
        """The text of each choice, or its message if it holds calls."""
        found = [choice.message for choice in response.choices]
        return [message if message.tool_calls else message.content for message in found]

    def cost(self, response: Answer) -> float:
        """The cost of the answer; see the class."""
        return response.cost

    get_usage = staticmethod(ProviderClient.get_usage)
