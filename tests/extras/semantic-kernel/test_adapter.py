"""Semantic Kernel's own connector, and a small one, as model clients.

Run by `make extras`, in an environment of requirements/extras/semantic-kernel.txt.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from typing import Any, ClassVar

import pytest

pytest.importorskip("semantic_kernel", reason="Semantic Kernel has an environment of its own")

from openai import AsyncOpenAI
from semantic_kernel import Kernel, exceptions
from semantic_kernel.connectors.ai.chat_completion_client_base import ChatCompletionClientBase
from semantic_kernel.connectors.ai.completion_usage import CompletionUsage
from semantic_kernel.connectors.ai.open_ai import (
    OpenAIChatCompletion,
    OpenAIChatPromptExecutionSettings,
)
from semantic_kernel.contents import (
    ChatMessageContent,
    FunctionCallContent,
    StreamingChatMessageContent,
    StreamingTextContent,
    TextContent,
)
from semantic_kernel.contents.utils.author_role import AuthorRole
from semantic_kernel.functions import kernel_function

from teams.agents import AssistantAgent
from teams.core import CancellationToken, FunctionCall
from teams.models import (
    BadAnswer,
    BadCredentials,
    BadRequest,
    CreateResult,
    ModelInfo,
    ModelRefused,
    ModelUnavailable,
    RequestUsage,
    UserMessage,
)
from teams.models.semantic_kernel import SKChatCompletionAdapter
from teams.testing import CHECKS, Answer, Check, NotOffered, SeenRequest, Subject, perform
from teams.tools import FunctionTool
from tests.fakes.openai_model_server import OpenAIModelServer
from tests.fakes.openai_script import Call, Reply
from tests.fakes.openai_server import FakeOpenAI

SECRET = "conformance-secret-key"
PREFIX = "autogen_tools-"
LACKS = {
    "failed_results_are_marked": "OpenAI's protocol has no mark for a failed result",
    "tool_choice_is_sent": "the connector can't name a tool; it is the only one that is offered",
    "thinking_is_the_thought": "the connector drops OpenAI's reasoning_content",
    "dump_holds_no_key": "no component, as in AutoGen: connectors can't be written down",
}
INFO = ModelInfo(
    vision=True,
    function_calling=True,
    json_output=True,
    structured_output=True,
    family="unknown",
)
CLIENTS: list[AsyncOpenAI] = []
QUESTION = UserMessage(content="Hi", source="user")


class KernelModelServer:
    """The scripted server, without the plugin in the names of tools."""

    def __init__(self, server: FakeOpenAI) -> None:
        self._server = OpenAIModelServer(server)
        self.began, self.idle = self._server.began, self._server.idle

    def script(self, *answers: Answer) -> None:
        self._server.script(*answers)

    @property
    def seen(self) -> list[SeenRequest]:
        return [
            replace(
                seen,
                tools={name.removeprefix(PREFIX): each for name, each in seen.tools.items()},
                calls=[replace(call, name=call.name.removeprefix(PREFIX)) for call in seen.calls],
            )
            for seen in self._server.seen
        ]


@pytest.fixture
async def server() -> AsyncIterator[FakeOpenAI]:
    async with FakeOpenAI() as made:
        yield made
        while CLIENTS:  # Semantic Kernel closes none
            await CLIENTS.pop().close()


def connector(server: FakeOpenAI, *, timeout: float = 10.0) -> OpenAIChatCompletion:
    inner = AsyncOpenAI(base_url=server.url, api_key=SECRET, timeout=timeout, max_retries=0)
    CLIENTS.append(inner)
    return OpenAIChatCompletion(ai_model_id="gpt-4o", async_client=inner)


def adapter(server: FakeOpenAI, *, info: ModelInfo | None = INFO, **given: Any) -> Any:
    given = {"kernel": Kernel(), **given}
    return SKChatCompletionAdapter(connector(server), model_info=info, **given)


@pytest.fixture
async def subject(server: FakeOpenAI) -> Subject:
    def connect(*, timeout: float, model_info: ModelInfo) -> SKChatCompletionAdapter:
        client = connector(server, timeout=timeout)
        return SKChatCompletionAdapter(client, kernel=Kernel(), model_info=model_info)

    return Subject(server=KernelModelServer(server), connect=connect, secret=SECRET, lacks=LACKS)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_conformance(check: Check, subject: Subject) -> None:
    try:
        await perform(check, subject)
    except NotOffered as error:
        pytest.skip(str(error))


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def test_an_agent_calls_its_own_tools(server: FakeOpenAI):
    server.script(
        Reply(calls=[Call(name="autogen_tools-add", arguments={"a": 1, "b": 2})]),
        Reply(text="It is 3."),
    )
    agent = AssistantAgent(
        "clerk", adapter(server), tools=[add], reflect_on_tool_use=True, model_client_stream=True
    )
    result = await agent.run(task="1 + 2?")
    assert result.messages[-1].to_text() == "It is 3."
    assert server.requests[0].tools == ["autogen_tools-add"]
    assert server.requests[1].last["content"] == "3"


async def test_the_kernel_s_own_functions_are_neither_offered_nor_run(server: FakeOpenAI):
    ran: list[str] = []

    class Danger:
        @kernel_function
        def wipe(self) -> str:
            ran.append("wipe")
            return "done"

    kernel = Kernel()
    kernel.add_plugin(Danger(), "danger")
    server.script(Reply(calls=[Call(name="danger-wipe", arguments={})]))
    result = await adapter(server, kernel=kernel).create([QUESTION], tools=[FunctionTool(add, "")])
    assert result.content == [FunctionCall(id="call_1", name="danger-wipe", arguments="{}")]
    assert server.requests[0].tools == ["autogen_tools-add"]
    assert ran == []
    assert list(kernel.plugins) == ["danger"]


async def test_a_chosen_tool_is_the_only_one_offered(server: FakeOpenAI):
    server.script(Reply(text="ok"))
    chosen, other = FunctionTool(add, "", name="one"), FunctionTool(add, "", name="other")
    await adapter(server).create([QUESTION], tools=[chosen, other], tool_choice=chosen)
    assert server.requests[0].tools == ["autogen_tools-one"]
    assert server.requests[0].body["tool_choice"] == "required"


async def test_settings_are_those_of_the_call_then_of_the_adapter(server: FakeOpenAI):
    server.script(Reply(text="ok"), Reply(text="ok"), Reply(text="ok"))
    settings = OpenAIChatPromptExecutionSettings(temperature=0.5)
    client = adapter(server, prompt_settings=settings)
    await client.create([QUESTION])
    await client.create([QUESTION], extra_create_args={"temperature": 0.25})
    own = OpenAIChatPromptExecutionSettings(max_tokens=7)
    await client.create([QUESTION], extra_create_args={"prompt_execution_settings": own})
    first, second, third = (request.body for request in server.requests)
    assert (first["temperature"], second["temperature"]) == (0.5, 0.25)
    assert third["max_tokens"] == 7
    assert "temperature" not in third
    assert settings.temperature == 0.5
    with pytest.raises(ValueError, match="has no setting 'nonsense'"):
        await client.create([QUESTION], extra_create_args={"nonsense": 1})


async def test_a_kernel_is_required_and_may_come_with_the_call(server: FakeOpenAI):
    client = SKChatCompletionAdapter(connector(server))
    with pytest.raises(ValueError, match="A kernel is required"):
        await client.create([QUESTION])
    server.script(Reply(text="ok"))
    result = await client.create([QUESTION], extra_create_args={"kernel": Kernel()})
    assert result.content == "ok"
    assert not client.model_info["function_calling"]


class Small(ChatCompletionClientBase):
    """A connector that says little about its answers."""

    SUPPORTS_FUNCTION_CALLING: ClassVar[bool] = True
    failure: Exception | None = None

    async def _inner_get_chat_message_contents(self, chat_history: Any, settings: Any) -> Any:
        if self.failure:
            raise self.failure
        items: list[Any] = [
            TextContent(text="I add."),
            FunctionCallContent(id="c", name="autogen_tools-add", arguments={"a": 1}),
        ]
        usage = {"prompt_tokens": 4, "completion_tokens": 2}
        return [
            ChatMessageContent(role=AuthorRole.ASSISTANT, items=items, metadata={"usage": usage})
        ]

    async def _inner_get_streaming_chat_message_contents(
        self, chat_history: Any, settings: Any, function_invoke_attempt: int = 0
    ) -> AsyncGenerator[list[StreamingChatMessageContent], Any]:
        for text in ("Hel", "lo"):
            usage = CompletionUsage(prompt_tokens=3, completion_tokens=1)
            yield [
                StreamingChatMessageContent(
                    role=AuthorRole.ASSISTANT,
                    choice_index=0,
                    items=[StreamingTextContent(choice_index=0, text=text)],
                    metadata={"usage": usage},
                )
            ]
        if self.failure:
            raise self.failure


async def test_a_connector_that_says_no_reason_for_its_end():
    client = SKChatCompletionAdapter(Small(ai_model_id="small"), Kernel(), model_info=INFO)
    result = await client.create([QUESTION], tools=[FunctionTool(add, "")])
    assert result.content == [FunctionCall(id="c", name="add", arguments='{"a": 1}')]
    assert (result.finish_reason, result.thought) == ("function_calls", "I add.")
    assert result.usage == RequestUsage(4, 2)
    items = [item async for item in client.create_stream([QUESTION])]
    assert items[:2] == ["Hel", "lo"]
    assert isinstance(items[2], CreateResult)
    assert (items[2].content, items[2].finish_reason) == ("Hello", "stop")
    assert client.total_usage() == RequestUsage(7, 3)


@pytest.mark.parametrize(
    ("raised", "wanted"),
    [
        (exceptions.ServiceInvalidAuthError("no"), BadCredentials),
        (exceptions.ServiceInvalidRequestError("no"), BadRequest),
        (exceptions.ServiceContentFilterException("no"), ModelRefused),
        (IndexError("no"), BadAnswer),
    ],
)
async def test_each_error_of_the_kernel_has_its_own_class(raised: Any, wanted: Any):
    client = SKChatCompletionAdapter(Small(ai_model_id="small", failure=raised), Kernel())
    with pytest.raises(wanted) as failed:
        await client.create([QUESTION])
    assert failed.value.__cause__ is raised


async def test_errors_of_a_connector_are_model_errors():
    small = Small(ai_model_id="small", failure=exceptions.ServiceResponseException("overloaded"))
    client = SKChatCompletionAdapter(small, Kernel())
    with pytest.raises(ModelUnavailable, match=r"overloaded \(model 'small' at Small\)"):
        await client.create([QUESTION])
    async with aclosing(client.create_stream([QUESTION])) as stream:
        assert [await anext(stream), await anext(stream)] == ["Hel", "lo"]
        with pytest.raises(ModelUnavailable, match="overloaded"):
            await anext(stream)


async def test_cancelling_a_stream_frees_its_connection(server: FakeOpenAI):
    server.script(Reply(text="one two three", gate=server.gate))
    token = CancellationToken()
    server.gate.open(1)
    client = adapter(server)
    async with aclosing(client.create_stream([QUESTION], cancellation_token=token)) as stream:
        assert await anext(stream) == "one t"
        token.cancel()
        with pytest.raises(asyncio.CancelledError):
            await anext(stream)
    await server.idle()
