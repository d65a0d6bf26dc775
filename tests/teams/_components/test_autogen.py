"""Components as AutoGen loads them; `tests/autogen` asks AutoGen itself."""

from __future__ import annotations

from typing import Any

import pytest

from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent, CodeExecutorAgent
from teams.code_executors.docker import DockerCommandLineCodeExecutor
from teams.conditions import TextMentionTermination, TokenUsageTermination
from teams.core import ComponentLoader
from teams.models import ModelInfo
from teams.models.openai import OpenAIChatCompletionClient
from teams.models.replay import ReplayChatCompletionClient
from teams.tools import TeamTool


def model() -> ReplayChatCompletionClient:
    info = ModelInfo(
        vision=False,
        function_calling=True,
        json_output=False,
        family="unknown",
        structured_output=False,
    )
    return ReplayChatCompletionClient(["Hello."], model_info=info)


def written(component: Any) -> dict[str, Any]:
    return component.dump_component(provider="autogen").model_dump(mode="json")


def test_every_component_inside_has_autogens_name():
    inner = RoundRobinGroupChat([AssistantAgent("writer", model())], max_turns=1)
    team = RoundRobinGroupChat(
        [AssistantAgent("boss", model(), tools=[TeamTool(inner, "team", "A team.")])],
        termination_condition=TextMentionTermination("OK") | TokenUsageTermination(9),
    )
    form = written(team)
    assert form["provider"] == "autogen_agentchat.teams.RoundRobinGroupChat"
    agent = form["config"]["participants"][0]
    assert (agent["version"], agent["component_version"]) == (2, 2)
    bench = agent["config"].get("workbench", [{}])[0]
    tool = (agent["config"].get("tools") or bench["config"]["tools"])[0]
    assert tool["provider"] == "autogen_agentchat.tools.TeamTool"
    assert '"teams.' not in str(form).replace("'", '"')
    tokens = form["config"]["termination_condition"]["config"]["conditions"][1]["config"]
    assert tokens == {
        "max_total_token": 9,
        "max_prompt_token": None,
        "max_completion_token": None,
    }
    back = ComponentLoader.load_component(form, RoundRobinGroupChat)
    assert back.dump_component() == team.dump_component()


def test_all_that_has_no_counterpart_is_one_error_with_its_places():
    client = OpenAIChatCompletionClient(
        model="gpt-4o", api_key="sk-x", max_completion_tokens=9, reasoning_effort="xhigh"
    )
    team = RoundRobinGroupChat(
        [AssistantAgent("writer", client)],
        termination_condition=TextMentionTermination("OK", sources=["writer"]),
    )
    with pytest.raises(NotImplementedError) as caught:
        team.dump_component(provider="autogen")
    assert str(caught.value).splitlines() == [
        "AutoGen 0.7.5 has no counterpart of:",
        "  participants[0].model_client.max_completion_tokens (OpenAIChatCompletionClient)",
        "  participants[0].model_client.reasoning_effort = 'xhigh' (OpenAIChatCompletionClient)",
        "  termination_condition.sources (TextMentionTermination)",
    ]


class Own(TextMentionTermination):
    """A condition of a program's own."""


def test_a_class_of_ones_own_is_named():
    with pytest.raises(NotImplementedError, match=rf"the component: {__name__}\.Own"):
        Own("OK").dump_component(provider="autogen")


def test_a_key_is_left_to_the_environment_not_written_as_stars():
    client = OpenAIChatCompletionClient(model="gpt-4o", api_key="sk-x")
    assert "api_key" not in written(client)["config"]


def test_a_container_without_its_limits_is_a_warning():
    agent = CodeExecutorAgent("coder", DockerCommandLineCodeExecutor())
    with pytest.warns(UserWarning, match=r"code_executor: AutoGen's container has a network"):
        config = written(agent)["config"]["code_executor"]["config"]
    assert not {"network_mode", "mem_limit", "pids_limit", "read_only"} & set(config)
    strict = DockerCommandLineCodeExecutor(mem_limit="2g")
    with pytest.raises(NotImplementedError, match=r"mem_limit \(Docker"):
        strict.dump_component(provider="autogen")


def test_another_provider_is_refused() -> None:
    with pytest.raises(ValueError, match="'teams' or 'autogen', found 'studio'"):
        TextMentionTermination("OK").dump_component(provider="studio")  # pyright: ignore[reportArgumentType]
