"""OpenAIAgent: a model of OpenAI with the tools that run there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

from pydantic import BaseModel, Field
from typing_extensions import override

from teams._base.bounded.clients import http_client
from teams._components.component import Component, ComponentLoader, ComponentModel
from teams._contract.state import BaseState
from teams._tools.base import BaseTool
from teams.agents._assistant_tools import ToolFunction
from teams.agents._hosted import HistoryField, HostedAgent
from teams.agents.openai._hosted_tools import HostedTool, split_tools, without_secrets
from teams.models._errors import BadCredentials

if TYPE_CHECKING:
    from openai import AsyncAzureOpenAI, AsyncOpenAI


class OpenAIAgentConfig(BaseModel, defer_build=True):
    """See `OpenAIAgent` for what the fields mean."""

    name: str
    description: str
    model: str
    instructions: str
    tools: list[ComponentModel | dict[str, Any] | str] | None = None
    temperature: float | None = 1
    max_output_tokens: int | None = None
    json_mode: bool = False
    store: bool = True
    truncation: str = "disabled"
    model_client_stream: bool | None = None

    def hosted(self) -> list[dict[str, Any]]:
        """The tools that run at OpenAI, without their secrets."""
        tools = [tool for tool in self.tools or () if not isinstance(tool, ComponentModel)]
        return [
            without_secrets({"type": tool} if isinstance(tool, str) else tool) for tool in tools
        ]


class OpenAIAgentState(BaseState):
    """State of an OpenAIAgent."""

    type: str = "OpenAIAgentState"
    response_id: str | None = None
    """Id of its last answer."""
    history: list[Any] = Field(default_factory=list[Any])
    """The conversation, for a provider that has forgotten the answer."""


class OpenAIAgent(HostedAgent, Component[OpenAIAgentConfig]):  # pyright: ignore[reportGeneralTypeIssues]
    """An agent that answers over OpenAI's Responses API.

    A turn that is cut off asks its last request again: an answer that was under way is lost, and
    tools that had run for it at the provider may run twice.

    Args:
        name: a Python identifier, unique in a team.
        description: for teams that choose speakers by description.
        client: of the `openai` package; it may be shared, and stays open.
        model: the model's name.
        instructions: sent with each request.
        tools: functions and tools, which run here, and the names or settings of OpenAI's own, which
            run there: "web_search_preview", {"type": "file_search", "vector_store_ids": [...]}.
        temperature: sent unless it is 1, OpenAI's own.
        max_output_tokens: most tokens of an answer.
        json_mode: answers are JSON.
        store: OpenAI keeps the answers, and only what is new is sent.
        truncation: "auto" lets OpenAI drop the middle of a conversation that is too long.
        model_client_stream: yield the text while it is written.

    Raises ValueError for tools that OpenAI does not have, or that lack settings.
    """

    component_config_schema = OpenAIAgentConfig
    holds_own = True
    component_provider_override: ClassVar[str | None] = "teams.agents.openai.OpenAIAgent"

    def __init__(
        self,
        name: str,
        description: str,
        client: AsyncOpenAI | AsyncAzureOpenAI,
        model: str,
        instructions: str,
        tools: Sequence[HostedTool | BaseTool[Any, Any] | ToolFunction] | None = None,
        temperature: float | None = 1,
        max_output_tokens: int | None = None,
        json_mode: bool = False,
        store: bool = True,
        truncation: str = "disabled",
        *,
        model_client_stream: bool = False,
    ) -> None:
        given: dict[str, Any] = {**locals(), "model_client_stream": model_client_stream or None}
        from teams.models.openai._responses import ResponsesClient  # for start-up

        self._hosted, here = split_tools(tools or (), model)
        self._own_client: AsyncOpenAI | None = None
        arguments: dict[str, Any] = {
            "model": model,
            "store": store,
            "temperature": None if temperature == 1 else temperature,
            "max_output_tokens": max_output_tokens,
            "truncation": None if truncation == "disabled" else truncation,
            "text": {"format": {"type": "json_object"}} if json_mode else None,
        }
        asking = ResponsesClient(
            client, source=name, hosted=lambda: self._hosted, create_args=arguments
        )
        super().__init__(
            name, description, asking, instructions, here, stream=model_client_stream, keeps=store
        )
        kept = OpenAIAgentConfig.model_fields.keys() - {"tools"}
        self._config = OpenAIAgentConfig(**{field: given[field] for field in kept})

    _state_type = OpenAIAgentState
    _state_fields = (HistoryField(), *HostedAgent._state_fields[1:])

    @override
    def _to_config(self) -> OpenAIAgentConfig:  # pyright: ignore[reportIncompatibleMethodOverride]
        tools: list[Any] = [without_secrets(tool) for tool in self._hosted]
        tools += [tool.dump_component() for tool in self._tools.own]
        return self._config.model_copy(update={"tools": tools or None})

    @classmethod
    @override
    def _from_config(cls, config: OpenAIAgentConfig) -> Self:  # pyright: ignore[reportIncompatibleMethodOverride]
        given: dict[str, Any] = {name: getattr(config, name) for name in type(config).model_fields}
        given["tools"] = [_loaded(tool) for tool in config.tools or ()]
        given["model_client_stream"] = bool(config.model_client_stream)
        client = environment_client()
        agent = cls(client=client, **given)
        agent._own_client = client
        return agent

    @override
    async def close(self) -> None:
        """Close the client if loading the component has made it."""
        await super().close()
        if self._own_client is not None:
            await self._own_client.close()


def environment_client() -> AsyncOpenAI:
    """A client of the `openai` package for the environment's key and address."""
    import openai  # for start-up

    try:
        return openai.AsyncOpenAI(http_client=http_client(openai.DefaultAsyncHttpxClient))
    except openai.OpenAIError as error:
        raise BadCredentials("There is no API key: set OPENAI_API_KEY.") from error


def _loaded(tool: ComponentModel | HostedTool) -> HostedTool | BaseTool[Any, Any]:
    if not isinstance(tool, ComponentModel):
        return tool
    return ComponentLoader.load_component(tool, cast("type[BaseTool[Any, Any]]", BaseTool))
