"""A ConversableAgent as a participant of a team."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from teams._base.cancellation import CancellationToken
from teams._base.malformed import malformed_is_value_error
from teams._contract.agent import Response
from teams._contract.turn_record import Suspension
from teams._messages.base import BaseAgentEvent, BaseChatMessage
from teams._messages.chat import StopMessage, TextMessage, ended_by
from teams.agents._base import StreamingChatAgent
from teams.conversable._durable import Done, DurableRun
from teams.conversable._journal import inside, show_message, step
from teams.conversable._messages import normalised, shown_content
from teams.conversable._mode import ASYNC
from teams.conversable._protocols import Given, Message, Settings

if TYPE_CHECKING:
    from teams._snapshot.snapshot import SnapshotReader, SnapshotWriter


class TheTeam:
    """Partner that stands for the others; it only has a name."""

    name = description = "team"
    silent = True

    async def a_send(self, *_: object, **__: object) -> None:
        """A stand-in does nothing."""

    a_receive = a_generate_reply = a_send

    def send(self, *_: object, **__: object) -> None:
        """A stand-in does nothing."""

    receive = generate_reply = send


class ConversableParticipant(StreamingChatAgent):
    """Lets a ConversableAgent answer a team's messages.

    New messages come from one partner, by the names of their sources. The agent executes its own
    calls until it has a text; if it ends the conversation, its last text is a StopMessage.
    """

    component_provider_override = None

    def __init__(self, agent: Any) -> None:
        super().__init__(agent.name, str(agent.description))
        self._agent = agent
        self._team = TheTeam()
        self._run = DurableRun([agent], [self._team])
        self._taken: dict[str, None] = {}
        self._inbox: Sequence[BaseChatMessage] = ()

    @property
    def produced_message_types(self) -> Sequence[type[BaseChatMessage]]:
        return (TextMessage, StopMessage)

    @property
    def absorbed_ids(self) -> Mapping[str, None]:
        return self._taken

    async def on_messages_stream(
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
    ) -> AsyncGenerator[BaseAgentEvent | BaseChatMessage | Response | Suspension, None]:
        """Yield what happens, then the Response, or a Suspension."""
        self._inbox = messages
        if self._run.journal is None:
            self._taken = {}
            self._run.start()
        journal = self._run.journal
        assert journal is not None
        async for item in self._run.stream(self._answer):
            if not isinstance(item, Done):
                yield item
                continue
            kind = StopMessage if item.outcome["ends"] else TextMessage
            known = journal.message_ids.get(self.name)
            message = kind(content=item.outcome["text"], source=self.name)
            if known is not None and not item.outcome["ends"]:
                message = message.model_copy(update={"id": known})
            yield Response(chat_message=ended_by(message, item.outcome.get("finish") or ""))

    async def _answer(self) -> Settings:
        with inside(ASYNC, self.name):  # chats within are nested ones
            return await self._reply()

    async def _reply(self) -> Settings:
        """One reply, after the calls that it takes."""
        agent, team = self._agent, self._team
        conversation, last = agent._conversation(team), ""
        while True:
            for heard in await step(ASYNC, f"messages for {self.name}", [], self._hear):
                self._taken[heard.pop("id")] = None
                conversation.append(heard)
            with inside(ASYNC):
                reply = await agent.a_generate_reply(messages=conversation, sender=team)
            if reply is None and (said := agent._said_last()) is not None:
                reply = said
            if reply is None:
                return {"ends": True, "text": last or _last_text(conversation)}
            stored = normalised(reply, "assistant", speaker=self.name)
            conversation.append(stored)
            last = shown_content(stored["content"]) or last
            if not (stored.get("tool_calls") or stored.get("function_call")):
                finish = stored.get("finish_reason")
                return {"ends": False, "text": shown_content(stored["content"]), "finish": finish}
            await show_message(ASYNC, agent, team, stored)
            with inside(ASYNC):
                _, results = await agent.a_generate_function_call_reply([stored], team)
                if results is None:
                    _, results = await agent.a_generate_tool_calls_reply([stored], team)
            assert results is not None
            conversation.append(normalised(results, "user", speaker=self.name))
            await show_message(ASYNC, agent, team, conversation[-1])

    def _hear(self) -> list[Message]:
        return [
            {
                "id": each.id,
                "content": each.to_model_text(),
                "role": "user",
                "name": each.source,
            }
            for each in self._inbox
            if each.id not in self._taken
        ]

    async def on_reset(self, cancellation_token: CancellationToken) -> None:
        self._run.journal, self._taken = None, {}
        self._agent.reset()

    async def abandon_turn(self) -> None:
        await self._run.abandon(self._answer)

    async def save_state(self) -> Given:
        return {"type": "ConversableParticipantState", "version": "1.0.0", **self._run.save()}

    async def load_state(self, state: Given) -> None:
        with malformed_is_value_error(f"agent {self.name!r}"):
            self._run.load(state["agents"], state["run"])
            self._taken = {}

    async def write_state(self, path: str, writer: SnapshotWriter) -> None:
        self._run.write(path, writer)

    async def read_state(self, path: str, reader: SnapshotReader) -> None:
        self._run.read(path, reader)
        self._taken = {}


def _last_text(conversation: Sequence[Message]) -> str:
    own = (each for each in reversed(conversation) if each["role"] == "assistant")
    return next((text for each in own if (text := shown_content(each["content"]))), "")
