"""MessageFilterAgent: another agent that is shown only some of the messages."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing
from typing import Annotated, ClassVar, Literal, overload

from pydantic import BaseModel

from teams._base.cancellation import CancellationToken
from teams._components.component import Component, ComponentModel
from teams._contract.agent import ChatAgent, Response
from teams._contract.turn_record import Suspension
from teams._messages.base import BaseAgentEvent, BaseChatMessage
from teams._run.run import stream_in_path
from teams._snapshot.description import MemberField
from teams.agents._base import BaseChatAgent


class PerSourceFilter(BaseModel, defer_build=True):
    """Selects messages of one source: all, the first or last `count`."""

    source: str
    """Name of the agent or user."""

    position: Literal["first", "last"] | None = None
    """Which end to count from; None lets all through."""

    count: int | None = None
    """Number of messages; None selects all."""

    def apply(self, messages: Sequence[BaseChatMessage]) -> list[BaseChatMessage]:
        """The messages that it lets through, in their order."""
        found = [message for message in messages if message.source == self.source]
        match self.position, self.count:
            case "first", int(count):
                return found[: max(count, 0)]
            case "last", int(count):
                return found[max(len(found) - max(count, 0), 0) :]
            case _:
                return found


class MessageFilterConfig(BaseModel, defer_build=True):
    """The rules for messages that are new since the agent's last turn."""

    per_source: list[PerSourceFilter]
    """In this order. A message is shown once, however many of them let it through; if none does, or
    there is none, it is never shown."""

    def apply(self, messages: Sequence[BaseChatMessage]) -> list[BaseChatMessage]:
        """The messages that are shown."""
        shown = {
            message.id: message for rule in self.per_source for message in rule.apply(messages)
        }
        return list(shown.values())


class MessageFilterAgentConfig(BaseModel, defer_build=True):
    """See `MessageFilterAgent` for what the fields mean."""

    name: str
    wrapped_agent: Annotated[ComponentModel, ChatAgent]
    filter: MessageFilterConfig


class MessageFilterAgent(BaseChatAgent, Component[MessageFilterAgentConfig]):
    """An agent that passes filtered messages to the agent inside.

    The agent inside answers.

    Args:
        name: a Python identifier, unique in a team. Usually the name of the agent inside, since
            that is the source of what it says.
        wrapped_agent: the agent inside.
        filter: which messages it is shown. The rest is lost for it.
    """

    component_config_schema = MessageFilterAgentConfig
    component_provider_override: ClassVar[str | None] = "teams.agents.MessageFilterAgent"

    def __init__(
        self, name: str, wrapped_agent: BaseChatAgent, filter: MessageFilterConfig
    ) -> None:
        super().__init__(name=name, description=wrapped_agent.description)
        self._wrapped_agent = wrapped_agent
        self._filter = filter
        self._kept_back: Mapping[str, None] = {}
        """Ids of what the filter kept back in the last turn."""

    @property
    def produced_message_types(self) -> Sequence[type[BaseChatMessage]]:
        return self._wrapped_agent.produced_message_types

    @property
    def inner_message_types(self) -> Sequence[type[BaseAgentEvent | BaseChatMessage]]:
        return self._wrapped_agent.inner_message_types

    async def on_messages(
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
    ) -> Response:
        return await self._wrapped_agent.on_messages(
            self._filter.apply(messages), cancellation_token
        )

    async def on_messages_stream(
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
    ) -> AsyncGenerator[BaseAgentEvent | BaseChatMessage | Response | Suspension, None]:
        self._kept_back = {}
        shown: Sequence[BaseChatMessage] = _FilteredMessages(messages, self._filter)
        if self._wrapped_agent.absorbed_ids is None:
            shown = list(shown)
        stream = self._wrapped_agent.on_messages_stream(shown, cancellation_token)
        if self._wrapped_agent.name != self.name:
            stream = stream_in_path(self.name, stream)
        async with aclosing(stream) as items:
            async for item in items:
                if isinstance(item, Response):
                    ids = {message.id for message in shown}
                    self._kept_back = dict.fromkeys(
                        message.id for message in messages if message.id not in ids
                    )
                yield item

    async def on_reset(self, cancellation_token: CancellationToken) -> None:
        self._kept_back = {}
        await self._wrapped_agent.on_reset(cancellation_token)

    async def on_pause(self, cancellation_token: CancellationToken) -> None:
        await self._wrapped_agent.on_pause(cancellation_token)

    async def on_resume(self, cancellation_token: CancellationToken) -> None:
        await self._wrapped_agent.on_resume(cancellation_token)

    async def close(self) -> None:
        await self._wrapped_agent.close()

    @property
    def absorbed_ids(self) -> Mapping[str, None] | None:
        taken = self._wrapped_agent.absorbed_ids
        return None if taken is None else {**self._kept_back, **taken}

    async def abandon_turn(self) -> None:
        self._kept_back = {}
        await self._wrapped_agent.abandon_turn()

    _state_fields = (MemberField("_wrapped_agent", key="wrapped_agent_state"),)
    """An additive key of the documented state: AutoGen's says nothing of the agent inside."""


class _FilteredMessages(Sequence[BaseChatMessage]):
    """The filtered view of messages that may still grow."""

    def __init__(self, messages: Sequence[BaseChatMessage], rules: MessageFilterConfig) -> None:
        self._messages = messages
        self._rules = rules

    def __iter__(self) -> Iterator[BaseChatMessage]:
        return iter(self._rules.apply(self._messages))

    def __len__(self) -> int:
        return len(self._rules.apply(self._messages))

    @overload
    def __getitem__(self, index: int) -> BaseChatMessage: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[BaseChatMessage]: ...
    def __getitem__(self, index: int | slice) -> BaseChatMessage | Sequence[BaseChatMessage]:
        return self._rules.apply(self._messages)[index]
