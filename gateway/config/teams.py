"""`[teams.NAME]`: teams and their agents, in TOML, from a component file, or from Python."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Discriminator, Field, Tag, field_validator, model_validator
from pydantic_core import PydanticCustomError

from gateway.config.section import ConfigPath, Section, shorthand, tag_of
from gateway.expressions import parse

DEFAULT_TOOL_ROUNDS = 10


class ToolConfig(Section):
    """A tool made from a Python function. `"package.module:function"` is short for its `path`."""

    path: str
    """Import path of a function, or of a tool class, "package.module:name"."""

    name: str | None = None
    """What the model calls it; the function's own name if not given."""

    description: str | None = None
    """What the model reads about it; the function's docstring if not given."""

    strict: bool = False
    """Ask the model to keep exactly to the arguments' schema (no defaults allowed then)."""


class HandoffConfig(Section):
    """A way to pass the work on. `"other"` is short for its `target`."""

    target: str
    """Name of the agent that takes over, or of whom the termination waits for, such as "user"."""

    name: str | None = None
    """Name of the tool that the model calls; transfer_to_TARGET if not given."""

    description: str | None = None
    """What the model reads about it."""

    message: str | None = None
    """What the next agent is told."""


class UnboundedContextConfig(Section):
    """The model sees the whole conversation."""

    type: Literal["unbounded"]
    """Kind of context."""


class BufferedContextConfig(Section):
    """The model sees the last messages."""

    type: Literal["buffered"]
    """Kind of context."""

    buffer_size: int = Field(gt=0)
    """How many messages it sees."""


ModelContextConfig = Annotated[
    Annotated[UnboundedContextConfig, Tag("unbounded")]
    | Annotated[BufferedContextConfig, Tag("buffered")],
    Discriminator(tag_of("type")),
]


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

    tools: list[Annotated[ToolConfig, shorthand("path")]] = Field(default_factory=list)
    """Functions it may call: "package.module:function", or a table."""

    workbench: list[str] = Field(default_factory=list)
    """Import paths of workbench classes or factories, called once per thread; excludes `tools`."""

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

    memory: list[str] = Field(default_factory=list)
    """Import paths of memory classes or factories, called once per thread."""

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


AgentConfig = Annotated[
    Annotated[AssistantConfig, Tag("assistant")] | Annotated[UserProxyConfig, Tag("user_proxy")],
    Discriminator(tag_of("type", "assistant")),
]


class GroupTeam(Section):
    """What the team types that are written in TOML have in common."""

    description: str = ""
    """What the team is for, as lists show it."""

    agents: dict[str, AgentConfig] = Field(min_length=1)
    """The agents, each as [teams.NAME.agents.AGENT]; names are letters, digits and underscores."""

    participants: list[str] = Field(default_factory=list)
    """Who takes part, in this order; all agents in the order they are written if not given."""

    termination: str | None = None
    """When a run ends, such as "TextMention('DONE') | MaxMessage(30)"."""

    max_turns: int | None = Field(default=None, ge=1)
    """How many agents' turns a run may take."""

    emit_team_events: bool = False
    """Also report who was selected to speak."""

    @field_validator("agents")
    @classmethod
    def _identifiers(cls, agents: dict[str, AgentConfig]) -> dict[str, AgentConfig]:
        for name in agents:
            if not name.isidentifier():
                raise PydanticCustomError(
                    "setting",
                    "{problem}",
                    {"key": name, "problem": "an agent's name is letters, digits and underscores"},
                )
        return agents

    @field_validator("termination")
    @classmethod
    def _parsable(cls, text: str | None) -> str | None:
        if text is not None:
            parse(text)
        return text

    @property
    def members(self) -> list[str]:
        """Who takes part, in order."""
        return self.participants or list(self.agents)


class RoundRobinTeam(GroupTeam):
    """Everybody speaks in turn."""

    type: Literal["round_robin"]
    """Kind of team."""


class SwarmTeam(GroupTeam):
    """Whoever has the work keeps it until handing it over; the first participant begins."""

    type: Literal["swarm"]
    """Kind of team."""


class DemoTeam(Section):
    """The built-in demo team."""

    type: Literal["demo"]
    """Kind of team."""

    model: str = ""
    """Name of its model in [models]; default_model if not given."""


class ComponentTeam(Section):
    """A team from a component file, as AutoGen Studio and `dump_component()` write them."""

    component: ConfigPath
    """The JSON file."""

    description: str = ""
    """What the team is for; the component's own description if not given."""

    tool_overrides: dict[str, str] = Field(default_factory=dict)
    """Tool name to import path, for tools that carry source code: that is never executed."""

    trusted_modules: list[str] = Field(default_factory=list)
    """Module prefixes, such as "my_package", that the file may load components from."""


class FactoryTeam(Section):
    """A team from Python: the function is called for each thread and returns a new team."""

    factory: str
    """Import path of the function; it may be async.

    A parameter `model_client` gets the model, a parameter `workdir` the thread's own folder.
    """

    description: str = ""
    """What the team is for, as lists show it."""

    model: str = ""
    """Name of the model for the function in [models]; default_model if not given."""

    options: dict[str, Any] = Field(default_factory=dict)
    """Further arguments for the function."""


def _team_tag(value: Any) -> str | None:
    match value:
        case {"component": _} | ComponentTeam():
            return "component"
        case {"factory": _} | FactoryTeam():
            return "factory"
        case _:
            return tag_of("type")(value)


TeamConfig = Annotated[
    Annotated[RoundRobinTeam, Tag("round_robin")]
    | Annotated[SwarmTeam, Tag("swarm")]
    | Annotated[DemoTeam, Tag("demo")]
    | Annotated[ComponentTeam, Tag("component")]
    | Annotated[FactoryTeam, Tag("factory")],
    Discriminator(_team_tag),
]
