"""The documented shapes of saved states; other fields are kept."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

Data = Mapping[str, Any]


class BaseState(BaseModel):
    """The fields of every saved state."""

    model_config = ConfigDict(extra="allow", defer_build=True)

    type: str = "BaseState"
    """The name of the class that reads it."""

    version: str = "1.0.0"
    """The version of its shape."""


class AssistantAgentState(BaseState):
    """State of an AssistantAgent."""

    llm_context: Data = Field(default_factory=lambda: {"messages": []})
    """State of its model context."""

    type: str = "AssistantAgentState"


class TeamState(BaseState):
    """State of a team."""

    agent_states: Data = Field(default_factory=dict[str, Any])
    """By participant its ChatAgentContainerState, by manager name the speaker selection's state."""

    type: str = "TeamState"


class ChatAgentContainerState(BaseState):
    """State of a participant within its team."""

    agent_state: Data = Field(default_factory=dict[str, Any])
    """The agent's or inner team's own state."""

    message_buffer: list[Data] = Field(default_factory=list[Data])
    """Dumped messages that wait for its next turn."""

    type: str = "ChatAgentContainerState"


class BaseGroupChatManagerState(BaseState):
    """The fields of all states of a speaker selection."""

    message_thread: list[Data] = Field(default_factory=list[Data])
    """The dumped messages and events of the conversation."""

    current_turn: int = 0
    """Number of turns in the current run."""

    type: str = "BaseGroupChatManagerState"


class RoundRobinManagerState(BaseGroupChatManagerState):
    """State of a RoundRobinGroupChat."""

    next_speaker_index: int = 0
    """Position of the participant that speaks next."""

    type: str = "RoundRobinManagerState"


class SelectorManagerState(BaseGroupChatManagerState):
    """State of a SelectorGroupChat."""

    previous_speaker: str | None = None
    """Name of the participant that spoke last."""

    type: str = "SelectorManagerState"


class SwarmManagerState(BaseGroupChatManagerState):
    """State of a Swarm."""

    current_speaker: str = ""
    """Name of the participant on turn."""

    type: str = "SwarmManagerState"


class MagenticOneOrchestratorState(BaseGroupChatManagerState):
    """State of a MagenticOneGroupChat."""

    task: str = ""
    facts: str = ""
    """Known and missing facts."""

    plan: str = ""
    n_rounds: int = 0
    n_stalls: int = 0
    """Recent rounds without progress."""

    type: str = "MagenticOneOrchestratorState"


class SocietyOfMindAgentState(BaseState):
    """State of a SocietyOfMindAgent."""

    inner_team_state: Data = Field(default_factory=dict[str, Any])
    type: str = "SocietyOfMindAgentState"
