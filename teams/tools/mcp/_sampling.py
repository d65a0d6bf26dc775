"""A model that answers a server's requests for one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self, cast

from pydantic import BaseModel
from typing_extensions import override

from teams._base.image import Image
from teams._components.component import Component, ComponentModel
from teams._run.run import run_hooks
from teams.models._client import ChatCompletionClient
from teams.models._types import AssistantMessage, LLMMessage, SystemMessage, UserMessage
from teams.tools.mcp._host import Sampler
from teams.tools.mcp._sdk import message, wire

if TYPE_CHECKING:
    from mcp.types import CreateMessageRequestParams, CreateMessageResult

_LIMITS = {"maxTokens": "max_tokens", "temperature": "temperature", "stopSequences": "stop"}
"""The wire's names of limits, and a client's."""

_STOP_REASONS = {"stop": "endTurn", "length": "maxTokens"}


class ChatCompletionClientSamplerConfig(BaseModel, defer_build=True):
    """The model of a sampler."""

    client_config: Annotated[ComponentModel, ChatCompletionClient]


class ChatCompletionClientSampler(Sampler, Component[ChatCompletionClientSamplerConfig]):
    """Hands a server's requests to a model client, with their limits."""

    component_config_schema = ChatCompletionClientSamplerConfig
    component_provider_override: ClassVar[str | None] = (
        "teams.tools.mcp.ChatCompletionClientSampler"
    )

    def __init__(self, model_client: ChatCompletionClient) -> None:
        self._model_client = model_client

    def _to_config(self) -> ChatCompletionClientSamplerConfig:
        return ChatCompletionClientSamplerConfig(client_config=self._model_client.dump_component())

    @classmethod
    def _from_config(cls, config: ChatCompletionClientSamplerConfig) -> Self:
        return cls(ChatCompletionClient.load_component(config.client_config))

    @override
    async def sample(self, params: CreateMessageRequestParams) -> CreateMessageResult:
        """The model's answer.

        Raises ValueError for what it can't be asked: tools, sounds, and images where it sees none.
        """
        client, asked = self._model_client, wire(params)
        if asked.get("tools"):
            raise ValueError("A server's request for a model can't bring tools.")
        messages: list[LLMMessage] = []
        if prompt := asked.get("systemPrompt"):
            messages.append(SystemMessage(content=prompt))
        messages += [_message(each) for each in asked["messages"]]
        limits = {ours: asked[theirs] for theirs, ours in _LIMITS.items() if theirs in asked}
        with run_hooks(instructions={}):  # they are for agents, not for a server to read
            result = await client.create(messages, extra_create_args=limits)
        if not isinstance(result.content, str):
            raise ValueError("The model answered with tool calls.")
        return message(
            "CreateMessageResult",
            {
                "role": "assistant",
                "content": {"type": "text", "text": result.content},
                "model": getattr(client, "model", "") or client.model_info["family"],
                "stopReason": _STOP_REASONS.get(result.finish_reason, result.finish_reason),
            },
        )


def _message(given: Mapping[str, Any]) -> LLMMessage:
    blocks: Any = given["content"]
    several = cast("list[Any]", blocks) if isinstance(blocks, list) else [blocks]
    parts = [_part(each) for each in several]
    if given["role"] == "assistant":
        return AssistantMessage(content="\n".join(map(_text, parts)), source="assistant")
    if all(isinstance(part, str) for part in parts):
        return UserMessage(content="\n".join(map(_text, parts)), source="user")
    return UserMessage(content=parts, source="user")


def _text(part: str | Image) -> str:
    return part if isinstance(part, str) else "[image]"


def _part(content: Mapping[str, Any]) -> str | Image:
    match content:
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": "image", "data": str(data)}:
            return Image.from_base64(data)
        case _:
            raise ValueError(f"A model can't be asked with {content.get('type')!r}.")
