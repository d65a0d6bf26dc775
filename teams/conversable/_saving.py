"""State of agents as JSON data, partners by name."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from teams._base.malformed import malformed_is_value_error
from teams.conversable._protocols import Agent, Given, Settings
from teams.conversable._state import AgentState

TYPE = "ConversableAgentState"
_TABLES = {
    "chat_messages": "_oai_messages",
    "auto_reply_counters": "_counters",
    "max_auto_replies": "_limits",
    "reply_at_receive": "reply_at_receive",
}
"""Key in the state, and the attribute: a dict by partner."""


def save_agent(agent: AgentState) -> Settings:
    """The whole state of an agent.

    Raises ValueError for two partners of one name, TypeError for what is not JSON data.
    """
    messages = _by_name(agent, "chat_messages")
    state = {"type": TYPE, "version": "1.0.0", "chat_messages": messages, **save_standing(agent)}
    state |= agent._own_state()
    return json_copy(state, f"state of agent {agent.name!r}")


def save_standing(agent: AgentState) -> Settings:
    """The state without the conversations."""
    client = agent.client
    usage = client and [client.actual_usage_summary, client.total_usage_summary]
    return {
        **{key: _by_name(agent, key) for key in _TABLES if key != "chat_messages"},
        "max_auto_reply": agent._limit,
        "human_input": list(agent._human_input),
        "system_message": agent.system_message,
        "context_variables": agent.context_variables,
        "usage": usage,
    }


def load_agent(agent: AgentState, state: Given, partners: Iterable[Agent]) -> None:
    """Take over a state; partners not given are met later."""
    with malformed_is_value_error(f"agent {agent.name!r}"):
        if state["type"] != TYPE:
            raise ValueError(f"The type is {state['type']!r}, not {TYPE!r}.")
        load_standing(agent, state, partners)
        agent._load_own_state(state, partners)


def load_standing(agent: AgentState, state: Given, partners: Iterable[Agent]) -> None:
    """Take over what `save_standing` returned, or the whole state."""
    known: dict[str, Agent | None] = {each.name: each for each in partners}
    known[""] = None
    for key in _TABLES.keys() & state.keys():
        _load_table(agent, key, dict(state[key]), known)
    agent._limit = state["max_auto_reply"]
    agent._human_input[:] = state["human_input"]
    agent.update_system_message(state["system_message"])
    agent.context_variables.clear()
    agent.context_variables.update(json_copy(state["context_variables"], "context"))
    if agent.client is not None and state["usage"] is not None:
        actual, total = json_copy(state["usage"], "usage")
        agent.client.actual_usage_summary, agent.client.total_usage_summary = actual, total


def _load_table(
    agent: AgentState, key: str, saved: Settings, known: Mapping[str, Agent | None]
) -> None:
    table: dict[Agent | None, Any] = getattr(agent, _TABLES[key])
    before = dict(table)
    table.clear()
    for name in [name for name in saved if name in known]:
        value, partner = json_copy(saved.pop(name), key), known[name]
        if isinstance(value, list) and partner in before:  # the list itself may be known to others
            before[partner][:] = value
            value = before[partner]
        table[partner] = value
    agent._unmet[_TABLES[key]] = saved


def _by_name(agent: AgentState, key: str) -> Settings:
    table: Mapping[Agent | None, object] = getattr(agent, _TABLES[key])
    named: Settings = {}
    for partner, value in table.items():
        name = "" if partner is None else partner.name
        if name in named:
            raise ValueError(
                f"Agent {agent.name!r} has two partners named {name!r}: "
                "its state can't tell them apart."
            )
        named[name] = value
    return {**agent._unmet.get(_TABLES[key], {}), **named}


def json_copy(value: object, what: str) -> Any:
    """A copy through JSON; TypeError for anything that is not JSON data."""
    try:
        return json.loads(json.dumps(value))
    except (TypeError, ValueError) as error:
        raise TypeError(f"The {what} can't be saved, as it is not JSON data: {error}.") from error
