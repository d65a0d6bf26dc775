"""Clients of `teams.models`, asked in the words of chat completions."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from contextvars import ContextVar
from typing import Any

from pydantic import BaseModel

from teams.conversable._answers import Answer, make_answer
from teams.conversable._model_config import ModelCall
from teams.conversable._model_messages import model_messages
from teams.conversable._printing import IOStream
from teams.conversable._protocols import Given, Settings
from teams.conversable._usage import Price, listed_price
from teams.models._client import ChatCompletionClient, UncheckedArguments
from teams.models._types import CreateResult

CHUNKS: ContextVar[Callable[[str], Awaitable[None] | None] | None] = ContextVar(
    "teams_chunks", default=None
)
"""Takes the pieces of a streamed answer; without it they are printed."""


class TeamsClient:
    """Reads the answers of a client of `teams.models` as a `ModelClient` does."""

    def __init__(self, response_format: Any = None) -> None:
        self._response_format = response_format

    def message_retrieval(self, response: Answer) -> list[Any]:
        """The text of each choice, or its message if it holds calls.

        A text in the shape of a class with a method `format` is what that method returns.
        """
        formed, texts = hasattr(self._response_format, "format"), list[Any]()
        for message in [choice.message for choice in response.choices]:
            if message.tool_calls or message.function_call:
                texts.append(message)
            elif formed:
                texts.append(self._response_format.model_validate_json(message.content).format())
            else:
                texts.append(message.content)
        return texts

    def cost(self, response: Answer) -> float:
        """The cost of the answer."""
        return response.cost

    @staticmethod
    def get_usage(response: Answer) -> Settings:
        """Tokens and cost of an answer."""
        return {**vars(response.usage), "cost": response.cost, "model": response.model}


class ChatCompletionModel(TeamsClient):
    """Asks a client of `teams.models`, which others made and will close.

    For an entry of the `config_list` with `"model_client_cls": "ChatCompletionModel"`:
    `agent.register_model_client(ChatCompletionModel, client=client)`. Only in async chats. Its
    answers cost the entry's `price`, else what the table knows, else nothing; so do cached ones.
    """

    def __init__(self, entry: Given, *, client: ChatCompletionClient) -> None:
        super().__init__()
        self._entry = ModelCall(entry)
        self._client = client

    async def create(self, params: Given) -> Answer:
        """The model's answer; streamed if somebody takes its pieces."""
        options = {key: each for key, each in params.items() if key != "model_client_cls"}
        options["stream"] = CHUNKS.get() is not None
        return await ask_client(self._client, options, self._entry.price or self._listed())

    def _listed(self) -> Price:
        provider = type(self._client).__module__.removeprefix("teams.models.").partition(".")[0]
        name = str(getattr(self._client, "model", self._entry.settings.get("model")))
        return listed_price(provider, name, warns=False)


async def ask_client(client: ChatCompletionClient, options: Settings, price: Price) -> Answer:
    """The answer to a request; a streamed one is shown in pieces."""
    model, streamed = str(options.pop("model", "")), options.pop("stream", False)
    legacy_call = "functions" in options and "tools" not in options
    sees = client.model_info["vision"]
    messages = model_messages(options.pop("messages", []), images=sees)
    asked = _arguments(options)
    if streamed:
        result = await _show_stream(client.create_stream(messages, **asked))
    else:
        result = await client.create(messages, **asked)
    read, written = result.usage.prompt_tokens, result.usage.completion_tokens
    cost = 0.0 if result.cached else price.cost(read, written)
    return make_answer(result, model=model, cost=cost, legacy_call=legacy_call)


def _arguments(options: Settings) -> Settings:
    """The client's arguments; what it does not know goes on."""
    tools = options.pop("tools", ())
    functions = [tool["function"] for tool in tools if "function" in tool]
    if len(functions) < len(tools):  # some are the provider's own
        options["tools"], functions = tools, []
    offered = [*functions, *options.pop("functions", ())]
    asked: Settings = {"tools": offered}
    match choice := options.pop("function_call", options.pop("tool_choice", "auto")):
        case {"function": {"name": str(name)}} | {"name": str(name)} if offered:
            # Others' clients take a tool, of which only the schema is known here.
            asked = {"tools": [each for each in offered if each["name"] == name]}
            if not asked["tools"]:
                raise ValueError(f"The tool {name!r} is demanded, but is not among the tools.")
            asked["tool_choice"] = "required"
        case str():
            asked["tool_choice"] = choice
        case _:
            options["tool_choice"] = choice
    wanted: object = options.get("response_format")
    is_class = isinstance(wanted, type) and issubclass(wanted, BaseModel)
    if is_class or wanted == {"type": "json_object"}:
        del options["response_format"]
        asked["json_output"] = wanted if is_class else True
    return {**asked, "extra_create_args": UncheckedArguments(options)}


async def _show_stream(stream: AsyncGenerator[str | CreateResult, None]) -> CreateResult:
    """The whole answer, after its pieces were handed on or printed."""
    take, say = CHUNKS.get(), IOStream.get_default().print
    async with aclosing(stream):
        async for piece in stream:
            if isinstance(piece, CreateResult):
                if take is None:
                    say("", flush=True)
                return piece
            if take is None:
                say(piece, end="", flush=True)
            elif (taken := take(piece)) is not None:
                await taken
    raise RuntimeError("The stream ended without an answer.")
