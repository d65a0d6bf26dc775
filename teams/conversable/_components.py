"""Agents and chats as component JSON: what is data in them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal, Self, cast

from pydantic import BaseModel, Field

from teams._components.component import (
    Component,
    ComponentBase,
    ComponentModel,
    ComponentToConfig,
    ComponentType,
    is_component_instance,
)
from teams.code_executors._base import CodeExecutor
from teams.conversable._human_input import HumanInputMode
from teams.conversable._messages import says_terminate
from teams.conversable._protocols import Agent, Function, Given, Settings
from teams.conversable._saving import json_copy
from teams.conversable._state import AgentState

_SECRETS = frozenset(
    {"api_key", "azure_ad_token", "aws_access_key", "aws_secret_key", "aws_session_token"}
)
_SECRET_HEADERS = ("authorization", "cookie", "key", "secret", "token")
_HEADERS = frozenset({"default_headers", "extra_headers", "headers"})


class ConversableAgentConfig(BaseModel):
    """An agent's settings; those left out are the class's own."""

    name: str
    system_message: str | list[Any] | None = ""
    llm_config: Settings | Literal[False] = False
    human_input_mode: HumanInputMode = "TERMINATE"
    max_consecutive_auto_reply: int = 100
    default_auto_reply: str | Settings | None = ""
    description: str | list[Any] | None = ""
    code_execution_config: Settings | Literal[False] = False
    silent: bool | None = None
    context_variables: Settings = Field(default_factory=dict)


class AgentComponent(ComponentBase[ConversableAgentConfig], Component[ConversableAgentConfig]):
    """An agent that dumps and loads its settings, without its conversations."""

    component_type: ClassVar[ComponentType] = "agent"
    component_config_schema = ConversableAgentConfig

    def _to_config(self) -> ConversableAgentConfig:
        agent = cast("Any", self)
        whose = f"agent {agent.name!r}"
        if functions := [*_functions_of(agent)]:
            raise NotImplementedError(
                f"Functions can't be written down; {whose} has {', '.join(functions)}."
            )
        config = ConversableAgentConfig(
            name=agent.name,
            system_message=agent.system_message,
            llm_config=agent.llm_config and without_secrets(agent.llm_config),
            human_input_mode=agent.human_input_mode,
            max_consecutive_auto_reply=agent.max_consecutive_auto_reply(),
            default_auto_reply=agent._default_auto_reply,
            description=agent.description,
            code_execution_config=_dump_executor(agent._code_execution_config),
            silent=agent.silent,
            context_variables=agent.context_variables,
        )
        for field in type(config).model_fields:
            check_data(getattr(config, field), f"{field} of {whose}")
        return config

    @classmethod
    def _from_config(cls, config: ConversableAgentConfig) -> Self:
        given = {name: getattr(config, name) for name in config.model_fields_set}
        if code := given.get("code_execution_config"):
            given["code_execution_config"] = _load_executor(code)
        return cls(**given)


def _functions_of(agent: Any) -> Iterator[str]:
    """Whatever in the agent is a function, in words."""
    if agent._is_termination_msg is not says_terminate:
        yield "is_termination_msg"
    if agent._function_map:
        yield f"function_map ({', '.join(agent._function_map)})"
    steps = [step for step, _, _ in agent._built_in_steps()]
    if [entry.step for entry in agent._replies] != steps:
        yield "registered replies"
    yield from (f"hooks for {name}" for name, hooks in agent._hooks.items() if hooks)


def check_data(value: object, what: str) -> None:
    """NotImplementedError for what is not JSON data."""
    try:
        json_copy(value, what)
    except TypeError as error:
        raise NotImplementedError(
            f"The {what} can't be written down, as it is not JSON data: {error.__cause__}."
        ) from error


def without_secrets(value: object) -> Any:
    """The settings without keys, which come from the environment."""
    match value:
        case dict():
            items = cast("Settings", value).items()
            return {
                key: _without_secret_headers(each) if key in _HEADERS else without_secrets(each)
                for key, each in items
                if key not in _SECRETS
            }
        case list():
            return [without_secrets(each) for each in cast("list[Any]", value)]
        case _:
            return value


def _without_secret_headers(headers: Given | None) -> Settings:
    return {
        name: value
        for name, value in dict(headers or {}).items()
        if not any(word in name.lower() for word in _SECRET_HEADERS)
    }


def _dump_executor(config: Settings | Literal[False]) -> Settings | Literal[False]:
    executor = config and config.get("executor")
    if not config or not is_component_instance(executor):
        return config
    return {**config, "executor": executor.dump_component().model_dump(mode="json")}


def _load_executor(config: Settings) -> Settings:
    executor = config.get("executor")
    if not isinstance(executor, dict):
        return config
    return {**config, "executor": CodeExecutor.load_component(cast("Settings", executor))}


def dump_member(agent: Agent | AgentState) -> ComponentModel:
    """The component of an agent in a chat."""
    if not isinstance(agent, ComponentToConfig):
        raise NotImplementedError(f"Agent {agent.name!r} is no component, so it can't be dumped.")
    return agent.dump_component()


def load_member(component: ComponentModel) -> Any:
    """The agent of a chat; TypeError for anything else."""
    return AgentComponent.load_component(component)


class ConversableChatConfig(BaseModel):
    """Two agents and how they chat."""

    starter: ComponentModel
    recipient: ComponentModel
    name: str = "ConversableChat"
    description: str = "A chat of two agents."
    arguments: Settings = Field(default_factory=dict)


class ConversableQueueConfig(BaseModel):
    """Agents, each once, and chats that name them."""

    agents: list[ComponentModel]
    chats: list[Settings]
    sender: str | None = None
    name: str = "ConversableQueue"
    description: str = "A queue of chats."


def dump_chats(chats: list[Settings]) -> list[Settings]:
    """Chats that name their agents."""
    named = [_replace_agents(chat, _name_of) for chat in chats]
    for number, chat in enumerate(named):
        check_data(chat, f"chat {number} of the queue")
    return named


def load_chats(chats: list[Settings], agents: Given) -> list[Settings]:
    """Chats of the agents that they name."""
    return [_replace_agents(chat, agents.__getitem__) for chat in chats]


def _name_of(agent: Agent) -> str:
    return agent.name


def _replace_agents(chat: Settings, other: Function) -> Settings:
    return {
        key: other(value) if key in {"sender", "recipient"} else value
        for key, value in chat.items()
    }
