"""A participant's place in a team: its inbox, and its unfinished turn."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from teams._base.cancellation import CancellationToken
from teams._base.construct import new_id
from teams._base.history import History
from teams._base.telemetry import trace_agent
from teams._base.tool_call import AGENT_PATH, InputRequired
from teams._contract.agent import ChatAgent, Response
from teams._contract.state import ChatAgentContainerState
from teams._contract.team import TaskResult, Team
from teams._contract.turn_record import MESSAGE_TYPES, Item, Suspension
from teams._messages.base import BaseChatMessage, as_chat_message
from teams._messages.batch import dump_items
from teams._messages.chat import TextMessage
from teams._messages.events import ModelClientStreamingChunkEvent
from teams._messages.factory import MessageFactory
from teams._run.half_text import HalfText, half_told
from teams._run.nesting import ResumableTeam
from teams._run.run import stream_in_path
from teams.agents._base import BaseChatAgent

if TYPE_CHECKING:
    from teams._snapshot.snapshot import SnapshotReader, SnapshotWriter

T = TypeVar("T")

_IDLE: Mapping[str, Any] = {"speaking": False, "question": "", "held": []}
"""The place of a participant between its turns."""


@dataclass(frozen=True, slots=True)
class SpeakerDone:
    """A finished turn.

    `delta` goes to the thread and the termination condition, `published` to the others' inboxes.
    `last` is what is still to be handed out: the response's chat message.
    """

    delta: Sequence[Item]
    published: Sequence[BaseChatMessage]
    last: BaseChatMessage | None = None


class Participant:
    """An agent or a team as a member of a team.

    `inbox` holds what the others said since its last turn; it is emptied only by what the
    participant really took.
    """

    __slots__ = (
        "_agent",
        "_delivered",
        "_half",
        "_held",
        "_inner",
        "_question",
        "_runner",
        "_speaker",
        "_team",
        "_waits",
        "inbox",
        "member",
    )

    def __init__(self, member: ChatAgent | Team) -> None:
        self.member = member
        # What the member is, asked once: a turn has no time for a look at a protocol's members.
        self._speaker = member if isinstance(member, ChatAgent) else None
        self._runner = None if isinstance(member, ChatAgent) else member
        self._agent = member if isinstance(member, BaseChatAgent) else None
        self._team: ResumableTeam | None = None
        if self._agent is None and isinstance(member, ResumableTeam):
            self._team = member
        self.inbox: History[BaseChatMessage] = History()
        self._delivered = 0
        """Number of inbox messages given for this turn to an agent without a turn record."""
        self._question = ""
        """For such an agent: the id of what it asks in its unfinished turn."""
        self._held: Sequence[BaseChatMessage] = ()
        """Messages of siblings during its unfinished turn, held back so that their speed does not
        matter.
        """
        self._half = ""
        """Text that an agent had streamed of its message when its turn broke off."""
        self._waits = False
        """Its turn stands still until a person has answered."""
        self._inner: History[Item] | None = None
        """For a team: what its unfinished run has produced so far."""

    @property
    def name(self) -> str:
        """The member's name."""
        return self.member.name

    def hold(self, messages: Sequence[BaseChatMessage]) -> None:
        """Keep messages out of the inbox until the turn is over."""
        self._held = [*self._held, *messages]

    def _release(self) -> None:
        if self._held:
            self.inbox.extend(self._held)
            self._held = ()

    def speak(
        self, token: CancellationToken
    ) -> AsyncGenerator[Item | SpeakerDone | Suspension, None]:
        """Yield the rest of the turn, then a SpeakerDone or a Suspension."""
        if self._runner is not None:
            return self._speak_team(self._runner, token)
        assert self._speaker is not None
        return self._speak_agent(self._speaker, token)

    async def _speak_agent(
        self, agent: ChatAgent, token: CancellationToken
    ) -> AsyncGenerator[Item | SpeakerDone | Suspension, None]:
        # Only an agent with a turn record can tell later what it took; any other gets a list that
        # does not change.
        messages: Sequence[BaseChatMessage] = self.inbox
        if self._absorbed_ids is None:
            messages = list(self.inbox)
            self._delivered = len(messages)
        said, self._waits = HalfText(), False
        try:
            turn = agent.on_messages_stream(messages, token)
            async with aclosing(trace_agent(self.name, agent.description, turn)) as stream:
                async for item in stream:
                    said.note(item)
                    if isinstance(item, Response):
                        message = item.chat_message
                        yield SpeakerDone(
                            [*(item.inner_messages or ()), message], [message], message
                        )
                        return
                    self._waits = isinstance(item, Suspension)
                    yield item
                    if self._waits:
                        return
        except InputRequired as required:
            self._question, self._waits = self._question or new_id(), True
            agent_path = (*AGENT_PATH.get(), self.name)
            yield Suspension(tuple(required.pending(agent=agent_path, request_id=self._question)))
            return
        finally:
            self._half = said.text or self._half
        raise RuntimeError(f"Agent {self.name!r} ended its turn without a response.")

    @property
    def _absorbed_ids(self) -> Mapping[str, None] | None:
        return self._agent.absorbed_ids if self._agent is not None else None

    def finish_turn(self) -> None:
        """Remove absorbed messages from the inbox after an accepted turn."""
        self._question, self._half, self._waits = "", "", False
        self._inner = None
        if self._team is None:
            self._drop_taken()
        self._release()

    def _drop_taken(self) -> None:
        absorbed_ids = self._absorbed_ids
        if absorbed_ids is None:
            self.inbox.replace(self.inbox[self._delivered :])
        elif all(message.id in absorbed_ids for message in self.inbox):
            self.inbox.clear()
        else:
            self.inbox.replace(
                [message for message in self.inbox if message.id not in absorbed_ids]
            )

    async def _speak_team(
        self, team: Team, token: CancellationToken
    ) -> AsyncGenerator[Item | SpeakerDone | Suspension, None]:
        if self._team is not None:
            self._team.begin(list(self.inbox))
            self.inbox.clear()
            stream = self._team.drive(token)
        else:
            self._delivered = len(self.inbox)
            stream = team.run_stream(
                task=list(self.inbox) or None, cancellation_token=token, output_task_messages=False
            )
        inner = self._inner = History() if self._inner is None else self._inner
        async with aclosing(stream_in_path(self.name, stream)) as items:
            async for item in items:
                match item:
                    case TaskResult(pending=pending) if pending:
                        yield Suspension(tuple(pending))
                        return
                    case TaskResult():
                        yield SpeakerDone(
                            list(inner),
                            [item for item in inner if isinstance(item, BaseChatMessage)],
                        )
                        return
                    case ModelClientStreamingChunkEvent():
                        yield item
                    case _:
                        inner.append(item)
                        yield item
        raise RuntimeError(f"Team {self.name!r} ended its run without a result.")

    def steer(self, messages: Sequence[BaseChatMessage]) -> None:
        """Add outside messages to the inbox, or to the team's active run."""
        if self._inner is not None and self._team is not None:
            self._team.add_messages(messages)
        else:
            self.inbox.extend(messages)

    def leave_out(self, message: str, note: str) -> None:
        """Hear a note in the place of a message."""
        for place, heard in enumerate(self.inbox):
            if heard.id == message:
                self.inbox[place] = TextMessage(id=message, content=note, source=heard.source)

    async def break_off(self) -> None:
        """Begin the turn anew, knowing how far the answer came."""
        if self._team is not None:
            await self._team.break_off()
            return
        if self._waits:
            return  # nothing of it is said yet
        half = self._half
        await self.abandon()
        self.inbox.extend(half_told(self.name, half))

    async def abandon(self) -> None:
        """Give up an unfinished turn; messages not taken stay in the inbox."""
        self._inner = None
        self._question, self._half, self._waits = "", "", False
        if self._agent is not None:
            await self._agent.abandon_turn()
            if (absorbed_ids := self._absorbed_ids) is not None:
                self.inbox.replace(
                    [message for message in self.inbox if message.id not in absorbed_ids]
                )
        elif self._team is not None:
            await self._team.abandon_turn()
        self._release()

    def release_run(self) -> None:
        """The team's run is over, for now or for good."""
        if self._agent is not None:
            self._agent.release_run()

    async def reset(self, token: CancellationToken) -> None:
        """Back to the beginning."""
        self.inbox.clear()
        self._held = ()
        self._inner = None
        self._question, self._half, self._waits = "", "", False
        if isinstance(self.member, ChatAgent):
            await self.member.on_reset(token)
        else:
            await self.member.reset()

    async def save_state(self) -> dict[str, Any]:
        """The documented state, with what an unfinished turn adds to it."""
        state = ChatAgentContainerState().model_dump()
        state["agent_state"] = await self.member.save_state()
        state["message_buffer"] = dump_items(self.inbox)
        if self._inner is not None:
            state["inner"] = dump_items(self._inner)
        if self._question:
            state["question"] = self._question
        if self._held:
            state["held"] = dump_items(self._held)
        if self._half:
            state["half"] = self._half
        if self._waits:
            state["waits"] = True
        return state

    async def load_state(self, state: Mapping[str, Any], factory: MessageFactory) -> None:
        """Take over what `save_state` returned, or AutoGen's."""
        loaded = ChatAgentContainerState.model_validate(state)
        known = MESSAGE_TYPES.set(factory)
        try:
            await self.member.load_state(loaded.agent_state)
        finally:
            MESSAGE_TYPES.reset(known)
        self.inbox.replace(map(as_chat_message, map(factory.create, loaded.message_buffer)))
        self._question = str(state.get("question", ""))
        self._half, self._waits = str(state.get("half", "")), bool(state.get("waits"))
        self._held = tuple(map(as_chat_message, map(factory.create, state.get("held", ()))))
        inner = state.get("inner")
        self._inner = None if inner is None else History(map(factory.create, inner))

    async def write_state(self, path: str, writer: SnapshotWriter) -> None:
        """Write the place and its member in the compact format."""
        writer.items(path + "inbox", self.inbox, writer.item)
        if self._inner is not None:
            writer.items(path + "inner", self._inner, writer.item)
        place: Mapping[str, Any] = _IDLE
        told = {"half": self._half} if self._half else {}
        if self._waits:
            told = {**told, "waits": True}
        if self._inner is not None or self._question or self._held or told:
            place = {
                "speaking": self._inner is not None,
                "question": self._question,
                "held": [writer.item(message) for message in self._held],
                **told,
            }
        writer.value(path + "place", place)
        if (member := self._agent or self._team) is not None:
            await member.write_state(path, writer)
        else:
            writer.value(path + "state", await self.member.save_state())

    async def read_state(self, path: str, reader: SnapshotReader) -> None:
        """Take over what `write_state` wrote."""
        place = reader.value(path + "place")
        if place is None:
            raise ValueError(f"The saved state has nothing for {self.name!r}.")
        self.inbox.replace(reader.chat_messages(path + "inbox"))
        self._question = place["question"]
        self._half, self._waits = place.get("half", ""), place.get("waits", False)
        self._held = tuple(map(reader.chat_message, place["held"]))
        inner = reader.items(path + "inner")
        self._inner = History(inner) if place["speaking"] else None
        if (member := self._agent or self._team) is not None:
            await member.read_state(path, reader)
        else:
            await self.member.load_state(reader.value(path + "state", {}))


def as_member(participant: Any) -> Any:
    """The agent that a participant of another kind offers."""
    offered = getattr(participant, "as_chat_agent", None)
    return participant if offered is None else offered()


def check_agents(participants: Sequence[object], team: str) -> None:
    """Raise TypeError if any of the participants is not an agent."""
    for participant in participants:
        if not isinstance(as_member(participant), ChatAgent):
            kind = type(participant).__name__
            raise TypeError(f"The participants of a {team} must be agents, found {kind}.")
