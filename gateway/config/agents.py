"""`[teams.NAME.agents.AGENT]`: the agents of a team, in TOML."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal, Self

from pydantic import Discriminator, Field, Tag, model_validator

from gateway.config.agent_parts import (
    AnyToolConfig,
    ExecutorConfig,
    HandoffConfig,
    MemoryConfig,
    ModelContextConfig,
)
from gateway.config.mcp import McpEntry, server_name
from teams.kinds import (
    ConfigPath,
    KindsOf,
    Named,
    Section,
    setting_error,
    shorthand,
    tag_of,
    uses_of,
)

DEFAULT_TOOL_ROUNDS = 10


class _Agent(Section):
    description: str | None = None
    """Description for the other agents."""


class AssistantConfig(_Agent):
    """An agent that answers with a model, tools and hand-offs."""

    type: Literal["assistant"] = "assistant"
    """Kind of agent."""

    model: str = ""
    """Name of its model in [models]; default_model if not given."""

    system_message: str | None = None
    """Instructions for the model; an empty text sends no system message."""

    tools: list[Annotated[AnyToolConfig, shorthand("path")]] = Field(default_factory=list)
    """Tools of the agent: functions, "package.module:function", or tables."""

    workbench: list[str] = Field(default_factory=list)
    """Import paths of workbench classes or factories; excludes `tools`.

    Each is called once per thread.
    """

    mcp: list[McpEntry] = Field(default_factory=list)
    """MCP servers whose tools it can call, too: names in [mcp], or tables."""

    handoffs: list[Annotated[HandoffConfig, shorthand("target")]] = Field(default_factory=list)
    """Agents that it may hand over to: names, or tables."""

    model_context: ModelContextConfig | None = None
    """Part of the conversation that its model sees; all if not given."""

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

    tool_call_summary_formatter: str | None = None
    """Import path of a function (call, result) -> text, instead of the format."""

    output_content_type: str | None = None
    """Import path of a pydantic model: the agent answers with an instance of it."""

    output_content_type_format: str | None = None
    """Text of such an answer, with the fields in braces."""

    memory: list[Annotated[MemoryConfig, shorthand("path")]] = Field(default_factory=list)
    """Memories: import paths, "package.module:Class", or tables."""

    knowledge: list[str] = Field(default_factory=list)
    """Names in [knowledge]: before each turn it is shown what is found there."""

    metadata: dict[str, str] = Field(default_factory=dict)
    """Notes about the agent for your own use."""

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


class OpenAIConfig(_Agent):
    """An agent over OpenAI's Responses API, also with tools that run there."""

    type: Literal["openai"]
    """Kind of agent."""

    model: str = ""
    """Name of its model in [models]; default_model if not given.

    Its provider is "openai" or "azure"; its retry, fallback and options are not used.
    """

    instructions: str = ""
    """Instructions for the model."""

    tools: list[Annotated[AnyToolConfig, shorthand("path")]] = Field(default_factory=list)
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

    def hosted_names(self) -> set[str]:
        """Names of the hosted tools' results, without those of MCP servers."""
        kinds = {each if isinstance(each, str) else each.get("type") for each in self.hosted_tools}
        return {str(kind).removesuffix("_preview") for kind in kinds} - {"mcp"}


class UserProxyConfig(_Agent):
    """A human in the team: its turns belong to the people."""

    type: Literal["user_proxy"]
    """Kind of agent."""

    input_func: str | None = None
    """Import path of a function that answers instead of them."""


class CodeExecutorConfig(_Agent):
    """An agent that runs code of other agents or of its model.

    Its code is denied unless [policies.tools] has an `execute_code`.
    """

    type: Literal["code_executor"]
    """Kind of agent."""

    executor: ExecutorConfig = Field(
        default_factory=lambda: KindsOf("executor").table(type="docker")
    )
    """Executor of the code; a container per thread if not given."""

    model: str | None = None
    """Name of the model in [models] that writes the code.

    Without one, the agent runs the code in others' messages.
    """

    system_message: str | None = None
    """Instructions for the model; an empty text sends no system message."""

    model_context: ModelContextConfig | None = None
    """Part of the conversation that its model sees; all if not given."""

    model_client_stream: bool = True
    """Show what the model writes while it writes it."""

    max_retries_on_error: int = Field(default=0, ge=0)
    """Times that the model may rewrite code that failed.

    The model needs structured output for that.
    """

    sources: list[str] | None = None
    """Without a model: authors whose code runs; everybody if not given."""

    supported_languages: list[str] | None = None
    """Languages of code that runs; python and sh if not given."""

    approval_func: str | None = None
    """Import path of a function that approves each block.

    The policy still applies.
    """


class WebSurferConfig(_Agent):
    """An agent that works in a browser.

    It reaches the hosts that [policies.http] allows. Its tools have rules of their own in
    [policies.tools]: `click`, `input_text`, `visit_url`, and so on.
    """

    type: Literal["web_surfer"]
    """Kind of agent."""

    model: str = ""
    """Name of its model in [models]; default_model if not given."""

    start_page: str = Field(default="https://www.bing.com/", pattern=r"^https?://[^/\s]")
    """First page that it opens."""

    headless: bool = True
    """Show no window."""

    browser_channel: str | None = None
    """Name of an installed browser, such as "chrome".

    If not given, the program in PARLEY_CHROMIUM, Playwright's own, or `chromium`.
    """

    screenshots: bool = True
    """Put a picture of the page, after each of its turns, into the thread's work folder."""


class SocietyOfMindConfig(_Agent):
    """A team that speaks as one agent.

    The team discusses, and a model turns the discussion into one answer.
    """

    type: Literal["society_of_mind"]
    """Kind of agent."""

    team: Annotated[str, Named("teams")]
    """Name of the inner team, which is another one in [teams]."""

    model: str = ""
    """Name of the model in [models] that answers; default_model if not given."""

    instruction: str | None = None
    """Instruction for the model, before the team's discussion."""

    response_prompt: str | None = None
    """Instruction for the model, after the team's discussion."""

    model_context: ModelContextConfig | None = None
    """Part of earlier turns that the team sees; all if not given."""


class FileSurferConfig(_Agent):
    """An agent that looks into files; needs the extra `file-surfer`."""

    type: Literal["file_surfer"]
    """Kind of agent."""

    model: str = ""
    """Name of its model in [models]; default_model if not given."""

    folder: ConfigPath | None = None
    """Folder that it never leaves; the thread's own folder if not given."""


class CoderConfig(Section):
    """Magentic-One's programmer, whose code a `code_executor` runs."""

    type: Literal["coder"]
    """Kind of agent."""

    model: str = ""
    """Name of its model in [models]; default_model if not given."""


class SourceFilterConfig(Section):
    """Messages of one agent or user that are let through."""

    source: str
    """Name of the agent or user."""

    position: Literal["first", "last"] | None = None
    """End to count from; all messages if not given."""

    count: int | None = Field(default=None, ge=1)
    """Number of messages; all if not given."""


class MessageFilterConfig(Section):
    """An agent that is shown only some of the messages."""

    type: Literal["message_filter"]
    """Kind of agent."""

    agent: AgentConfig
    """Table of the agent that is filtered, of any kind.

    It has the name of this one.
    """

    per_source: list[SourceFilterConfig]
    """Messages that it sees, in this order, and no others."""


AgentConfig = Annotated[
    Annotated[AssistantConfig, Tag("assistant")]
    | Annotated[OpenAIConfig, Tag("openai")]
    | Annotated[UserProxyConfig, Tag("user_proxy")]
    | Annotated[CodeExecutorConfig, Tag("code_executor")]
    | Annotated[SocietyOfMindConfig, Tag("society_of_mind")]
    | Annotated[FileSurferConfig, Tag("file_surfer")]
    | Annotated[CoderConfig, Tag("coder")]
    | Annotated[WebSurferConfig, Tag("web_surfer")]
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
    if isinstance(speaker, AssistantConfig | OpenAIConfig):
        named = (use for tool in speaker.tools for use in uses_of(tool))
        yield from (use.value for use in named if use.meaning == Named("agents"))
