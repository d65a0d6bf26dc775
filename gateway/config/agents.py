"""`[teams.NAME.agents.AGENT]`: the agents of a team, in TOML."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal, Self

from pydantic import Discriminator, Field, Tag, model_validator

from gateway.config.agent_parts import (
    AgentToolConfig,
    AnyToolConfig,
    DockerExecutorConfig,
    ExecutorConfig,
    HandoffConfig,
    McpConfig,
    MemoryConfig,
    ModelContextConfig,
)
from gateway.config.table import Section, shorthand, tag_of

DEFAULT_TOOL_ROUNDS = 10


class AssistantConfig(Section):
    """An agent that answers with a model, and may call tools and hand the work over."""

    type: Literal["assistant"] = "assistant"
    """Kind of agent."""

    description: str | None = None
    """What the others know about it."""

    model: str = ""
    """Name of its model in [models]; default_model if not given."""

    system_message: str | None = None
    """What it is told to be and to do. Empty: no system message at all."""

    tools: list[Annotated[AnyToolConfig, shorthand("path")]] = Field(default_factory=list)
    """What it may call: functions, "package.module:function", or tables."""

    workbench: list[str] = Field(default_factory=list)
    """Import paths of workbench classes or factories, called once per thread; excludes `tools`."""

    mcp: list[McpConfig] = Field(default_factory=list)
    """Servers whose tools it may call, too, besides those of `tools` or of `workbench`."""

    handoffs: list[Annotated[HandoffConfig, shorthand("target")]] = Field(default_factory=list)
    """To whom it may pass the work: an agent's name, or a table."""

    model_context: ModelContextConfig | None = None
    """How much of the conversation its model sees; all of it if not given."""

    model_client_stream: bool = True
    """Show the answer while the model writes it."""

    reflect_on_tool_use: bool | None = None
    """After the last tool call, ask the model to put the results into words."""

    max_tool_iterations: int = Field(default=DEFAULT_TOOL_ROUNDS, ge=1)
    """How often the model may call tools, see what they return and go on, in one turn."""

    tool_call_summary_format: str = "{result}"
    """The answer when a turn ends with tool calls, each as a line of this form.

    It may use {tool_name}, {arguments}, {result} and {is_error}.
    """

    tool_call_summary_formatter: str | None = None
    """Import path of a function (call, result) -> text, instead of the format."""

    output_content_type: str | None = None
    """Import path of a pydantic model: the agent answers with an instance of it."""

    output_content_type_format: str | None = None
    """How such an answer reads, with the model's fields in braces."""

    memory: list[Annotated[MemoryConfig, shorthand("path")]] = Field(default_factory=list)
    """What it remembers: import paths of memories, "package.module:Class", or tables."""

    metadata: dict[str, str] = Field(default_factory=dict)
    """Notes for whoever keeps track of agents."""

    @model_validator(mode="after")
    def _tools_or_workbench(self) -> Self:
        if self.tools and self.workbench:
            raise ValueError("an agent takes tools or a workbench, not both")
        return self


class UserProxyConfig(Section):
    """A human in the team: when it is on turn, the people in the thread are asked."""

    type: Literal["user_proxy"]
    """Kind of agent."""

    description: str | None = None
    """What the others know about it."""

    input_func: str | None = None
    """Import path of a function that answers instead of them."""


class CodeExecutorConfig(Section):
    """An agent that runs code: what the others wrote, or with a model what it writes itself. It is
    denied unless [policies.tools] has an `execute_code`.
    """

    type: Literal["code_executor"]
    """Kind of agent."""

    description: str | None = None
    """What the others know about it."""

    executor: ExecutorConfig = DockerExecutorConfig(type="docker")
    """Where the code runs; in a container of the thread's own if not given."""

    model: str | None = None
    """Name of the model in [models] that writes the code; without one it runs what it finds."""

    system_message: str | None = None
    """What its model is told to be and to do. Empty: no system message at all."""

    model_context: ModelContextConfig | None = None
    """How much of the conversation its model sees; all of it if not given."""

    model_client_stream: bool = True
    """Show what the model writes while it writes it."""

    max_retries_on_error: int = Field(default=0, ge=0)
    """How often the model may write anew after a failure; it needs structured output for that."""

    sources: list[str] | None = None
    """Without a model: whose messages may hold code; everybody's if not given."""

    supported_languages: list[str] | None = None
    """The languages of the blocks to run; python and sh if not given."""

    approval_func: str | None = None
    """Import path of a function that is asked before each block, besides the policy."""


class SocietyOfMindConfig(Section):
    """A team that speaks as one agent: it discusses, and a model makes one answer of it."""

    type: Literal["society_of_mind"]
    """Kind of agent."""

    team: str
    """Name of the team inside, another one of the config."""

    description: str | None = None
    """What the others know about it."""

    model: str = ""
    """Name of the model in [models] that makes the answer; default_model if not given."""

    instruction: str | None = None
    """What its model is told before what the team said."""

    response_prompt: str | None = None
    """What its model is told after it."""

    model_context: ModelContextConfig | None = None
    """How much of earlier turns the team is told; everything if not given."""


class SourceFilterConfig(Section):
    """Messages of one agent or user that are let through."""

    source: str
    """Name of the agent or user."""

    position: Literal["first", "last"] | None = None
    """Which end to count from; all if not given."""

    count: int | None = Field(default=None, ge=1)
    """How many; all if not given."""


class MessageFilterConfig(Section):
    """An agent that is shown only some of the messages."""

    type: Literal["message_filter"]
    """Kind of agent."""

    agent: AgentConfig
    """The agent itself, any kind of table as for an agent; its name is that of this one."""

    per_source: list[SourceFilterConfig]
    """What it is shown, in this order, and nothing else: `source`, `position` and `count`."""


AgentConfig = Annotated[
    Annotated[AssistantConfig, Tag("assistant")]
    | Annotated[UserProxyConfig, Tag("user_proxy")]
    | Annotated[CodeExecutorConfig, Tag("code_executor")]
    | Annotated[SocietyOfMindConfig, Tag("society_of_mind")]
    | Annotated[MessageFilterConfig, Tag("message_filter")],
    Discriminator(tag_of("type", "assistant")),
]

MessageFilterConfig.model_rebuild()


def behind_filters(agent: AgentConfig) -> AgentConfig:
    """The agent that speaks in the end."""
    while isinstance(agent, MessageFilterConfig):
        agent = agent.agent
    return agent


def agents_as_tools(agent: AgentConfig) -> Iterator[str]:
    """The names of the agents that it has as tools."""
    speaker = behind_filters(agent)
    if isinstance(speaker, AssistantConfig):
        yield from (tool.agent for tool in speaker.tools if isinstance(tool, AgentToolConfig))
