"""The documented shapes of saved states."""

from teams._contract.state import (
    AssistantAgentState,
    BaseGroupChatManagerState,
    BaseState,
    ChatAgentContainerState,
    MagenticOneOrchestratorState,
    RoundRobinManagerState,
    SelectorManagerState,
    SocietyOfMindAgentState,
    SwarmManagerState,
    TeamState,
)

__all__ = [
    "AssistantAgentState",
    "BaseGroupChatManagerState",
    "BaseState",
    "ChatAgentContainerState",
    "MagenticOneOrchestratorState",
    "RoundRobinManagerState",
    "SelectorManagerState",
    "SocietyOfMindAgentState",
    "SwarmManagerState",
    "TeamState",
]
