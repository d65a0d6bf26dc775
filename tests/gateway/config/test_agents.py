"""The assistant's table."""

from __future__ import annotations

from typing import Any, cast

import pytest
from pydantic import ValidationError

from gateway.config.agents import AssistantConfig, agents_as_tools
from teams.kinds import Maker


class Echo:
    """A maker that hands back what it is given."""

    async def make(self, table: Any, **more: Any) -> Any:
        return table, more


def assistant(**settings: Any) -> AssistantConfig:
    return AssistantConfig.model_validate({"type": "assistant", **settings})


def test_the_tools_of_a_workbench_are_unknown() -> None:
    called = assistant(tools=["mine:add"]).called()
    assert called is not None
    assert len(called) == 1
    assert assistant().called() == []
    assert assistant(workbench=["mine:Bench"]).called() is None


def test_agents_that_are_tools_are_named() -> None:
    tools = [{"agent": "writer"}, "mine:add", {"agent": "critic"}]
    assert [*agents_as_tools(assistant(tools=tools))] == ["writer", "critic"]


async def test_an_assistant_is_made_by_the_maker() -> None:
    agent, maker = assistant(), cast("Maker", Echo())
    assert await agent.build(maker, name="a") == (agent, {"name": "a"})


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"tools": ["m:a"], "workbench": ["m:B"]}, "tools and a workbench"),
        ({"mcp": ["files", "files"]}, "two servers named 'files'"),
        ({"max_tool_iterations": 0}, "greater than or equal to 1"),
    ],
)
def test_an_assistant_without_sense_is_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        assistant(**settings)
