"""The base class for agents: everything but what the agent says."""

from __future__ import annotations

import asyncio
from abc import ABC
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, ClassVar, cast

from pydantic import BaseModel

from teams._base.cancellation import CancellationToken
from teams._base.malformed import malformed_is_value_error
from teams._base.telemetry import trace_agent
from teams._base.tool_call import InputRequired
from teams._components.component import ComponentBase
from teams._contract.agent import ChatAgent, Response
from teams._contract.state import BaseState
from teams._contract.team import Task, TaskResult, task_messages
from teams._contract.turn_record import MESSAGE_TYPES, Suspension
from teams._messages.base import BaseAgentEvent, BaseChatMessage
from teams._messages.chat import StructuredMessage
from teams._messages.events import ModelClientStreamingChunkEvent
from teams._messages.factory import MessageFactory
from teams._run.half_text import HalfText, half_told
from teams._run.run import RunStream
from teams._snapshot.description import StateField

if TYPE_CHECKING:
    from teams._snapshot.snapshot import SnapshotReader, SnapshotWriter


class BaseChatAgent(ChatAgent, ABC, ComponentBase[BaseModel]):
    """Base class for a chat agent.

    Implement `on_messages`, `on_reset` and `produced_message_types`; for streaming also
    `on_messages_stream`. An agent is stateful: it is given only the messages that are new since its
    last turn. Raises ValueError if `name` is not a Python identifier.
    """

    def __init__(self, name: str, description: str) -> None:
        if not name.isidentifier():
            raise ValueError(f"The agent name must be a valid Python identifier, found {name!r}.")
        self._name = name
        self._description = description

    @property
    def name(self) -> str:
        return self._name

    @property
    def description(self) -> str:
        return self._description

    async def on_messages_stream(
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
    ) -> AsyncGenerator[BaseAgentEvent | BaseChatMessage | Response | Suspension, None]:
        """Handle the new messages and yield what happens, the Response last.

        A `Suspension` comes last instead if the agent waits for a human, see `InputRequired`.
        """
        response = await self.on_messages(messages, cancellation_token)
        for message in response.inner_messages or []:
            yield message
        yield response

    def run_stream(
        self,
        *,
        task: Task = None,
        cancellation_token: CancellationToken | None = None,
        output_task_messages: bool = True,
    ) -> AsyncGenerator[BaseAgentEvent | BaseChatMessage | TaskResult, None]:
        """Run the agent and yield its messages at once, the TaskResult last.

        `task` may be text, a message, a list of messages, or None to go on. `output_task_messages`
        says whether the task's messages come first. Raises ValueError for an empty or malformed
        task, CancelledError once the token is cancelled.
        """
        messages = task_messages(task)
        token = cancellation_token or CancellationToken()
        return RunStream(
            self.drive(messages, token, output_task_messages), cancellation_token, self.abandon_turn
        )

    async def drive(
        self,
        messages: list[BaseChatMessage],
        token: CancellationToken,
        output_task_messages: bool = False,
    ) -> AsyncGenerator[BaseAgentEvent | BaseChatMessage | TaskResult, None]:
        """The run behind `run_stream`.

        Inside of another run, that run's cancellation decides about this agent's turn.
        """
        items: list[BaseAgentEvent | BaseChatMessage] = []
        if output_task_messages:
            for message in messages:
                items.append(message)
                yield message
        messages = await self.begin_anew(messages)
        waiting: Suspension | None = None
        while waiting is None:
            try:
                turn = self.noting_breaks(self.on_messages_stream(messages, token))
                async with aclosing(trace_agent(self.name, self.description, turn)) as stream:
                    async for item in stream:
                        match item:
                            case Response():
                                items.append(item.chat_message)
                                yield item.chat_message
                                break
                            case Suspension():
                                waiting = item
                                break
                            case _:
                                if not isinstance(item, ModelClientStreamingChunkEvent):
                                    items.append(item)
                                yield item
                    else:
                        raise RuntimeError(f"Agent {self.name!r} ended without a response.")
            except InputRequired as required:
                request_id = messages[-1].id if messages else self.name
                pending = required.pending(agent=(self.name,), request_id=request_id)
                waiting = Suspension(tuple(pending))
            # A turn that was unfinished before may have had no use for the new messages any more.
            messages = [each for each in messages if each.id not in (self.absorbed_ids or {})]
            if waiting is None and (self.absorbed_ids is None or not messages):
                self.release_run()
                yield TaskResult(messages=items)
                return
        self.release_run()
        yield TaskResult(messages=items, stop_reason=waiting.stop_reason, pending=waiting.requests)

    async def begin_anew(self, messages: list[BaseChatMessage]) -> list[BaseChatMessage]:
        """Give up the rest of a failed run; the messages to take.

        Without messages the run goes on.
        """
        if not messages or self._half is None:
            return messages
        half, self._half = self._half, None
        await self.abandon_turn()
        return [*half_told(self.name, half), *messages]

    async def noting_breaks(self, stream: AsyncGenerator[Any, None]) -> AsyncGenerator[Any, None]:
        """The stream of a turn, of which half a message is kept."""
        before, self._half, said = self._half, None, HalfText()
        try:
            async with aclosing(stream):
                async for item in stream:
                    said.note(item)
                    yield item
        except InputRequired:
            raise
        except Exception:
            self._half = said.text or before or ""
            raise

    async def on_pause(self, cancellation_token: CancellationToken) -> None:
        """Called when the team is paused, perhaps during a turn; does nothing."""

    async def on_resume(self, cancellation_token: CancellationToken) -> None:
        """Called when the team continues after a pause; does nothing."""

    async def save_state(self) -> Mapping[str, Any]:
        """The agent's state as JSON data; without state, only its type."""
        state = self._state_type().model_dump()
        for field in self._state_fields:
            await field.save(self, state)
        return state if self._half is None else {**state, "half": self._half}

    async def load_state(self, state: Mapping[str, Any]) -> None:
        """Load a state of ours or AutoGen's; ValueError for anything else."""
        with malformed_is_value_error(f"agent {self.name!r}"):
            loaded = dict(self._state_type.model_validate(state))
            self._half = loaded.get("half")
            if self._state_fields:
                types = MESSAGE_TYPES.get() or MessageFactory.of(custom_types(self))
                for field in self._state_fields:
                    await field.load(self, loaded, types)

    holds_own: ClassVar[bool] = False
    """True for agents of ours that hold a browser or a client of their own."""

    async def close(self) -> None:
        """Release what the agent holds. Does nothing by default."""

    # What follows is for the engine and for agents that keep a turn record; a user's own agent
    # needs none of it.

    @property
    def absorbed_ids(self) -> Mapping[str, None] | None:
        """Ids of the messages that the last turn took in for good.

        The current turn counts as the last. None for an agent without a turn record.
        """
        return None

    @property
    def inner_message_types(self) -> Sequence[type[BaseAgentEvent | BaseChatMessage]]:
        """Types that its stream can hold from agents or teams inside."""
        return ()

    def release_run(self) -> None:
        """The run is over: release resources that only its turns could use."""

    async def abandon_turn(self) -> None:
        """Give up an unfinished turn after a cancellation, leaving memory valid."""

    _half: str | None = None
    """Text of its message so far when a run of its own failed."""

    _state_type: ClassVar[type[BaseState]] = BaseState

    _state_fields: ClassVar[tuple[StateField, ...]] = ()
    """The description of the agent's state, for both formats."""

    _is_described: ClassVar[bool] = False
    """True if nothing but `_state_fields` has to be saved."""

    async def write_state(self, path: str, writer: SnapshotWriter) -> None:
        if not self._is_described:
            writer.value(path + "state", await self.save_state())
            return
        writer.value(path + "half", self._half)
        for field in self._state_fields:
            await field.write(self, path, writer)

    async def read_state(self, path: str, reader: SnapshotReader) -> None:
        state = None if self._is_described else reader.value(path + "state")
        if state is not None:
            await self.load_state(cast("Mapping[str, Any]", state))
            return
        self._half = reader.value(path + "half")
        for field in self._state_fields:
            await field.read(self, path, reader)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # A subclass that overrides save_state has more to remember than is described.
        whole = cls.save_state is BaseChatAgent.save_state
        cls._is_described = whole and bool(cls._state_fields)


class StreamingChatAgent(BaseChatAgent, ABC):
    """Base class for an agent whose turn is `on_messages_stream`."""

    async def on_messages(
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
    ) -> Response:
        """The Response of `on_messages_stream`; InputRequired while a human is asked."""
        try:
            stream = self.on_messages_stream(messages, cancellation_token)
            async with aclosing(stream):
                async for item in stream:
                    match item:
                        case Response():
                            return item
                        case Suspension():
                            raise InputRequired(requests=item.requests)
                        case _:
                            pass
        except asyncio.CancelledError:
            await self.abandon_turn()
            raise
        raise RuntimeError(f"Agent {self.name!r} ended its turn without a response.")


def custom_types(agent: ChatAgent) -> list[type[BaseAgentEvent | BaseChatMessage]]:
    """Types beside the built-in ones that an agent can produce."""
    types: list[type[BaseAgentEvent | BaseChatMessage]] = [
        kind for kind in agent.produced_message_types if issubclass(kind, StructuredMessage)
    ]
    if isinstance(agent, BaseChatAgent):
        types += agent.inner_message_types
    return types
