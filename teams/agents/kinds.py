"""Agents as tables of config.toml."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field
from typing_extensions import override

from teams._base.kind_family import KindsOf
from teams._base.kinds import (
    Agent,
    DescribedAgent,
    Item,
    Kind,
    Maker,
    Model,
    Part,
    SummarisingPart,
)
from teams._base.meanings import EmptyIsNone, Given, ImportPath, Named, PythonOnly
from teams._base.tables import shorthand


class UserProxyKind(DescribedAgent):
    """A human in the team: its turns belong to the people."""

    kind: ClassVar = Kind("agent", "user_proxy", "teams.agents:UserProxyAgent")

    type: Literal["user_proxy"]
    """Kind of agent."""

    input_func: Annotated[str | None, ImportPath(), PythonOnly()] = None
    """Import path of a function that answers instead of them."""


class CodeExecutorKind(DescribedAgent):
    """An agent that runs code of other agents or of its model.

    Its code is denied unless [policies.tools] has an `execute_code`.
    """

    kind: ClassVar = Kind("agent", "code_executor", "teams.agents:CodeExecutorAgent")

    type: Literal["code_executor"]
    """Kind of agent."""

    executor: Annotated[Part, KindsOf("executor"), Given("code_executor")] = Field(
        default_factory=lambda: KindsOf("executor").table(type="docker")
    )
    """Executor of the code; a container per thread if not given."""

    model: Annotated[str | None, Named("models"), Given("model_client")] = None
    """Name of the model in [models] that writes the code.

    Without one, the agent runs the code in others' messages.
    """

    system_message: Annotated[str | None, EmptyIsNone()] = None
    """Instructions for the model; an empty text sends no system message."""

    model_context: Annotated[Part | None, KindsOf("context"), shorthand("type")] = None
    """Part of the conversation that its model sees; `auto` if not given."""

    model_client_stream: bool = True
    """Show what the model writes while it writes it."""

    max_retries_on_error: int = Field(default=0, ge=0)
    """Times that the model may rewrite code that failed.

    The model needs structured output for that.
    """

    sources: list[Annotated[str, Named("speakers")]] | None = None
    """Without a model: authors whose code runs; everybody if not given."""

    supported_languages: list[str] | None = None
    """Languages of code that runs; python and sh if not given."""

    approval_func: Annotated[str | None, ImportPath()] = None
    """Import path of a function that approves each block.

    The policy still applies.
    """

    @override
    async def arguments(self, maker: Maker) -> dict[str, Any]:
        bare = self.model_copy(update={"model_context": None})
        given = await super(CodeExecutorKind, bare).arguments(maker)
        if self.model is not None or self.model_context is not None:
            given["model_context"] = await maker.context(self.model_context, model=self.model)
        return given


class SocietyOfMindKind(DescribedAgent):
    """A team that speaks as one agent.

    The team discusses, and a model turns the discussion into one answer.
    """

    kind: ClassVar = Kind("agent", "society_of_mind", "teams.agents:SocietyOfMindAgent")

    type: Literal["society_of_mind"]
    """Kind of agent."""

    team: Annotated[str, Named("teams")]
    """Name of the inner team, which is another one in [teams]."""

    model: Model = ""
    """Name of the model in [models] that answers; default_model if not given."""

    instruction: str | None = None
    """Instruction for the model, before the team's discussion."""

    response_prompt: str | None = None
    """Instruction for the model, after the team's discussion."""

    model_context: Annotated[Part | None, KindsOf("context"), shorthand("type")] = None
    """Part of earlier turns that the team sees; all if not given."""


class CoderKind(SummarisingPart, Agent):
    """Magentic-One's programmer, whose code a `code_executor` runs."""

    kind: ClassVar = Kind(
        "agent", "coder", "teams.agents.magentic_one:MagenticOneCoderAgent", unread=None
    )

    type: Literal["coder"]
    """Kind of agent."""

    model: Model = ""
    """Name of its model in [models]; default_model if not given."""

    @override
    async def arguments(self, maker: Maker) -> dict[str, Any]:
        return await super().arguments(maker) | {"model_client_stream": True}


class HandoffConfig(Item):
    """A hand-off to another agent.

    `"other"` is short for its `target`.
    """

    made_by: ClassVar = "teams.base:Handoff"

    target: Annotated[str, Named("handoffs")]
    """Name of the agent that takes over.

    It can also be somebody that the termination waits for, such as "user".
    """

    name: str | None = None
    """Name of the model's tool; transfer_to_TARGET if not given."""

    description: str | None = None
    """Description of the tool for the model."""

    message: str | None = None
    """Message to the next agent."""

    @property
    def tool(self) -> str:
        """Name of the tool that its model calls. Raises ValueError."""
        from teams.agents._handoff import Handoff  # the engine's

        return Handoff(**self.model_dump(exclude_none=True)).name


class SourceFilter(Item):
    """Messages of one agent or user that are let through."""

    made_by: ClassVar = "teams.agents:PerSourceFilter"

    source: Annotated[str, Named("speakers")]
    """Name of the agent or user."""

    position: Literal["first", "last"] | None = None
    """End to count from; all messages if not given."""

    count: int | None = Field(default=None, ge=1)
    """Number of messages; all if not given."""


class MessageFilterKind(Agent):
    """An agent that is shown only some of the messages."""

    kind: ClassVar = Kind("agent", "message_filter", "teams.agents:MessageFilterAgent")

    type: Literal["message_filter"]
    """Kind of agent."""

    agent: Annotated[Agent, KindsOf("agent", "assistant"), Given("wrapped_agent")]
    """Table of the agent that is filtered, of any kind.

    It has the name of this one.
    """

    per_source: list[SourceFilter]
    """Messages that it sees, in this order, and no others."""

    @property
    @override
    def speaker(self) -> Agent:
        return self.agent.speaker

    @override
    async def build(self, maker: Maker, **more: Any) -> Any:
        from teams.agents._message_filter import MessageFilterAgent, MessageFilterConfig

        rules = MessageFilterConfig(per_source=[await e.build(maker) for e in self.per_source])
        return MessageFilterAgent(more["name"], await self.agent.build(maker, **more), rules)
