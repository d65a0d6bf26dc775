"""Chats and queues of chats as teams."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic import ConfigDict, Field

from teams._base.cancellation import CancellationToken
from teams._base.malformed import malformed_is_value_error
from teams._components.component import Component
from teams._contract.team import Task, TaskResult, task_messages
from teams._contract.turn_record import Item, Suspension
from teams._messages.base import BaseAgentEvent, BaseChatMessage
from teams._messages.chat import TextMessage
from teams._messages.events import ModelClientStreamingChunkEvent
from teams._messages.factory import MessageFactory
from teams._run.half_text import HalfText, half_told
from teams._run.nesting import SnapshotTeam
from teams._run.run import RunScope, RunStream
from teams.conversable._chats import ChatResult, ChatsMixin
from teams.conversable._components import (
    ConversableChatConfig,
    ConversableQueueConfig,
    check_data,
    dump_chats,
    dump_member,
    load_chats,
    load_member,
)
from teams.conversable._durable import Done, DurableRun
from teams.conversable._protocols import Agent, Given, Message, Settings
from teams.conversable._queues import ChatQueue, a_initiate_chats, partners_in, with_sender
from teams.conversable._saving import json_copy

if TYPE_CHECKING:
    from teams._snapshot.snapshot import SnapshotReader, SnapshotWriter

MANAGER = "ConversableChatManager"
Output = BaseAgentEvent | BaseChatMessage | TaskResult


class ChatTaskResult(TaskResult):
    """Result of a chat that was run as a team."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    chat: ChatResult | None = None
    """Result of the chat, or of the queue's last one."""

    chats: dict[Any, ChatResult] = Field(default_factory=dict)
    """Results of a queue, by chat_id."""


class _ChatTeam(SnapshotTeam):
    """Chats that are run, saved and continued as a team."""

    component_provider_override = None

    def __init__(self, name: str, description: str, agents: Iterable[Agent]) -> None:
        super().__init__(name, description, MessageFactory.of([]))
        self._run = DurableRun(agents)
        self._message: Any = None
        self._continues = False
        """There was a chat before: its history stays."""
        self._joined: list[Message] = []
        """Messages from outside of a run."""
        self._echoes = False
        """The first text is the task again, and is not shown."""
        self._running = False
        self._half: tuple[str, str] | None = None
        """Speaker and text of the message in which the unfinished run failed."""

    @property
    def participant_names(self) -> list[str]:
        """Names of all agents of the chats."""
        return list(self._run.agents)

    @abstractmethod
    async def _program(self) -> ChatTaskResult:
        """Hold the chats."""

    def run_stream(
        self,
        *,
        task: Task = None,
        cancellation_token: CancellationToken | None = None,
        output_task_messages: bool = True,
    ) -> AsyncGenerator[Output, None]:
        """Hold the chats and yield each item at once, the TaskResult last.

        The task is the first message; a later one goes on with the history. A task given to an
        unfinished run joins it, unless that has failed; None continues it.
        """
        messages = task_messages(task)
        token = cancellation_token or CancellationToken()

        async def opening() -> None:
            if self._running:
                raise ValueError(f"Team {self.name!r} is already running.")
            if messages and self._half is not None:
                await self.break_off()
            self.begin(messages)

        stream = self._drive(token, messages if output_task_messages else [])
        return RunStream(stream, cancellation_token, self.abandon_turn, opening=opening)

    def begin_stream(self, message: object) -> AsyncGenerator[Output, None]:
        """Run with a first message of any kind that a chat takes."""

        async def opening() -> None:
            self._message, self._echoes = message, False
            self._run.start()

        return RunStream(
            self._drive(CancellationToken(), []), None, self.abandon_turn, opening=opening
        )

    def begin(self, messages: Sequence[BaseChatMessage]) -> None:
        """Start a run with these messages, or extend the unfinished one."""
        self.add_messages(messages)
        if self._run.journal is None and self._joined:
            taken, self._joined = self._joined, []
            self._message = "\n\n".join(each["content"] for each in taken)
            self._echoes = True
            self._run.start()

    def add_messages(self, messages: Sequence[BaseChatMessage]) -> None:
        """Let messages join the outermost chat before its next reply."""
        said = [{"content": each.to_model_text(), "name": each.source} for each in messages]
        (self._joined if self._run.journal is None else self._run.journal.joined).extend(said)

    def drive(self, token: CancellationToken) -> AsyncGenerator[Output, None]:
        """Run what was begun; cancellation is the outermost run's business."""
        return self._drive(token, [])

    async def _drive(
        self, token: CancellationToken, items: Sequence[Item]
    ) -> AsyncGenerator[Output, None]:
        self._running, shown, said = True, list[Item](), HalfText()
        with RunScope(token, partial(self._rest, said)):
            for item in items:
                shown.append(item)
                yield item
            if self._run.journal is None:
                yield TaskResult(messages=shown, stop_reason="There is nothing to continue.")
                return
            async with aclosing(self._run.stream(self._program)) as stream:
                async for item in stream:
                    said.note(item)
                    match item:
                        case Suspension():
                            yield ChatTaskResult(
                                messages=shown, stop_reason=item.stop_reason, pending=item.requests
                            )
                        case Done():
                            self._continues = True
                            yield item.outcome.model_copy(update={"messages": shown})
                        case ModelClientStreamingChunkEvent():
                            yield item
                        case TextMessage(content=text) if self._echoes:
                            self._echoes = False
                            if text != self._message:
                                shown.append(item)
                                yield item
                        case _:
                            shown.append(item)
                            yield item

    def _rest(self, said: HalfText, failed: bool) -> None:
        begun = (said.source, said.text) if said.text else self._half or ("", "")
        self._running, self._half = False, begun if failed else None

    async def break_off(self) -> None:
        """Give up an unfinished run before a new task."""
        half, self._half = self._half, None
        await self.abandon_turn()
        if half is not None:
            self.add_messages(half_told(*half))

    async def abandon_turn(self) -> None:
        """Give up the unfinished run; what was said stays."""
        if self._run.journal is not None:
            await self._run.abandon(self._program)
            self._continues = True

    async def reset(self) -> None:
        if self._running:
            raise RuntimeError(f"Team {self.name!r} is running: stop it before you reset it.")
        self._run.journal, self._message, self._continues = None, None, False
        self._half = None
        self._joined.clear()
        for agent in self._run.agents.values():
            forget: Any = getattr(agent, "reset", None)
            if forget is not None:
                forget()

    async def pause(self) -> None:
        """Nothing to do: a chat rests while its consumer holds an item."""

    async def resume(self) -> None:
        """See `pause`."""

    async def save_state(self) -> Given:
        state = self._run.save()
        manager: Settings = {
            "type": "ConversableChatManagerState",
            "version": "1.0.0",
            "message_thread": [],
            "run": {**self._standing(), "chat": state["run"]},
        }
        places: Settings = {
            name: {"type": "ChatAgentContainerState", "agent_state": saved, "message_buffer": []}
            for name, saved in state["agents"].items()
        }
        return {
            "type": "TeamState",
            "version": "1.0.0",
            "agent_states": {**places, MANAGER: manager},
        }

    def _standing(self) -> Settings:
        message = json_copy(self._message, f"first message of {self.name!r}")
        return {
            "message": message,
            "continues": self._continues,
            "echoes": self._echoes,
            "joined": [*self._joined],
            **({} if self._half is None else {"half": [*self._half]}),
        }

    async def load_state(self, state: Given) -> None:
        with malformed_is_value_error(f"team {self.name!r}"):
            states = dict(state["agent_states"])
            manager = states.pop(MANAGER)
            run: Settings = manager.get("run") or {}
            agents = {name: place["agent_state"] for name, place in states.items()}
            self._run.load(agents, run.get("chat"))
            self._load_standing(run)
            told = self._message_factory.create_all(manager["message_thread"])
            self.add_messages([each for each in told if isinstance(each, BaseChatMessage)])

    def _load_standing(self, run: Given) -> None:
        self._message, self._continues = run.get("message"), run.get("continues", False)
        self._joined, self._echoes = [*run.get("joined", ())], run.get("echoes", False)
        half = run.get("half")
        self._half = None if half is None else (half[0], half[1])

    async def write_state(self, path: str, writer: SnapshotWriter) -> None:
        self._run.write(path, writer)
        writer.value(path + "run", self._standing())

    async def read_state(self, path: str, reader: SnapshotReader) -> None:
        standing = reader.value(path + "run")
        if standing is None:
            raise ValueError(f"The saved state is not one of team {self.name!r}.")
        self._run.read(path, reader)
        self._load_standing(standing)


class ConversableChat(_ChatTeam, Component[ConversableChatConfig]):
    """A chat of two agents as a team.

    The task is the first message.

    Args:
        starter: says the task.
        recipient: answers first.
        name: needed where the team is a participant of another one.
        description: for teams that choose speakers by description.
        arguments: those of `a_initiate_chat`.
    """

    component_config_schema = ConversableChatConfig
    component_provider_override: ClassVar[str | None] = "teams.conversable.ConversableChat"

    def __init__(
        self,
        starter: ChatsMixin,
        recipient: Agent,
        *,
        name: str = "ConversableChat",
        description: str = "A chat of two agents.",
        **arguments: Any,
    ) -> None:
        super().__init__(name, description, [starter, recipient])
        self._starter = starter
        self._recipient = recipient
        self._arguments = arguments

    def _to_config(self) -> ConversableChatConfig:
        check_data(self._arguments, f"arguments of {self.name!r}")
        return ConversableChatConfig(
            starter=dump_member(self._starter),
            recipient=dump_member(self._recipient),
            name=self._name,
            description=self._description,
            arguments=self._arguments,
        )

    @classmethod
    def _from_config(cls, config: ConversableChatConfig) -> Self:
        return cls(
            load_member(config.starter),
            load_member(config.recipient),
            name=config.name,
            description=config.description,
            **config.arguments,
        )

    async def _program(self) -> ChatTaskResult:
        arguments = {**self._arguments, "message": self._message}
        if self._continues:
            arguments["clear_history"] = False
        chat = await self._starter.a_initiate_chat(self._recipient, **arguments)
        return ChatTaskResult(messages=[], stop_reason="The chat has ended.", chat=chat)


class ConversableQueue(_ChatTeam, Component[ConversableQueueConfig]):
    """A queue of chats as a team.

    The task is the message of the chats that have none; with a message, the first chat gets the
    task as carryover. Chats without chat_id run one after the other.
    """

    component_config_schema = ConversableQueueConfig
    component_provider_override: ClassVar[str | None] = "teams.conversable.ConversableQueue"

    def __init__(
        self,
        chats: ChatQueue,
        sender: Agent | None = None,
        *,
        name: str = "ConversableQueue",
        description: str = "A queue of chats.",
    ) -> None:
        queue = with_sender(chats, sender) if sender is not None else [dict(each) for each in chats]
        super().__init__(name, description, dict.fromkeys(partners_in(queue)))
        self._sender = sender
        self._chats = queue

    def _to_config(self) -> ConversableQueueConfig:
        return ConversableQueueConfig(
            agents=[dump_member(agent) for agent in self._run.agents.values()],
            chats=dump_chats(self._chats),
            sender=None if self._sender is None else self._sender.name,
            name=self._name,
            description=self._description,
        )

    @classmethod
    def _from_config(cls, config: ConversableQueueConfig) -> Self:
        loaded = [load_member(each) for each in config.agents]
        agents = {agent.name: agent for agent in loaded}
        return cls(
            load_chats(config.chats, agents),
            None if config.sender is None else agents[config.sender],
            name=config.name,
            description=config.description,
        )

    async def _program(self) -> ChatTaskResult:
        queue = [dict(each) for each in self._chats]
        for number, each in enumerate(queue):
            if self._message is not None and each.get("message") is None:
                each["message"] = self._message
            elif self._message is not None and number == 0:
                own: Any = each.get("carryover") or []
                each["carryover"] = [*(own if isinstance(own, list) else [own]), self._message]
            if self._continues:
                each["clear_history"] = False
            if all(other.get("chat_id") is None for other in self._chats):
                each |= {"chat_id": number, "prerequisites": list(range(number))}
        results = await a_initiate_chats(queue)
        if isinstance(self._sender, ChatsMixin):
            self._sender.note_finished(results)
        last = results[queue[-1]["chat_id"]] if results else None
        return ChatTaskResult(
            messages=[], stop_reason="The queue has ended.", chat=last, chats=results
        )
