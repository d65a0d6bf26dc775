from typing import Any

import pytest

import teams.state
from teams.state import (
    AssistantAgentState,
    BaseState,
    ChatAgentContainerState,
    MagenticOneOrchestratorState,
    RoundRobinManagerState,
    SelectorManagerState,
    SocietyOfMindAgentState,
    SwarmManagerState,
    TeamState,
)

THREAD = {"message_thread": [], "current_turn": 0}


@pytest.mark.parametrize(
    ("state", "fields"),
    [
        (AssistantAgentState(), {"llm_context": {"messages": []}}),
        (TeamState(), {"agent_states": {}}),
        (ChatAgentContainerState(), {"agent_state": {}, "message_buffer": []}),
        (RoundRobinManagerState(), {**THREAD, "next_speaker_index": 0}),
        (SelectorManagerState(), {**THREAD, "previous_speaker": None}),
        (SwarmManagerState(), {**THREAD, "current_speaker": ""}),
        (
            MagenticOneOrchestratorState(),
            {**THREAD, "task": "", "facts": "", "plan": "", "n_rounds": 0, "n_stalls": 0},
        ),
        (SocietyOfMindAgentState(), {"inner_team_state": {}}),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseState) else "",
)
def test_a_new_state_has_the_documented_shape(state: BaseState, fields: dict[str, Any]) -> None:
    name = type(state).__name__
    assert state.model_dump() == {"type": name, "version": "1.0.0", **fields}


def test_what_a_state_holds_beyond_its_shape_is_kept() -> None:
    data = {
        "type": "TeamState",
        "version": "1.0.0",
        "agent_states": {"a": {"agent_state": {}, "message_buffer": []}},
        "run": {"phase": "speak"},
    }
    assert TeamState.model_validate(data).model_dump() == data


@pytest.mark.parametrize(
    ("state", "data"),
    [
        (TeamState, {"agent_states": []}),
        (RoundRobinManagerState, {"next_speaker_index": "first"}),
        (ChatAgentContainerState, {"message_buffer": {}}),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
def test_a_malformed_state_is_a_value_error(state: type[BaseState], data: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=state.__name__):
        state.model_validate(data)


def test_every_public_name_is_listed_in_order() -> None:
    assert teams.state.__all__ == sorted(teams.state.__all__)
