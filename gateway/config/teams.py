"""`[teams.NAME]`: teams in TOML, from a component file, or from Python."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import Discriminator, Field, Tag, field_validator, model_validator

from gateway.config.agent_parts import ModelContextConfig
from gateway.config.agents import AgentConfig, agents_as_tools
from gateway.config.expressions import parse
from gateway.config.table import ConfigPath, Section, setting_error, tag_by, template


class GroupTeam(Section):
    """What the team types that are written in TOML have in common."""

    description: str = ""
    """What the team is for, as lists and the team around it show it."""

    agents: dict[str, AgentConfig] = Field(default_factory=dict)
    """The agents, each as [teams.NAME.agents.AGENT]; names are letters, digits and underscores."""

    participants: list[str] = Field(default_factory=list)
    """Who takes part, in this order: agents of this team, or names of other teams. If not given,
    all agents in the order they are written, but those that others have as tools.
    """

    termination: str | None = None
    """When a run ends, such as "TextMention('DONE') | MaxMessage(30)"."""

    max_turns: int | None = Field(default=None, ge=1)
    """How many agents' turns a run may take."""

    custom_message_types: list[str] = Field(default_factory=list)
    """Import paths of message types of your own that participants produce."""

    @field_validator("agents")
    @classmethod
    def _identifiers(cls, agents: dict[str, AgentConfig]) -> dict[str, AgentConfig]:
        for name in agents:
            if not name.isidentifier():
                raise setting_error(name, "an agent's name is letters, digits and underscores")
        return agents

    @field_validator("termination")
    @classmethod
    def _parsable(cls, text: str | None) -> str | None:
        if text is not None:
            parse(text)
        return text

    @model_validator(mode="after")
    def _somebody(self) -> Self:
        if not self.agents and not self.participants:
            raise setting_error(
                "agents", "is missing: a team needs agents, or teams as participants"
            )
        return self

    @cached_property
    def members(self) -> list[str]:
        """Who takes part, in order."""
        tools = {name for agent in self.agents.values() for name in agents_as_tools(agent)}
        return self.participants or [name for name in self.agents if name not in tools]


class _AnnouncingTeam(GroupTeam):
    emit_team_events: bool = False
    """Also report who was selected to speak."""


class RoundRobinTeam(_AnnouncingTeam):
    """Everybody speaks in turn."""

    type: Literal["round_robin"]
    """Kind of team."""


class SwarmTeam(_AnnouncingTeam):
    """Whoever has the work keeps it until handing it over; the first participant begins."""

    type: Literal["swarm"]
    """Kind of team."""


class SelectorTeam(_AnnouncingTeam):
    """A model, or a function, chooses who speaks next."""

    type: Literal["selector"]
    """Kind of team."""

    model: str = ""
    """Name of the model in [models] that chooses; default_model if not given."""

    selector_prompt: Annotated[str, template("roles", "participants", "history")] | None = None
    """What the model is asked, with the fields {roles}, {participants} and {history}."""

    allow_repeated_speaker: bool = False
    """Whoever spoke last may speak again."""

    max_selector_attempts: int = Field(default=3, ge=1)
    """How often the model is asked until it names exactly one participant."""

    selector_func: str | None = None
    """Import path of a function that gets the messages and returns who speaks; where it returns
    None, the model chooses. It may be async.
    """

    candidate_func: str | None = None
    """Import path of a function that gets the messages and returns the names to choose from."""

    model_client_streaming: bool = False
    """Stream the choice; with `emit_team_events` people see it."""

    model_context: ModelContextConfig | None = None
    """How much of the conversation the model sees; all of it if not given."""


class GraphEdge(Section):
    """A way from one node to the next. Edges with the same target and `activation_group` belong
    together.
    """

    source: str
    """The participant who has spoken."""

    target: str
    """The participant who may speak then."""

    condition: str | None = None
    """It is taken only if the source's message contains this text."""

    condition_function: str | None = None
    """Import path of a function that gets the message and says whether it is taken."""

    activation_group: str | None = None
    """Name of its group; the target's name if not given."""

    activation_condition: Literal["all", "any"] = "all"
    """How many edges of the group must be taken before the target speaks."""

    @model_validator(mode="after")
    def _one_condition(self) -> Self:
        if self.condition is not None and self.condition_function is not None:
            raise ValueError("an edge takes a condition or a condition_function, not both")
        return self


class GraphNode(Section):
    """What is special about a participant of a graph."""

    activation: Literal["all", "any"] = "all"
    """Whether all edges of each group that leads here must be taken, or any one of them ("any":
    whatever the edges say).
    """


class GraphTeam(GroupTeam):
    """Agents speak along the edges of a graph, side by side where they can. Every participant is a
    node.
    """

    type: Literal["graph"]
    """Kind of team."""

    edges: list[GraphEdge] = Field(default_factory=list)
    """Who may speak after whom, each as [[teams.NAME.edges]]."""

    nodes: dict[str, GraphNode] = Field(default_factory=dict)
    """Participants with settings of their own, each as [teams.NAME.nodes.PARTICIPANT]."""

    default_start_node: str | None = None
    """Where a run begins; wherever no edge leads if not given."""


class MagenticOneTeam(_AnnouncingTeam):
    """An orchestrator plans, keeps account of the progress, and tells the agents what to do."""

    type: Literal["magentic_one"]
    """Kind of team."""

    max_turns: int | None = Field(default=20, ge=1)
    """How many agents' turns a run may take."""

    model: str = ""
    """Name of the orchestrator's model in [models]; default_model if not given."""

    max_stalls: int = Field(default=3, ge=1)
    """After how many turns without progress it plans anew."""

    final_answer_prompt: Annotated[str, template("task")] | None = None
    """What its model is asked for the final answer, with the field {task}."""


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


AnyGroup = RoundRobinTeam | SwarmTeam | SelectorTeam | GraphTeam | MagenticOneTeam
"""The teams that are written in TOML."""

TeamConfig = Annotated[
    Annotated[RoundRobinTeam, Tag("round_robin")]
    | Annotated[SwarmTeam, Tag("swarm")]
    | Annotated[SelectorTeam, Tag("selector")]
    | Annotated[GraphTeam, Tag("graph")]
    | Annotated[MagenticOneTeam, Tag("magentic_one")]
    | Annotated[DemoTeam, Tag("demo")]
    | Annotated[ComponentTeam, Tag("component")]
    | Annotated[FactoryTeam, Tag("factory")],
    Discriminator(tag_by("component", "factory", or_type=True)),
]
