"""Teams and tools that run inside another run."""

from __future__ import annotations

from typing import Any

import pytest

from teams import RoundRobinGroupChat
from teams._run.nesting import is_resumable
from teams.messages import TextMessage
from teams.tools import FunctionTool, TeamTool
from tests.fakes.agents import Talker


def team() -> RoundRobinGroupChat:
    return RoundRobinGroupChat([Talker("a")], max_turns=1, name="pair", description="Talks.")


def test_a_tool_that_runs_a_team_can_pause():
    tool = TeamTool(team(), name="ask", description="Ask.")
    assert is_resumable(tool)
    assert not is_resumable(FunctionTool(team, "Make one."))


def test_a_team_has_a_name_a_description_and_types():
    made = team()
    assert (made.name, made.description) == ("pair", "Talks.")
    assert TextMessage in made.message_types()


async def said(made: RoundRobinGroupChat) -> list[Any]:
    return [each.to_text() for each in (await made.run(task="go")).messages]


async def test_a_delta_adds_to_the_snapshot_that_was_loaded():
    made, loaded, again = team(), team(), team()
    await said(made)
    whole = await made.save_snapshot()
    await loaded.load_snapshot([whole])
    assert await loaded.save_delta() == b""
    await said(loaded)
    change = await loaded.save_delta()
    await again.load_snapshot([whole, change])
    assert await again.save_state() == await loaded.save_state()


async def test_a_delta_needs_a_snapshot():
    with pytest.raises(RuntimeError, match="call save_snapshot first"):
        await team().save_delta()
