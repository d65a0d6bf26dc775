"""Swarm: whoever was handed off to speaks next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel

from teams._base.tool_call import AGENT_PATH
from teams._components.component import Component, ComponentModel
from teams._contract.agent import AgentLike, ChatAgent
from teams._contract.state import SwarmManagerState
from teams._contract.termination import TerminationCondition
from teams._engine.group_chat import BaseGroupChat
from teams._engine.participant import check_agents
from teams._messages.base import BaseAgentEvent, BaseChatMessage
from teams._messages.chat import HandoffMessage


class SwarmConfig(BaseModel, defer_build=True):
    """See `Swarm` for what the fields mean."""

    name: str | None = None
    description: str | None = None
    participants: list[Annotated[ComponentModel, ChatAgent]]
    termination_condition: Annotated[ComponentModel | None, TerminationCondition] = None
    max_turns: int | None = None
    emit_team_events: bool = False


class Swarm(BaseGroupChat, Component[SwarmConfig]):
    """A team in which the latest HandoffMessage names the next speaker.

    Without a new one the speaker stays. The first participant begins, and must be able to hand off.
    After a hand-off to somebody outside the team (a user; see HandoffTermination) the next run
    needs a `HandoffMessage` whose target is a participant; inside of another team, who handed off
    goes on with whatever is said next.

    Args: as for RoundRobinGroupChat, but participants must be agents.

    Raises TypeError for a team among the participants, ValueError if the first one cannot hand off;
    starting a run raises ValueError while the latest hand-off names nobody in the team.
    """

    component_config_schema = SwarmConfig
    component_provider_override: ClassVar[str | None] = "teams.Swarm"
    manager_name: ClassVar[str] = "SwarmGroupChatManager"
    manager_state_type = SwarmManagerState

    DEFAULT_NAME = "Swarm"
    DEFAULT_DESCRIPTION = "A team of agents."

    def __init__(
        self,
        participants: Sequence[AgentLike],
        *,
        name: str | None = None,
        description: str | None = None,
        termination_condition: TerminationCondition | None = None,
        max_turns: int | None = None,
        runtime: None = None,
        emit_team_events: bool = False,
        custom_message_types: Sequence[type[BaseAgentEvent | BaseChatMessage]] | None = None,
    ) -> None:
        check_agents(participants, "Swarm")
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
        first = self._participants[0]
        if not isinstance(first, ChatAgent) or HandoffMessage not in first.produced_message_types:
            raise ValueError(
                f"{first.name!r} is the first participant of a Swarm, but can't hand off: begin "
                f"with an agent that can, e.g. an AssistantAgent with handoffs=[{first.name!r}]."
            )
        self._current_speaker = first.name
        self._scanned = 0
        self._handoff_target: str | None = None
        """Target of the latest hand-off in the part of the thread that was scanned."""

    async def select_speaker(self, thread: Sequence[BaseAgentEvent | BaseChatMessage]) -> str:
        """The target of the latest hand-off, else the current speaker."""
        target = self._latest_target()
        if target is not None and not self._was_answered(target):
            if target not in self._places:
                raise ValueError(_no_participant(target, self._places))
            self._current_speaker = target
        return self._current_speaker

    def _was_answered(self, target: str) -> bool:
        """True if an outside hand-off has come back to its source.

        A team inside of another one is given no HandoffMessage: what it is told next is the answer.
        """
        if target in self._places or not AGENT_PATH.get():
            return False
        return not isinstance(self._thread[-1], HandoffMessage)

    def check_start(self, messages: Sequence[BaseChatMessage]) -> None:
        handoffs = [message.target for message in messages if isinstance(message, HandoffMessage)]
        target = handoffs[-1] if handoffs else self._latest_target()
        if target is not None and target not in self._places:
            raise ValueError(_no_participant(target, self._places))

    def _latest_target(self) -> str | None:
        for item in self._thread[self._scanned :]:
            if isinstance(item, HandoffMessage):
                self._handoff_target = item.target
        self._scanned = len(self._thread)
        return self._handoff_target

    def manager_state(self) -> Mapping[str, Any]:
        return {"current_speaker": self._current_speaker}

    def load_manager(self, state: Mapping[str, Any]) -> None:
        speaker = state["current_speaker"]
        if speaker not in self._places:
            raise ValueError(
                f"The state's current speaker: {_no_participant(speaker, self._places)}"
            )
        self._current_speaker = speaker
        self._scanned, self._handoff_target = 0, None

    async def reset_manager(self) -> None:
        self._current_speaker = self._participants[0].name
        self._scanned, self._handoff_target = 0, None


def _no_participant(target: str, participants: Mapping[str, Any]) -> str:
    return (
        f"{target!r} is no participant ({', '.join(participants)}). To go on after a hand-off to "
        "somebody outside the team, run it with a HandoffMessage whose target is a participant."
    )
