"""`type = "conversable"`: two agents that chat, queues of chats, nested chats."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias, TypeVar

from pydantic import Discriminator, Field, Tag, field_validator, model_validator
from typing_extensions import override

from gateway.config.agent_parts import ExecutorConfig, InstructedTeam, named_agents
from teams.kinds import (
    Agent,
    Always,
    Chatter,
    Given,
    Item,
    Kind,
    KindsOf,
    Maker,
    Named,
    Section,
    TextOrPath,
    Tool,
    is_import_path,
    setting_error,
    shorthand,
    tag_of,
)

PERSON = "user"
"""The agent that stands for the person in the thread, unless the team has its own."""

HumanInput: TypeAlias = Literal["ALWAYS", "TERMINATE", "NEVER"]
T = TypeVar("T")
_Preset = Annotated[T, Given(None)]
_Model: TypeAlias = Annotated[str | None, Named("models"), Given(None)]
_Tool = Annotated[Tool, KindsOf("tool", only=("path", "http")), shorthand("path")]

_OF_A_CHAT = ("starter", "max_turns", "summary_method", "summary_args")


class _Talk(Item):
    max_turns: Annotated[int | None, Always()] = Field(default=None, ge=1)
    """Turns of both agents, after which the chat ends."""

    summary_method: Annotated[str, TextOrPath()] = "last_msg"
    """The way to its summary: "last_msg", "reflection_with_llm", or the import path of a function.

    It is called with the sender, the recipient and `summary_args`.
    """

    summary_args: Annotated[dict[str, Any], Always()] = Field(default_factory=dict)
    """Arguments of the method, such as `summary_prompt` for "reflection_with_llm"."""

    @field_validator("summary_method")
    @classmethod
    def _check_summary(cls, method: str) -> str:
        if method not in ("last_msg", "reflection_with_llm") and not is_import_path(method):
            known = '"last_msg", "reflection_with_llm" or the import path of a function'
            raise ValueError(f"found {method!r}, expected {known}")
        return method

    @override
    async def build(self, maker: Maker, **more: Any) -> dict[str, Any]:
        """The chat as an item of a queue, or one's arguments."""
        return more | await self.arguments(maker)


class ChatConfig(_Talk):
    """A chat that an agent has in order to reply."""

    sender: Annotated[str, Chatter()] = ""
    """Agent that begins; in a queue the person, in nested chats the agent that replies."""

    recipient: Annotated[str, Chatter()]
    """Agent that answers."""

    message: Annotated[str | None, TextOrPath()] = None
    """First message: a text, or the import path of a function that makes it.

    If not given, a chat of a queue begins with the task. The first nested one begins with the
    message to reply to.
    """

    carryover: Annotated[list[str], Always()] = Field(default_factory=list)
    """Context for the first message, before the summaries of earlier chats."""

    clear_history: bool = True
    """Forget what both said to each other before."""


class QueuedChatConfig(ChatConfig):
    """A chat of a queue."""

    chat_id: int | None = None
    """Number of the chat, if others name it.

    Then all have one, and those that do not wait for each other run at the same time.
    """

    prerequisites: list[int] = Field(default_factory=list)
    """Numbers of the chats that it waits for; their summaries are its context."""

    @override
    async def arguments(self, maker: Maker) -> dict[str, Any]:
        given: dict[str, Any] = {} if self.chat_id is None else {"prerequisites": []}
        given["sender"] = await maker.agent(self.sender or PERSON)
        return given | await super().arguments(maker)


class NestedChatsConfig(Section):
    """Chats before a reply; the last one's summary is the reply."""

    trigger: list[Annotated[str, Chatter()]] = Field(min_length=1)
    """Agents to which it replies so."""

    chats: list[ChatConfig] = Field(min_length=1)
    """The chats, one after the other."""

    position: int = Field(default=2, ge=0)
    """Place among its ways to reply; 2 is after its person was asked."""


class _ConversableAgent(Agent):
    system_message: str | None = None
    """Instructions for the model; those of the preset if not given."""

    description: str | None = None
    """Description of the agent."""

    max_consecutive_auto_reply: int | None = Field(default=None, ge=0)
    """Replies that it makes in a row without asking its person; 100 if not given."""

    default_auto_reply: str = ""
    """Reply if no model, tool or person makes one."""

    termination: Annotated[str | None, TextOrPath(), Given(None)] = None
    """Text in a message that ends the chat, or the import path of a function that tells.

    If not given, a message that is the word TERMINATE alone.
    """

    tools: Annotated[list[_Tool], Given(None)] = Field(default_factory=list)
    """Tools that its model can call: functions, "package.module:function", or tables."""

    executor: Annotated[str, Chatter(), Given(None)] = ""
    """Agent that executes these calls; those that it chats with if not given."""

    code_executor: Annotated[ExecutorConfig | None, Given(None)] = None
    """Executor of the code in messages to it; it runs none if not given."""

    nested: Annotated[list[NestedChatsConfig], Given(None)] = Field(default_factory=list)
    """Chats that it has before it replies, each as [[teams.NAME.agents.AGENT.nested]]."""

    context_variables: dict[str, Any] = Field(default_factory=dict)
    """Values for its functions; the model does not see them."""

    @override
    def called(self) -> Sequence[Tool]:
        return self.tools


class AssistantPreset(_ConversableAgent):
    """A model that solves tasks, and writes code that another agent runs."""

    kind: ClassVar[Kind] = Kind("agent", "assistant", "teams.conversable:AssistantAgent")

    preset: _Preset[Literal["assistant"]] = "assistant"
    """Kind of agent."""

    model: _Model = ""
    """Name of its model in [models].

    If not given, an assistant has default_model, and the others ask none.
    """

    human_input_mode: HumanInput = "NEVER"
    """Ask its person before each reply, at the end of the chat, or never.

    If not given, it is "ALWAYS" for a user_proxy and "TERMINATE" for a conversable.
    """


class UserProxyPreset(_ConversableAgent):
    """An agent that asks the person, and runs code and tools."""

    kind: ClassVar[Kind] = Kind("agent", "user_proxy", "teams.conversable:UserProxyAgent")

    preset: _Preset[Literal["user_proxy"]]
    """Kind of agent."""

    model: _Model = None
    """Name of its model in [models]; without one it asks none."""

    human_input_mode: HumanInput = "ALWAYS"
    """Ask its person: before each reply, at the end of the chat, or never."""


class PlainPreset(_ConversableAgent):
    """An agent that is what its settings make of it."""

    kind: ClassVar[Kind] = Kind("agent", "conversable", "teams.conversable:ConversableAgent")

    preset: _Preset[Literal["conversable"]]
    """Kind of agent."""

    model: _Model = None
    """Name of its model in [models]; without one it asks none."""

    human_input_mode: HumanInput = "TERMINATE"
    """Ask its person: before each reply, at the end of the chat, or never."""


AnyPreset = Annotated[
    Annotated[AssistantPreset, Tag("assistant")]
    | Annotated[UserProxyPreset, Tag("user_proxy")]
    | Annotated[PlainPreset, Tag("conversable")],
    Discriminator(tag_of("preset", "assistant")),
]


class ConversableTeam(_Talk, InstructedTeam):
    """A chat of two agents, or a queue of chats."""

    type: Annotated[Literal["conversable"], Given(None)]
    """Kind of team."""

    description: str = ""
    """Purpose of the team, for lists."""

    agents: Annotated[dict[str, AnyPreset], named_agents, Given(None)] = Field(min_length=1)
    """Agents, each as [teams.NAME.agents.AGENT].

    Names are letters, digits and underscores. Without an agent "user", that is the person in the
    thread, who is asked before each reply.
    """

    starter: Annotated[str, Chatter()] = PERSON
    """Agent that begins; the task is its first message."""

    recipient: Annotated[str, Chatter()] = ""
    """Agent that answers."""

    chats: Annotated[list[QueuedChatConfig], Given(None)] = Field(default_factory=list)
    """Instead of one chat: a queue, each as [[teams.NAME.chats]].

    Each one gets the results of the earlier ones, unless they have a chat_id.
    """

    @model_validator(mode="after")
    def _check_chats(self) -> Self:
        if self.chats and self.recipient:
            raise setting_error("recipient", "found chats beside it, expected one of the two")
        if not self.chats and not self.recipient:
            raise setting_error("recipient", "is missing: name the agent that answers, or chats")
        for key in _OF_A_CHAT if self.chats else ():
            if key in self.model_fields_set:
                raise setting_error(key, "found chats beside it: each of them has its own")
        return self

    def pairs(self) -> Iterator[tuple[str, str]]:
        """The agents that chat with each other, nested chats included."""
        if self.recipient:
            yield self.starter, self.recipient
        yield from ((chat.sender or PERSON, chat.recipient) for chat in self.chats)
        for name, agent in self.agents.items():
            for nested in agent.nested:
                yield from ((chat.sender or name, chat.recipient) for chat in nested.chats)

    @property
    def members(self) -> list[str]:
        """Names of its agents, the person's included where one takes part."""
        return list(dict.fromkeys([*self.agents, *(n for pair in self.pairs() for n in pair)]))
