"""Agents and chats as component JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from teams.code_executors.local import LocalCommandLineCodeExecutor
from teams.conversable import (
    AssistantAgent,
    ConversableAgent,
    ConversableChat,
    ConversableQueue,
    UserProxyAgent,
)
from teams.core import ComponentLoader
from tests.fakes.openai_script import Reply
from tests.fakes.openai_server import FakeOpenAI
from tests.teams.conversable.pairs import agent, contents


def again(component: Any) -> Any:
    """The component that loads from the JSON text of another."""
    text = component.dump_component().model_dump_json()
    loaded: Any = ComponentLoader.load_component(json.loads(text))
    assert type(loaded) is type(component)
    assert loaded.dump_component() == component.dump_component()
    return loaded


@pytest.mark.parametrize("kind", [ConversableAgent, AssistantAgent, UserProxyAgent])
def test_each_kind_keeps_its_settings(kind: type[ConversableAgent]):
    given = kind(
        "al",
        system_message="Be brief.",
        human_input_mode="NEVER",
        max_consecutive_auto_reply=3,
        default_auto_reply={"content": "hm"},
        description="Brief.",
        code_execution_config={"use_docker": False, "last_n_messages": 2},
        context_variables={"a": None},
    )
    loaded = again(given)
    assert loaded.dump_component().provider == f"teams.conversable.{kind.__name__}"
    assert (loaded.name, loaded.system_message, loaded.description) == ("al", "Be brief.", "Brief.")
    assert (loaded.human_input_mode, loaded.max_consecutive_auto_reply()) == ("NEVER", 3)
    assert loaded.use_docker is False
    assert loaded.context_variables == {"a": None}
    assert loaded.generate_reply([{"role": "user", "content": "x"}], agent()) == {"content": "hm"}


@pytest.mark.parametrize("kind", [ConversableAgent, AssistantAgent, UserProxyAgent])
def test_each_kind_has_its_own_defaults(kind: type[ConversableAgent]):
    provider = f"teams.conversable.{kind.__name__}"
    loaded: Any = ComponentLoader.load_component({"provider": provider, "config": {"name": "al"}})
    assert loaded.dump_component() == kind("al").dump_component()
    again(kind("al"))
    again(kind("al", system_message=None, default_auto_reply=None))


async def test_a_key_stays_at_home_and_comes_from_the_environment(monkeypatch: Any):
    async with FakeOpenAI(Reply(text="hello")) as server:
        headers = {"Authorization": "Bearer sk-secret", "X-Team": "red"}
        entry = {"model": "gpt-4o", "api_key": "sk-secret", "base_url": server.url}
        config = {"config_list": [{**entry, "default_headers": headers}], "api_key": "sk-secret"}
        given = agent("al", llm_config={**config, "temperature": 0})
        assert "sk-secret" not in given.dump_component().model_dump_json()
        monkeypatch.setenv("OPENAI_API_KEY", "sk-mine")
        loaded = again(given)
        assert loaded.llm_config["config_list"] == [
            {"model": "gpt-4o", "base_url": server.url, "default_headers": {"X-Team": "red"}}
        ]
        assert given.llm_config["api_key"] == "sk-secret"
        reply = await loaded.a_generate_reply([{"role": "user", "content": "hi"}], agent("bo"))
    assert reply == "hello"


def test_an_executor_is_a_component_inside():
    loaded = again(agent(code_execution_config={"executor": LocalCommandLineCodeExecutor()}))
    assert isinstance(loaded.code_executor, LocalCommandLineCodeExecutor)


def adds_reply(it: ConversableAgent) -> None:
    it.register_reply([ConversableAgent], lambda *_, **__: (False, None))


def adds_hook(it: ConversableAgent) -> None:
    it.register_hook("process_last_received_message", lambda text: text)


def replaces(it: ConversableAgent) -> None:
    it.replace_reply_func(ConversableAgent.generate_oai_reply, lambda *_, **__: (False, None))


def adds_function(it: ConversableAgent) -> None:
    it.register_function({"add": lambda: 1})


def nests(it: ConversableAgent) -> None:
    it.register_nested_chats([{"recipient": agent("bo")}], trigger=lambda _: True)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (adds_reply, "registered replies"),
        (replaces, "registered replies"),
        (nests, "registered replies"),
        (adds_hook, "hooks for process_last_received_message"),
        (adds_function, r"function_map \(add\)"),
    ],
)
def test_a_function_is_named_that_cannot_be_written_down(
    change: Callable[[ConversableAgent], None], named: str
):
    it = agent("al")
    change(it)
    with pytest.raises(NotImplementedError, match=f"agent 'al' has {named}"):
        it.dump_component()


def test_functions_among_the_settings_are_named():
    with pytest.raises(NotImplementedError, match="agent 'al' has is_termination_msg"):
        agent("al", is_termination_msg=lambda _: True).dump_component()
    entry = {"model": "x", "azure_ad_token_provider": str}
    with pytest.raises(NotImplementedError, match="llm_config of agent 'al'"):
        agent("al", llm_config={"config_list": [entry]}).dump_component()
    with pytest.raises(NotImplementedError, match="arguments of 'ConversableChat'"):
        ConversableChat(agent("al"), agent("bo"), summary_method=lambda *_: "x").dump_component()
    with pytest.raises(NotImplementedError, match="chat 0 of the queue"):
        ConversableQueue([{"recipient": agent("bo"), "message": print}], agent()).dump_component()


async def test_a_chat_loads_and_runs():
    al, bo = agent("al", default_auto_reply="one"), agent("bo", default_auto_reply="two")
    team = again(ConversableChat(al, bo, name="pair", max_turns=2))
    assert (team.name, team.participant_names) == ("pair", ["al", "bo"])
    result = await team.run(task="go")
    assert contents([vars(each) for each in result.messages]) == ["go", "two", "one", "two"]


async def test_a_queue_loads_with_each_agent_once():
    al, bo = agent("al", default_auto_reply="one"), agent("bo", default_auto_reply="two")
    chats = [
        {"recipient": bo, "message": "x", "max_turns": 1},
        {"sender": bo, "recipient": al, "message": "y", "max_turns": 1, "clear_history": False},
    ]
    team = again(ConversableQueue(chats, al))
    assert team.participant_names == ["al", "bo"]
    result = await team.run(task="go")
    said = [(each.source, each.content.partition("\n")[0]) for each in result.messages]
    assert said == [("user", "go"), ("al", "x"), ("bo", "two"), ("bo", "y"), ("al", "one")]


def test_what_is_no_agent_of_ours_is_refused():
    part = {"provider": "teams.core.InMemoryStore", "config": {}}
    chat = {"starter": part, "recipient": part}
    with pytest.raises(TypeError, match="Expected a component of type AgentComponent"):
        ComponentLoader.load_component(
            {"provider": "teams.conversable.ConversableChat", "config": chat}
        )
