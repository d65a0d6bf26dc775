"""SocietyOfMindAgent: a team that speaks as one agent."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel

from teams._base.cancellation import CancellationToken
from teams._components.component import Component, ComponentModel
from teams._contract.agent import Response
from teams._contract.state import SocietyOfMindAgentState
from teams._contract.team import Task, TaskResult, Team, task_messages
from teams._contract.turn_record import Item, Suspension
from teams._messages.base import BaseAgentEvent, BaseChatMessage, as_chat_message
from teams._messages.chat import HandoffMessage, TextMessage, ended
from teams._run.nesting import ResumableTeam
from teams._run.run import run_in_path, stream_in_path
from teams._snapshot.description import ContextField, MemberField, RecordField
from teams.agents._base import StreamingChatAgent
from teams.agents._room import add_message
from teams.agents._set_aside import set_aside
from teams.model_context._contexts import ChatCompletionContext, UnboundedChatCompletionContext
from teams.models._client import ChatCompletionClient
from teams.models._errors import REFUSALS
from teams.models._types import AssistantMessage, LLMMessage, SystemMessage, UserMessage

DEFAULT_DESCRIPTION = "An agent that uses an inner team of agents to generate responses."
DEFAULT_INSTRUCTION = (
    "You speak for a team. The team was given a request and has worked on it; what its members "
    "said to each other follows."
)
DEFAULT_RESPONSE_PROMPT = (
    "Now give the team's answer to the request. It goes to somebody who has not seen the "
    "discussion, so let it stand on its own, and do not speak of the discussion."
)
NO_RESPONSE = "No response."
EARLIER = "What this team was asked and what it answered before."


class SocietyOfMindAgentConfig(BaseModel, defer_build=True):
    """See `SocietyOfMindAgent` for what the fields mean."""

    name: str
    team: Annotated[ComponentModel, Team]
    model_client: Annotated[ComponentModel, ChatCompletionClient]
    description: str = DEFAULT_DESCRIPTION
    instruction: str = DEFAULT_INSTRUCTION
    response_prompt: str = DEFAULT_RESPONSE_PROMPT
    model_context: Annotated[ComponentModel | None, ChatCompletionContext] = None


@dataclass(slots=True)
class _SocietyTurn:
    """The record of an unfinished turn: the team's task and messages."""

    task: list[BaseChatMessage] = field(default_factory=list[BaseChatMessage])
    taken: dict[str, None] = field(default_factory=dict[str, None])
    """The ids of `task`."""
    said: list[BaseChatMessage] = field(default_factory=list[BaseChatMessage])
    begun: bool = False
    ended: bool = False
    """The team is done; only the answer is missing."""

    def new_messages(self, messages: Sequence[BaseChatMessage]) -> list[BaseChatMessage]:
        """Those of the messages that were not taken yet."""
        return [message for message in messages if message.id not in self.taken]

    def add_task(self, messages: Sequence[BaseChatMessage]) -> None:
        """The team has got these."""
        self.task.extend(messages)
        self.taken.update(dict.fromkeys(message.id for message in messages))

    def dump(self, encode: Callable[[Item], Any]) -> dict[str, Any]:
        return {
            "task": [encode(message) for message in self.task],
            "said": [encode(message) for message in self.said],
            "begun": self.begun,
            "ended": self.ended,
        }

    @classmethod
    def load(cls, data: Mapping[str, Any], decode: Callable[[Any], Item]) -> _SocietyTurn:
        turn = cls(
            said=[as_chat_message(decode(message)) for message in data["said"]],
            begun=data["begun"],
            ended=data["ended"],
        )
        turn.add_task([as_chat_message(decode(message)) for message in data["task"]])
        return turn


class SocietyOfMindAgent(StreamingChatAgent, Component[SocietyOfMindAgentConfig]):
    """An agent that lets a team work and answers for it.

    A turn: the team runs on the new messages, and its messages are yielded; then the model makes an
    answer of them, and the team is reset. What the agent was told and answered is kept in its model
    context, which the team is given along with the next messages. A team that waits for a human
    keeps its turn: nothing is answered or reset before it has ended.

    Args:
        name: a Python identifier, unique in a team.
        team: the team inside.
        model_client: makes the answer.
        description: for teams that choose speakers by description.
        instruction: stands before the team's messages in the model's request.
        response_prompt: stands after them. Both are system messages if the model takes several of
            them, else user messages.
        model_context: how much the team is told of earlier turns; everything by default. Messages
            it comes with are cleared by a reset.
    """

    component_config_schema = SocietyOfMindAgentConfig
    component_provider_override: ClassVar[str | None] = "teams.agents.SocietyOfMindAgent"

    DEFAULT_INSTRUCTION: ClassVar[str] = DEFAULT_INSTRUCTION
    DEFAULT_RESPONSE_PROMPT: ClassVar[str] = DEFAULT_RESPONSE_PROMPT
    DEFAULT_DESCRIPTION: ClassVar[str] = DEFAULT_DESCRIPTION

    def __init__(
        self,
        name: str,
        team: Team,
        model_client: ChatCompletionClient,
        *,
        description: str = DEFAULT_DESCRIPTION,
        instruction: str = DEFAULT_INSTRUCTION,
        response_prompt: str = DEFAULT_RESPONSE_PROMPT,
        model_context: ChatCompletionContext | None = None,
    ) -> None:
        super().__init__(name=name, description=description)
        self._team = team
        self._model_client = model_client
        self._instruction = instruction
        self._response_prompt = response_prompt
        self._model_context = (
            model_context if model_context is not None else UnboundedChatCompletionContext()
        )
        self._turn: _SocietyTurn | None = None
        self._taken: Mapping[str, None] = {}

    @property
    def produced_message_types(self) -> Sequence[type[BaseChatMessage]]:
        return (TextMessage,)

    @property
    def inner_message_types(self) -> Sequence[type[BaseAgentEvent | BaseChatMessage]]:
        return self._team.message_types() if isinstance(self._team, ResumableTeam) else ()

    @property
    def model_context(self) -> ChatCompletionContext:
        """The agent's earlier tasks and answers."""
        return self._model_context

    async def run(
        self,
        *,
        task: Task = None,
        cancellation_token: CancellationToken | None = None,
        output_task_messages: bool = True,
    ) -> TaskResult:
        """Run the agent and return its answer.

        What the team inside says stays there, unlike in `run_stream`.
        """
        messages = task_messages(task)
        result = await super().run(
            task=messages or None,
            cancellation_token=cancellation_token,
            output_task_messages=output_task_messages,
        )
        given = {message.id for message in messages}
        outside = [each for each in result.messages if each.id in given or each.source == self.name]
        return result.model_copy(update={"messages": outside})

    async def on_messages_stream(
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
    ) -> AsyncGenerator[BaseAgentEvent | BaseChatMessage | Response | Suspension, None]:
        """Yield the team's items, then the answer, or a `Suspension`.

        If an earlier turn is unfinished, this call finishes it. `messages` may grow while the team
        runs: it is told of new ones.
        """
        turn = self._turn = self._turn or _SocietyTurn()
        self._taken = turn.taken
        if not turn.ended:
            stream = stream_in_path(
                self.name, await self._team_stream(turn, messages, cancellation_token)
            )
            async with aclosing(stream) as items:
                async for item in items:
                    if isinstance(item, TaskResult):
                        if item.pending:
                            yield Suspension(tuple(item.pending))
                            return
                        turn.ended = True
                        break
                    if isinstance(item, BaseChatMessage):
                        turn.said.append(item)
                    yield item
                    self._steer(turn, messages)
        answer = await self._answer(turn, cancellation_token)
        await self._remember(turn, answer)
        await self._team.reset()
        self._turn = None
        yield Response(chat_message=answer, inner_messages=[])

    async def _team_stream(
        self, turn: _SocietyTurn, messages: Sequence[BaseChatMessage], token: CancellationToken
    ) -> AsyncGenerator[Item | TaskResult, None]:
        new_messages = turn.new_messages(messages)
        task = new_messages
        if not turn.begun:
            task = [*await self._earlier(), *new_messages] or [
                TextMessage(content="", source=self.name)
            ]
        if isinstance(self._team, ResumableTeam):
            self._team.begin(task)
            stream = self._team.drive(token)
        else:
            stream = self._team.run_stream(
                task=task or None, cancellation_token=token, output_task_messages=False
            )
        turn.add_task(new_messages)
        turn.begun = True
        return stream

    def _steer(self, turn: _SocietyTurn, messages: Sequence[BaseChatMessage]) -> None:
        if isinstance(self._team, ResumableTeam) and (new_messages := turn.new_messages(messages)):
            self._team.add_messages(new_messages)
            turn.add_task(new_messages)

    async def _earlier(self) -> list[BaseChatMessage]:
        """Earlier turns for the team, in one message that counts once."""
        context = await self._model_context.get_messages()
        if not context:
            return []
        # In a team of hand-offs the first participant is the one that begins anyway.
        names = self._team.participant_names if isinstance(self._team, ResumableTeam) else [""]
        return [HandoffMessage(content=EARLIER, source=self.name, target=names[0], context=context)]

    async def _answer(self, turn: _SocietyTurn, token: CancellationToken) -> TextMessage:
        if not turn.said:
            return TextMessage(content=NO_RESPONSE, source=self.name)
        request = [
            self._instruction_message(self._instruction),
            *(message.to_model_message() for message in turn.said),
            self._instruction_message(self._response_prompt),
        ]
        answer = self._model_client.create(request, cancellation_token=token)
        try:
            result = await run_in_path(self.name, answer)
        except REFUSALS as error:
            set_aside(turn.said, error, sent=request)
            raise
        if not isinstance(result.content, str):
            raise RuntimeError(
                f"The model of agent {self.name!r} called tools, but it was given none."
            )
        said = TextMessage(content=result.content, source=self.name, models_usage=result.usage)
        return ended(said, result)

    def _instruction_message(self, text: str) -> LLMMessage:
        if self._model_client.model_info.get("multiple_system_messages", False):
            return SystemMessage(content=text)
        return UserMessage(content=text, source="user")

    async def _remember(self, turn: _SocietyTurn, answer: TextMessage) -> None:
        for message in turn.task:
            await add_message(self._model_context, message)
        await self._model_context.add_message(
            AssistantMessage(content=answer.content, source=self.name)
        )

    async def on_reset(self, cancellation_token: CancellationToken) -> None:
        self._turn = None
        await self._team.reset()
        await self._model_context.clear()

    async def on_pause(self, cancellation_token: CancellationToken) -> None:
        """Pause the team, if it is at work."""
        if self._turn is not None:
            await self._team.pause()

    async def on_resume(self, cancellation_token: CancellationToken) -> None:
        """Let the team go on, if it is at work."""
        if self._turn is not None:
            await self._team.resume()

    @property
    def absorbed_ids(self) -> Mapping[str, None]:
        return self._taken

    async def abandon_turn(self) -> None:
        # The messages of the turn stay with whoever sent them, and come again with the next ones.
        self._turn, self._taken = None, {}
        if isinstance(self._team, ResumableTeam):
            await self._team.abandon_turn()
        await self._team.reset()

    def _restore_turn(self, turn: _SocietyTurn | None) -> None:
        self._turn = turn
        self._taken = {} if turn is None else turn.taken

    _state_type = SocietyOfMindAgentState
    _state_fields = (
        ContextField(),
        RecordField("turn", "_turn", load=_SocietyTurn.load, put=_restore_turn),
        MemberField("_team", key="inner_team_state", prefix="team/"),
    )
    """Context and turn are additive: AutoGen saves the team alone."""
