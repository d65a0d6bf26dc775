"""`[teams.NAME]`: teams in TOML, from a component file, or from Python."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Discriminator, Field, Tag, field_validator, model_validator
from typing_extensions import override

from gateway.config.agent_parts import (
    InstructedTeam,
    ModelContextConfig,
    TeamMemoryConfig,
    named_agents,
)
from gateway.config.agents import AgentConfig, agents_as_tools
from gateway.config.allowances import AllowanceConfig
from gateway.config.conversable import ConversableTeam
from gateway.config.expressions import parse
from gateway.config.table import template
from teams.agents.kinds import HandoffConfig
from teams.kinds import (
    ConfigPath,
    Given,
    ImportPath,
    Kind,
    Maker,
    Model,
    Part,
    PythonOnly,
    Section,
    SummarisingPart,
    setting_error,
    tables_in,
    tag_by,
)


class GroupTeam(Part, InstructedTeam):
    """Settings that all team types in TOML share."""

    description: str = ""
    """Purpose of the team, for lists and for a team around it."""

    agents: Annotated[dict[str, AgentConfig], named_agents, Given(None)] = Field(
        default_factory=dict
    )
    """Agents, each as [teams.NAME.agents.AGENT].

    Names are letters, digits and underscores.
    """

    participants: Annotated[list[str], Given(None)] = Field(default_factory=list)
    """Participants in order: agents of this team, or other teams.

    If not given, all agents in their order in the file, except those that are tools of others.
    """

    termination: Annotated[str | None, Given(None)] = None
    """End of a run, such as "TextMention('DONE') | MaxMessage(30)"."""

    max_turns: int | None = Field(default=None, ge=1)
    """Agents' turns that a run may take."""

    memory: Annotated[TeamMemoryConfig | None, PythonOnly(), Given(None)] = None
    """Memory of its assistants beyond a thread, as [teams.NAME.memory]."""

    custom_message_types: Annotated[list[str], PythonOnly(), Given(None)] = Field(
        default_factory=list
    )
    """Import paths of message types of your own that participants produce."""

    @field_validator("termination")
    @classmethod
    def _check_termination(cls, text: str | None) -> str | None:
        if text is not None:
            parse(text)
        return text

    @model_validator(mode="after")
    def _check_members(self) -> Self:
        if not self.agents and not self.participants:
            raise setting_error(
                "agents", "is missing: a team needs agents, or teams as participants"
            )
        return self

    @property
    def ending(self) -> str | None:
        """The expression that ends a run; None if only `max_turns` does."""
        return self.termination or (self.usual_ending() if self.max_turns is None else None)

    def usual_ending(self) -> str | None:
        """The end of a run that has no other one."""
        return None

    def usual_turns(self) -> int | None:
        """The turns of a run that has no other end."""
        return None

    @cached_property
    def members(self) -> list[str]:
        """Names of the participants, in order."""
        tools = {name for agent in self.agents.values() for name in agents_as_tools(agent)}
        return self.participants or [name for name in self.agents if name not in tools]


class _AnnouncingTeam(GroupTeam):
    emit_team_events: bool = False
    """Also report who was selected to speak."""


class RoundRobinTeam(_AnnouncingTeam):
    """Everybody speaks in turn.

    Without `termination` and `max_turns` a run ends after one round.
    """

    kind: ClassVar = Kind("team", "round_robin", "teams:RoundRobinGroupChat")

    type: Literal["round_robin"]
    """Kind of team."""

    @override
    def usual_turns(self) -> int:
        return len(self.members)  # one round


class SwarmTeam(_AnnouncingTeam):
    """Agents hand the work over; the first participant begins.

    Without `termination` and `max_turns` a run ends at a hand-off to a "user" who is no
    participant. It also ends when an agent answers without a hand-off, and at 40 messages.
    """

    kind: ClassVar = Kind("team", "swarm", "teams:Swarm")

    type: Literal["swarm"]
    """Kind of team."""

    @override
    def usual_ending(self) -> str:
        people = [name for name, each in self.agents.items() if each.kind.name == "user_proxy"]
        texts = [f"TextMessage('{name}')" for name in self.members if name not in people]
        handoffs = [each for _, each in tables_in(self.agents) if isinstance(each, HandoffConfig)]
        targets = {each.target for each in handoffs} - {*self.members}
        asks = ["Handoff('user')"] if "user" in targets else []
        return " | ".join([*asks, *texts, "MaxMessage(40)"])


class SelectorTeam(_AnnouncingTeam):
    """A model, or a function, chooses who speaks next.

    Without `termination` and `max_turns` a run ends at ten messages.
    """

    kind: ClassVar = Kind("team", "selector", "teams:SelectorGroupChat")

    type: Literal["selector"]
    """Kind of team."""

    model: Model = ""
    """Name of the choosing model in [models]; default_model if not given."""

    selector_prompt: Annotated[str, template("roles", "participants", "history")] | None = None
    """Prompt for the model.

    Its fields are {roles}, {participants} and {history}.
    """

    allow_repeated_speaker: bool = False
    """The last speaker may speak again."""

    max_selector_attempts: int = Field(default=3, ge=1)
    """Times that the model is asked for exactly one participant."""

    selector_func: Annotated[str | None, ImportPath(), PythonOnly()] = None
    """Import path of a function that chooses the speaker.

    It gets the messages; if it returns None, the model chooses. It may be async.
    """

    candidate_func: Annotated[str | None, ImportPath(), PythonOnly()] = None
    """Import path of a function that returns the candidates.

    It gets the messages.
    """

    model_client_streaming: bool = False
    """Stream the choice; with `emit_team_events` people see it."""

    model_context: ModelContextConfig | None = None
    """Part of the conversation that the model sees; `auto` if not given."""

    @override
    async def arguments(self, maker: Maker) -> dict[str, Any]:
        bare = self.model_copy(update={"model_context": None})
        given = await super(SelectorTeam, bare).arguments(maker)
        return given | {"model_context": await maker.context(self.model_context, model=self.model)}

    @override
    def usual_ending(self) -> str:
        return "MaxMessage(10)"


class GraphEdge(Section):
    """A way from one node to the next.

    Edges with the same target and `activation_group` belong together.
    """

    source: str
    """The participant who has spoken."""

    target: str
    """The participant who may speak then."""

    condition: str | None = None
    """Text that the source's message must contain."""

    condition_function: Annotated[str | None, PythonOnly()] = None
    """Import path of a function that decides.

    It gets the message and returns true if the edge is taken.
    """

    activation_group: str | None = None
    """Name of its group; the target's name if not given."""

    activation_condition: Literal["all", "any"] = "all"
    """Edges of the group that must be taken before the target speaks."""

    @model_validator(mode="after")
    def _check_conditions(self) -> Self:
        if self.condition is not None and self.condition_function is not None:
            raise ValueError("found a condition and a condition_function, expected one of the two")
        return self


class GraphNode(Section):
    """Settings of a participant of a graph."""

    activation: Literal["all", "any"] = "all"
    """Edges that must be taken before it speaks.

    "all" edges of each group that leads here, or "any" one of them, whatever the edges say.
    """


class GraphTeam(GroupTeam):
    """Agents speak along the edges of a graph, in parallel if possible.

    Every participant is a node.
    """

    kind: ClassVar = Kind("team", "graph", "teams:GraphFlow")

    type: Literal["graph"]
    """Kind of team."""

    edges: Annotated[list[GraphEdge], Given(None)] = Field(default_factory=list)
    """Ways between participants, each as [[teams.NAME.edges]]."""

    nodes: Annotated[dict[str, GraphNode], Given(None)] = Field(default_factory=dict)
    """Settings of participants, each as [teams.NAME.nodes.PARTICIPANT]."""

    default_start_node: Annotated[str | None, Given(None)] = None
    """First participant; if not given, those that no edge leads to."""


class MagenticOneTeam(SummarisingPart, _AnnouncingTeam):
    """An orchestrator plans, follows the progress, and directs the agents."""

    kind: ClassVar = Kind("team", "magentic_one", "teams:MagenticOneGroupChat")

    type: Literal["magentic_one"]
    """Kind of team."""

    max_turns: int | None = Field(default=20, ge=1)
    """Agents' turns that a run may take."""

    model: Model = ""
    """Name of the orchestrator's model in [models]; default_model if not given."""

    max_stalls: int = Field(default=3, ge=1)
    """Turns without progress after which it makes a new plan."""

    final_answer_prompt: Annotated[str, template("task")] | None = None
    """Prompt for the final answer, with the field {task}."""


class DemoTeam(InstructedTeam):
    """The built-in demo team."""

    type: Literal["demo"]
    """Kind of team."""

    model: str = ""
    """Name of its model in [models]; default_model if not given."""


class ComponentTeam(InstructedTeam):
    """A team from a file of AutoGen Studio or `dump_component()`."""

    component: ConfigPath
    """The JSON file."""

    description: str = ""
    """Purpose of the team; the component's own description if not given."""

    tool_overrides: dict[str, str] = Field(default_factory=dict)
    """Import paths of functions for tools that carry source code.

    Keys are the tools' names. Source code in the file is never executed.
    """

    trusted_modules: list[str] = Field(default_factory=list)
    """Prefixes of modules that it may load, such as "my_package"."""

    allow: list[AllowanceConfig] = Field(default_factory=list)
    """Powers that the file may use: each a table.

    Without an entry here it starts no process, reaches no server, mounts no folder and reads no
    secret. `parley check` lists all that the file wants.
    """


class FactoryTeam(InstructedTeam):
    """A team from a Python function.

    It is called for each thread and returns a new team.
    """

    factory: str
    """Import path of the function; it may be async.

    A parameter `model_client` gets the model, a parameter `workdir` the thread's own folder.
    """

    description: str = ""
    """Purpose of the team, for lists."""

    model: str = ""
    """Name of the model for the function in [models]; default_model if not given."""

    options: dict[str, Any] = Field(default_factory=dict)
    """Further arguments for the function."""


TEAMS: list[type[GroupTeam]] = [
    RoundRobinTeam,
    SwarmTeam,
    SelectorTeam,
    GraphTeam,
    MagenticOneTeam,
]
AnyGroup = RoundRobinTeam | SwarmTeam | SelectorTeam | GraphTeam | MagenticOneTeam
"""The teams that are written in TOML."""

TeamConfig = Annotated[
    Annotated[RoundRobinTeam, Tag("round_robin")]
    | Annotated[SwarmTeam, Tag("swarm")]
    | Annotated[SelectorTeam, Tag("selector")]
    | Annotated[GraphTeam, Tag("graph")]
    | Annotated[MagenticOneTeam, Tag("magentic_one")]
    | Annotated[ConversableTeam, Tag("conversable")]
    | Annotated[DemoTeam, Tag("demo")]
    | Annotated[ComponentTeam, Tag("component")]
    | Annotated[FactoryTeam, Tag("factory")],
    Discriminator(tag_by("component", "factory", or_type=True)),
]
