"""The usual two agents."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from teams.conversable import AssistantAgent, ConversableAgent, UserProxyAgent


def test_an_assistant_asks_nobody_and_runs_no_code():
    assistant = AssistantAgent("assistant")
    assert isinstance(assistant, ConversableAgent)
    assert assistant.human_input_mode == "NEVER"
    assert assistant.system_message == AssistantAgent.DEFAULT_SYSTEM_MESSAGE
    assert assistant.description == AssistantAgent.DEFAULT_DESCRIPTION
    assert assistant.use_docker is None
    assert AssistantAgent("a", system_message="Be brief.").description == "Be brief."
    assert AssistantAgent("a", description="mine").description == "mine"


@pytest.mark.parametrize("word", ["plan", "step", "python", "sh", "print", "# filename:", "whole"])
def test_the_prompt_says_how_to_write_code(word: str):
    assert word in AssistantAgent.DEFAULT_SYSTEM_MESSAGE
    assert AssistantAgent.DEFAULT_SYSTEM_MESSAGE.endswith("TERMINATE at the end.")


def test_a_user_s_proxy_asks_always():
    proxy = UserProxyAgent("user", code_execution_config=False)
    assert (proxy.human_input_mode, proxy.system_message) == ("ALWAYS", "")
    descriptions = UserProxyAgent.DEFAULT_USER_PROXY_AGENT_DESCRIPTIONS
    assert set(descriptions) == {"ALWAYS", "TERMINATE", "NEVER"}
    assert proxy.description == descriptions["ALWAYS"]
    never = UserProxyAgent("user", human_input_mode="NEVER", code_execution_config=False)
    assert never.description == descriptions["NEVER"]
    assert never.generate_reply([{"role": "user", "content": "hi"}]) == ""


def test_other_arguments_reach_the_agent():
    assert AssistantAgent("a", silent=True, context_variables={"x": 1}).get_context("x") == 1
    with pytest.raises(TypeError):
        UserProxyAgent("u", colour="red")


@pytest.mark.parametrize(
    ("preset", "defaults"),
    [
        (
            AssistantAgent,
            {
                "system_message": AssistantAgent.DEFAULT_SYSTEM_MESSAGE,
                "llm_config": None,
                "is_termination_msg": None,
                "max_consecutive_auto_reply": None,
                "human_input_mode": "NEVER",
                "description": None,
            },
        ),
        (
            UserProxyAgent,
            {
                "is_termination_msg": None,
                "max_consecutive_auto_reply": None,
                "human_input_mode": "ALWAYS",
                "function_map": None,
                "code_execution_config": {},
                "default_auto_reply": "",
                "llm_config": False,
                "system_message": "",
                "description": None,
            },
        ),
    ],
)
def test_parameters_and_defaults(preset: type[ConversableAgent], defaults: dict[str, Any]):
    _, *parameters, rest = inspect.signature(preset).parameters.values()
    assert {each.name: each.default for each in parameters} == defaults
    assert [each.name for each in parameters] == list(defaults)
    assert rest.kind is rest.VAR_KEYWORD


def test_a_user_s_proxy_runs_code_with_one_warning(caplog: pytest.LogCaptureFixture):
    proxy = UserProxyAgent("user", human_input_mode="NEVER")
    code = [{"role": "user", "content": "```sh\necho hi\n```"}]
    for _ in range(2):
        assert (
            proxy.generate_reply(code) == "exitcode: 0 (execution succeeded)\nCode output: \nhi\n"
        )
    assert len(caplog.records) == 1
