"""RoundRobinGroupChat: the participants speak in turn."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel

from teams._components.component import Component, ComponentModel
from teams._contract.agent import AgentLike
from teams._contract.state import RoundRobinManagerState
from teams._contract.team import Team
from teams._contract.termination import TerminationCondition
from teams._engine.group_chat import BaseGroupChat
from teams._messages.base import BaseAgentEvent, BaseChatMessage


class RoundRobinGroupChatConfig(BaseModel, defer_build=True):
    """See `RoundRobinGroupChat` for what the fields mean."""

    name: str | None = None
    description: str | None = None
    participants: list[ComponentModel]
    termination_condition: Annotated[ComponentModel | None, TerminationCondition] = None
    max_turns: int | None = None
    emit_team_events: bool = False


class RoundRobinGroupChat(BaseGroupChat, Component[RoundRobinGroupChatConfig]):
    """A team whose participants speak in the order they were given.

    Args:
        participants: agents or teams, at least one, with unique names.
        name: needed where the team is a participant of another one.
        description: for teams that choose speakers by description.
        termination_condition: ends a run; without one (and without max_turns) a run goes on for
            ever.
        max_turns: ends a run after so many turns, if the condition has not.
        custom_message_types: message types of your own that participants produce.
        emit_team_events: yield a SelectSpeakerEvent before each turn.

    The next run goes on with the participant after the one that spoke last.
    """

    component_config_schema = RoundRobinGroupChatConfig
    component_provider_override: ClassVar[str | None] = "teams.RoundRobinGroupChat"
    manager_name: ClassVar[str] = "RoundRobinGroupChatManager"
    manager_state_type = RoundRobinManagerState
    takes_calls = True

    DEFAULT_NAME = "RoundRobinGroupChat"
    DEFAULT_DESCRIPTION = "A team of agents."

    def __init__(
        self,
        participants: Sequence[AgentLike | Team],
        *,
        name: str | None = None,
        description: str | None = None,
        termination_condition: TerminationCondition | None = None,
        max_turns: int | None = None,
        runtime: None = None,
        custom_message_types: Sequence[type[BaseAgentEvent | BaseChatMessage]] | None = None,
        emit_team_events: bool = False,
    ) -> None:
        super().__init__(
            name=name or self.DEFAULT_NAME,
            description=description or self.DEFAULT_DESCRIPTION,
            participants=participants,
            termination_condition=termination_condition,
            max_turns=max_turns,
            custom_message_types=custom_message_types,
            runtime=runtime,
            emit_team_events=emit_team_events,
        )
        self._next_speaker_index = 0

    async def select_speaker(self, thread: Sequence[BaseAgentEvent | BaseChatMessage]) -> str:
        """The next in the circle."""
        speaker = self._participants[self._next_speaker_index].name
        self._next_speaker_index = (self._next_speaker_index + 1) % len(self._participants)
        return speaker

    def undo_selection(self) -> None:
        self._next_speaker_index = (self._next_speaker_index - 1) % len(self._participants)

    def set_next_speaker(self, name: str) -> None:
        """The circle goes on from there."""
        self._next_speaker_index = self.participant_names.index(name)

    def manager_state(self) -> Mapping[str, Any]:
        return {"next_speaker_index": self._next_speaker_index}

    def load_manager(self, state: Mapping[str, Any]) -> None:
        index = int(state["next_speaker_index"])
        if not 0 <= index < len(self._participants):
            raise ValueError(
                f"next_speaker_index {index} does not fit {len(self._participants)} participants."
            )
        self._next_speaker_index = index

    async def reset_manager(self) -> None:
        self._next_speaker_index = 0
