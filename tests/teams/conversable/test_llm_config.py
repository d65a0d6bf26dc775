"""LLMConfig: entries, filters, and the default of a block."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from teams.conversable import (
    AssistantAgent,
    ConversableAgent,
    GroupChat,
    GroupChatManager,
    LLMConfig,
    UserProxyAgent,
)

TWO = LLMConfig(
    config_list=[
        {"model": "big", "api_key": "sk-secret", "tags": ["a", "b"]},
        {"model": "small", "api_type": "ollama", "tags": ["b"]},
    ],
    temperature=0.5,
)


def models(config: Any) -> list[str]:
    return [each["model"] for each in config["config_list"]]


def test_one_models_settings_are_an_entry_beside_the_shared_ones():
    config = LLMConfig(model="m", api_key="k", temperature=0.1, cache_seed=None)
    assert config == {
        "temperature": 0.1,
        "cache_seed": None,
        "config_list": [{"api_type": "openai", "model": "m", "api_key": "k", "tags": []}],
    }
    assert config.temperature == config["temperature"] == config.get("temperature") == 0.1
    assert config.config_list[0].model == "m"
    assert set(config.keys()) == {"temperature", "cache_seed", "config_list"}
    with pytest.raises(AttributeError, match="no attribute 'top_p'"):
        _ = config.top_p


def test_its_text_has_no_keys():
    assert "sk-secret" not in repr(TWO)
    assert "big" in repr(TWO)


def test_it_is_copied_and_written_down():
    copied = TWO.copy()
    assert copied == TWO
    assert copied is not TWO
    assert copied.config_list[0] is not TWO.config_list[0]
    assert LLMConfig(**TWO.model_dump()) == TWO.deepcopy()
    assert json.loads(TWO.model_dump_json()) == TWO


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"model": "m", "bogus": 1}, "does not know 'bogus'"),
        ({"config_list": [{"model": "m", "bogus": 1, "apikey": 2}]}, "know 'apikey', 'bogus'"),
        ({"config_list": [{"model": "m"}], "bogus": 1}, "does not know 'bogus'"),
        ({}, "no 'model'"),
        ({"model": ""}, "no 'model'"),
        ({"config_list": [{"api_key": "k"}]}, "no 'model'"),
        ({"config_list": []}, "at least one model"),
    ],
)
def test_unknown_settings_and_missing_models_are_refused(given: Any, problem: str):
    with pytest.raises(ValueError, match=problem):
        LLMConfig(**given)


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"tags": ["a"]}, ["big"]),
        ({"tags": "b"}, ["big", "small"]),
        ({"model": "small"}, ["small"]),
        ({"model": ["small", "big"]}, ["big", "small"]),
        ({"api_type": "ollama", "tags": ["b"]}, ["small"]),
        ({"exclude": True, "tags": ["a"]}, ["small"]),
    ],
)
def test_models_are_chosen_by_their_settings(filters: Any, expected: list[str]):
    chosen = TWO.where(**filters)
    assert models(chosen) == expected
    assert chosen.temperature == 0.5


def test_no_model_left_is_an_error():
    with pytest.raises(ValueError, match=r"No config found .*'zed'"):
        TWO.where(model="zed")


def test_agents_made_in_its_block_have_it():
    with TWO as entered:
        assert entered is LLMConfig.current is LLMConfig.default
        agents = ConversableAgent("a"), AssistantAgent("b"), GroupChatManager(GroupChat([]))
        own = ConversableAgent("c", llm_config={"model": "own"})
        none = ConversableAgent("d", llm_config=False), UserProxyAgent("e")
        with LLMConfig(model="inner"):
            inner = ConversableAgent("f")
        assert LLMConfig.get_current_llm_config() is TWO
    assert all(models(each.llm_config) == ["big", "small"] for each in agents)
    assert own.llm_config == {"model": "own"}
    assert [each.llm_config for each in none] == [False, False]
    assert models(inner.llm_config) == ["inner"]
    assert ConversableAgent("g").llm_config is False
    assert LLMConfig.get_current_llm_config() is None
    with pytest.raises(ValueError, match="No current LLMConfig"):
        _ = LLMConfig.current


async def test_a_block_counts_in_its_own_task():
    entered = asyncio.Event()
    left = asyncio.Event()

    async def inside() -> Any:
        with TWO:
            entered.set()
            await left.wait()
            return ConversableAgent("a").llm_config

    async with asyncio.TaskGroup() as group:
        task = group.create_task(inside())
        await entered.wait()
        assert ConversableAgent("b").llm_config is False
        left.set()
    assert models(task.result()) == ["big", "small"]


def test_an_agents_tools_are_its_own():
    agent = ConversableAgent("a", llm_config=TWO)
    agent.update_tool_signature(
        {"type": "function", "function": {"name": "f", "description": "", "parameters": {}}},
        is_remove=False,
    )
    assert agent.llm_config["tools"][0]["function"]["name"] == "f"
    assert "tools" not in TWO


def test_entries_come_from_a_variable_or_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "list.json").write_text('[{"model": "of a file"}]')
    monkeypatch.setenv("LIST", '[{"model": "of a variable"}]')
    assert models(LLMConfig.from_json(env="LIST", temperature=1)) == ["of a variable"]
    found = LLMConfig.from_json(path="list.json", file_location=str(tmp_path))
    assert models(found) == ["of a file"]
    for wrong in ({}, {"env": "LIST", "path": "list.json"}):
        with pytest.raises(ValueError, match="either 'env' or 'path'"):
            LLMConfig.from_json(**wrong)
