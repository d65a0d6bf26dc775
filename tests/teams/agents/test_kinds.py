"""Agents as tables of config.toml."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from teams._base.kinds import Agent
from teams.agents.kinds import CodeExecutorKind, CoderKind, HandoffConfig, MessageFilterKind
from tests.fakes.agents import Talker
from tests.fakes.told_maker import ToldMaker


async def test_a_code_executor_has_a_context_if_it_has_a_model():
    maker = ToldMaker()
    bare = CodeExecutorKind.model_validate({"type": "code_executor", "sources": ["a"]})
    given = await bare.arguments(maker)
    assert given["sources"] == ["a"]
    assert "model_context" not in given
    table = CodeExecutorKind.model_validate({"type": "code_executor", "model": "m"})
    given = await table.arguments(maker)
    assert (given["model_client"], given["model_context"]) == ("client m", "context of m")


async def test_a_coder_streams_its_answers():
    table = CoderKind.model_validate({"type": "coder", "model": "m"})
    given = await table.arguments(ToldMaker())
    assert given == {"model_client": "client m", "model_client_stream": True}


def test_a_hand_off_is_a_tool_with_a_name():
    assert HandoffConfig(target="bo").tool == "transfer_to_bo"
    assert HandoffConfig(target="bo", name="ask_bo").tool == "ask_bo"
    with pytest.raises(ValidationError, match="target"):
        HandoffConfig.model_validate({})


class TalkerKind(Agent):
    """A table of a talker."""

    async def build(self, maker, **more):
        return Talker(**more)


async def test_a_filter_speaks_as_the_agent_inside():
    inner = TalkerKind()
    rules = [{"source": "bo", "position": "last", "count": 1}]
    table = MessageFilterKind.model_validate(
        {"type": "message_filter", "agent": inner, "per_source": rules}
    )
    assert table.speaker is inner
    maker = ToldMaker()
    made = await table.build(maker, name="al")
    assert (made.name, made.description) == ("al", "talks")
    [rule] = made._filter.per_source
    assert (rule.source, rule.position, rule.count) == ("bo", "last", 1)
