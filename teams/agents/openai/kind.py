"""Agents of OpenAI's Responses API as tables of config.toml."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field
from typing_extensions import override

from teams._base.kind_family import KindsOf
from teams._base.kinds import DescribedAgent, Kind, Maker, Tool, Want
from teams._base.meanings import Named
from teams._base.tables import shorthand
from teams.models.kinds import SDK as CHAT
from teams.models.kinds import wants_openai

SDK = (*CHAT, "openai.resources.responses.responses")


class OpenAIKind(DescribedAgent):
    """An agent over OpenAI's Responses API, also with tools that run there."""

    kind: ClassVar = Kind(
        "agent", "openai", "teams.agents.openai:OpenAIAgent", has_form=False, sdk=SDK
    )
    provider: ClassVar = "OpenAI"

    type: Literal["openai"]
    """Kind of agent."""

    model: Annotated[str, Named("models")] = ""
    """Name of its model in [models]; default_model if not given.

    Its provider is "openai" or "azure"; its retry, fallback and options are not used.
    """

    instructions: str = ""
    """Instructions for the model."""

    tools: list[Annotated[Tool, KindsOf("tool"), shorthand("path")]] = Field(default_factory=list)
    """Tools that run here: functions, "package.module:function", or tables."""

    hosted_tools: list[str | dict[str, Any]] = Field(default_factory=list)
    """Tools that run at OpenAI: "web_search", { type = "code_interpreter", container = {...} }, ...

    No policy sees their calls before they happen, so naming one here allows it. Their results are
    foreign text, unless [policies.tools] trusts the output.
    """

    temperature: float = 1
    """Temperature of the model, from 0 to 2; models that reason take 1 alone."""

    max_output_tokens: int | None = Field(default=None, ge=1)
    """Most tokens of an answer."""

    json_mode: bool = False
    """Answer with JSON."""

    store: bool = True
    """Let OpenAI keep the answers, and send only what is new."""

    truncation: Literal["auto", "disabled"] = "disabled"
    """With "auto", OpenAI drops the middle of a conversation that is too long."""

    model_client_stream: bool = True
    """Show the answer while the model writes it."""

    @override
    def hosted_names(self) -> set[str]:
        """Names of the hosted tools' results, without those of MCP servers."""
        kinds = {each if isinstance(each, str) else each.get("type") for each in self.hosted_tools}
        return {str(kind).removesuffix("_preview") for kind in kinds} - {"mcp"}

    @override
    def called(self) -> Sequence[Tool]:
        return self.tools

    @staticmethod
    @override
    def wants(config: Any) -> Iterator[Want]:
        yield from wants_openai(None)
        yield from (Want("hosted", tool) for tool in config.hosted())

    @override
    async def build(self, maker: Maker, **more: Any) -> Any:
        from teams.agents.openai._agent import OpenAIAgent  # few need it

        client, model = maker.openai(self.model)
        told = self.description or "An agent that provides assistance with ability to use tools."
        tools = [*self.hosted_tools, *[await each.build(maker) for each in self.tools]]
        given = self.model_dump(exclude={"type", "description", "model", "tools", "hosted_tools"})
        return OpenAIAgent(more["name"], told, client, model, tools=tools, **given)
