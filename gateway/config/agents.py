"""`[teams.NAME.agents.AGENT]`: the agents of a team, in TOML."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias, TypeVar

from pydantic import Field, model_validator
from typing_extensions import override

from gateway.config.agent_parts import AnyToolConfig, MemoryConfig, ModelContextConfig
from gateway.config.mcp import McpEntry, server_name
from teams.agents.kinds import HandoffConfig
from teams.kinds import (
    KINDS,
    Agent,
    Declared,
    DescribedAgent,
    EmptyIsNone,
    Given,
    ImportPath,
    Kind,
    KindsOf,
    Maker,
    Model,
    Named,
    PythonOnly,
    Tool,
    setting_error,
    shorthand,
    uses_of,
)

DEFAULT_TOOL_ROUNDS = 10

T = TypeVar("T")
_Given = Annotated[T, Given(None)]
"""A setting whose argument the gateway makes."""

AgentConfig: TypeAlias = Annotated[Agent, KindsOf("agent", otherwise="assistant")]


class AssistantConfig(DescribedAgent):
    """An agent that answers with a model, tools and hand-offs."""

    kind: ClassVar = Kind("agent", "assistant", "teams.agents:AssistantAgent")

    type: Literal["assistant"] = "assistant"
    """Kind of agent."""

    model: Model = ""
    """Name of its model in [models]; default_model if not given."""

    system_message: Annotated[str | None, EmptyIsNone()] = None
    """Instructions for the model; an empty text sends no system message.

    If not given, some for chats; where the team's termination names TERMINATE, AutoGen's own, which
    ask for that word.
    """

    tools: _Given[list[Annotated[AnyToolConfig, shorthand("path")]]] = Field(default_factory=list)
    """Tools of the agent: functions, "package.module:function", or tables."""

    workbench: _Given[list[Annotated[str, ImportPath()]]] = Field(default_factory=list)
    """Import paths of workbench classes or factories; excludes `tools`.

    Each is called once per thread.
    """

    mcp: _Given[list[McpEntry]] = Field(default_factory=list)
    """MCP servers whose tools it can call, too: names in [mcp], or tables."""

    handoffs: list[Annotated[HandoffConfig, shorthand("target")]] = Field(default_factory=list)
    """Agents that it may hand over to: names, or tables."""

    model_context: _Given[ModelContextConfig | None] = None
    """Part of the conversation that its model sees; `auto` if not given."""

    model_client_stream: bool = True
    """Show the answer while the model writes it."""

    reflect_on_tool_use: bool | None = None
    """After the last tool call, ask the model to put the results into words."""

    max_tool_iterations: int = Field(default=DEFAULT_TOOL_ROUNDS, ge=1)
    """Rounds of tool calls that the model may make in one turn."""

    tool_call_summary_format: str = "{result}"
    """The answer when a turn ends with tool calls, each as a line of this form.

    It may use {tool_name}, {arguments}, {result} and {is_error}.
    """

    tool_call_summary_formatter: Annotated[str | None, ImportPath(), PythonOnly()] = None
    """Import path of a function (call, result) -> text, instead of the format."""

    output_content_type: Annotated[str | None, ImportPath(), Given(None)] = None
    """Import path of a pydantic model: the agent answers with an instance of it."""

    output_content_type_format: str | None = None
    """Text of such an answer, with the fields in braces."""

    memory: _Given[list[Annotated[MemoryConfig, shorthand("path")]]] = Field(default_factory=list)
    """Memories: import paths, "package.module:Class", or tables."""

    knowledge: _Given[list[Annotated[str, Named("knowledge")]]] = Field(default_factory=list)
    """Names in [knowledge]: before each turn it is shown what is found there."""

    metadata: dict[str, str] = Field(default_factory=dict)
    """Notes about the agent for your own use."""

    @override
    def called(self) -> Sequence[Tool] | None:
        return None if self.workbench else self.tools

    @override
    async def build(self, maker: Maker, **more: Any) -> Any:
        return await maker.make(self, **more)

    @model_validator(mode="after")
    def _check_tools(self) -> Self:
        if self.tools and self.workbench:
            raise ValueError("found tools and a workbench, expected one of the two")
        names = [server_name(each) for each in self.mcp]
        if repeated := sorted({name for name in names if names.count(name) > 1}):
            raise setting_error(
                "mcp",
                f"found two servers named {repeated[0]!r}, expected a name for each, by which "
                "[policies.tools] tells their tools apart",
            )
        return self


KINDS["agent"] = {
    "assistant": Declared("gateway.config.agents:AssistantConfig", "AssistantAgent"),
    **KINDS["agent"],
}


def agents_as_tools(agent: Agent) -> Iterator[str]:
    """The names of the agents that it has as tools."""
    yield from (use.value for use in uses_of(agent) if use.meaning == Named("agents"))
